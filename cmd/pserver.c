/* pserver - a server of a job: gradients in, weights out, for one shard of the weights.  See pserver(1). */
#include "front.h"
#include "front_option.h"
#include "pserver_log.h"

#include "base/err.h"
#include "base/io.h"
#include "run/rendezvous/rendezvous.h"
#include "ps/memory.h"
#include "ps/server/serve.h"
#include "wire/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char pserver_usage[] =
    "pserver --listen HOST:PORT --workers W [--server I/S] [--listen-fd N]\n"
    "               [--ready-fd N] [--state FILE] --key-file FILE | --plain\n"
    "       pserver --key-file FILE | --plain";
static const char pserver_help[] =
    "Address:\n"
    "  --listen HOST:PORT    listen at this address; port 0 lets the system choose\n"
    "  --listen-fd N         use socket N, which listens there already\n"
    "  --ready-fd N          write \"host:port\" to descriptor N when listening\n"
    "Job:\n"
    "  --workers W | N..M    number of workers: W, or N at the start and M at most\n"
    "  --server I/S (0/1)    be server I, from 0, of S\n"
    "  --key-file FILE       the job's key: 64 hex digits (-: standard input)\n"
    "  --plain               use no key and no encryption; anybody may take part\n"
    "  --state FILE          keep the weights here for a server that is started again\n"
    "  -h, --help  --version\n"
    "Without --listen it is the server or scheduler that dmlc's DMLC_ROLE says.\n"
    "Exit status: 0 if all workers finished, 75 if one was lost, 128+n of signal n.\n";

struct pserver {
	struct serve_opt serve;
	const char	*key;
	const char	*state;
	bool		 plain, listened;
	int		 ready;		/* descriptor of --ready-fd; -1: none */
	struct rendezvous_env env;	/* variables of a tracker, if there is one */
	struct rendezvous *rendezvous;	/* NULL: no tracker */
	char		 at[ADDR_TEXT];	/* the address to listen at, with a tracker */
	struct server_log log;
};

static void
report_listening(void *arg, const char *where)
{
	struct pserver *p = arg;

	p->listened = true;
	front_say("listens at %s as server %" PRIu32 " of %" PRIu32, where, p->serve.index, p->serve.nservers);
	if (p->plain)
		front_say("--plain: nothing is encrypted, and anybody may take part");
	front_ready(p->ready, where);
	if (p->rendezvous != NULL && rendezvous_announce(p->rendezvous, where) < 0)
		front_say("%s", err_line());
}

static void
print_log_line(void *arg, const char *line)
{
	(void)arg;
	front_say("%s", line);
}

static void
report_traffic(void *arg, const struct serve_traffic_report *m)
{
	struct pserver *p = arg;

	server_log_traffic(&p->log, m);
}

/* Its giver may have left it blocking: then a connection that ends before it is accepted would stop the server. */
static void
take_listener(void *pserver, const char *option, char *text)
{
	struct pserver *p = pserver;
	int fd = (int)front_num(option, text, 3, 1 << 20), listens = 0, flags = fcntl(fd, F_GETFL);

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &(socklen_t){ sizeof(listens) }) < 0 || !listens)
		front_wrong("%s: descriptor %d is not a socket that listens", option, fd);
	if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		front_die(option, err_sys("descriptor %d", fd));
	p->serve.listen_fd = fd;
}

static void
parse_place(void *pserver, const char *option, char *text)
{
	struct pserver *p = pserver;

	front_part(option, text, &p->serve.index, &p->serve.nservers);
}

/* "4", or "2..4": 2 at the start, and at most 4. */
static void
parse_workers(void *pserver, const char *option, char *text)
{
	struct pserver *p = pserver;
	char *most = strstr(text, "..");

	if (most != NULL)
		*most = 0;
	p->serve.nworkers = (uint32_t)front_num(option, most != NULL ? most + 2 : text, 1, 65536);
	p->serve.elastic = most != NULL ? (uint32_t)front_num(option, text, 1, p->serve.nworkers) : 0;
}

#define MEMBER(m)	FRONT_MEMBER(struct pserver, m)

static const struct front_option server_options[] = {
	{ "key-file", FRONT_TEXT, MEMBER(key) },
	{ "listen", FRONT_TEXT, MEMBER(serve.listen) },
	{ "listen-fd", FRONT_VALUE, .apply = take_listener },
	{ "plain", FRONT_FLAG, MEMBER(plain) },
	{ "ready-fd", FRONT_WHOLE, MEMBER(ready), 0, 1 << 20 },
	{ "server", FRONT_VALUE, .apply = parse_place },
	{ "state", FRONT_TEXT, MEMBER(state) },
	{ "workers", FRONT_VALUE, .apply = parse_workers },
	{ 0 }
};

static void
parse_options(int argc, char *argv[], struct pserver *p)
{
	front_options(&argc, &argv, FRONT_ANYWHERE, server_options, p);
	if (p->serve.listen != NULL)
		front_address("--listen", p->serve.listen);
	if (optind != argc)
		front_wrong("%s: is no option; pserver takes no operands", argv[optind]);
	if (p->serve.listen == NULL && getenv("DMLC_ROLE") == NULL)
		front_missing(argc, "--listen: is missing");
	if (p->key == NULL && !p->plain)
		front_wrong("%s: needs --key-file, or --plain, with which anybody may take part",
		    p->serve.listen != NULL ? "--listen" : "DMLC_ROLE");
	if (p->serve.listen == NULL && p->serve.listen_fd > 0)
		front_wrong("--listen-fd: needs --listen");
	if (p->serve.listen != NULL && p->serve.nworkers == 0)
		front_wrong("--listen: needs --workers");
}

/*
 * Under a tracker, gets the server's rank and where to listen from the scheduler, unless this process is the
 * scheduler.
 */
static void
join_rendezvous(struct pserver *p, const uint8_t *key)
{
	int e = rendezvous_env(&p->env);

	if (e < 0)
		front_die(NULL, e);
	if (p->env.role == RENDEZVOUS_NONE)
		front_wrong("--listen: is missing; --help shows the usage");
	if (p->env.role == RENDEZVOUS_WORKER)
		front_wrong("DMLC_ROLE: is worker; start pworker instead");
	if (p->env.role == RENDEZVOUS_SCHEDULER)
		return;
	if ((e = rendezvous_join(&p->env, key, &p->rendezvous)) < 0 ||
	    (e = rendezvous_host(p->rendezvous, &p->env, p->at)) < 0)
		front_die(NULL, e);
	snprintf(p->at + strlen(p->at), sizeof(p->at) - strlen(p->at), ":0");
	p->serve.listen = p->at;
	p->serve.nworkers = p->env.workers;
	p->serve.nservers = p->env.servers;
	p->serve.index = p->env.rank;
}

static int
run_scheduler(struct pserver *p)
{
	struct rendezvous_opt o = { .env = &p->env, .key = p->serve.key, .stop_fd = front_stop_fd(),
	    .say = print_log_line };
	int e = rendezvous_run(&o);

	if (e == ERR_STOP)
		return front_stopped(o.stop_fd);
	if (e < 0)
		front_die(NULL, e);
	return 0;
}

int
main(int argc, char *argv[])
{
	struct pserver p = { .ready = -1, .serve = { .nservers = 1, .listening = report_listening,
	    .say = print_log_line, .report_traffic = report_traffic, .arg = &p } };
	struct memory memory;
	struct serve_sums sums;
	uint8_t key[CONN_KEY];
	int e;

	front_init(argv[0], pserver_usage, pserver_help);
	parse_options(argc, argv, &p);
	if (!p.plain)
		front_read_key(p.key, key);
	p.serve.key = p.plain ? NULL : key;
	if ((e = conn_transport(&p.serve.tcp)) < 0 || (e = conn_silence(&p.serve.silence_s)) < 0)
		front_die(NULL, e);
	if (p.serve.listen == NULL)
		join_rendezvous(&p, p.serve.key);
	if (p.env.role == RENDEZVOUS_SCHEDULER)
		return run_scheduler(&p);
	if ((e = io_random(&p.serve.incarnation, sizeof(p.serve.incarnation))) < 0)
		front_die(NULL, e);
	if (p.state != NULL) {
		if ((e = memory_open(p.state, &memory)) < 0)
			front_die(NULL, e);
		p.serve.memory = &memory;
	}
	p.serve.stop_fd = front_stop_fd();
	server_log_begin(&p.log, &p.serve);
	e = serve_run(&p.serve, &sums);
	server_log_end(&p.log, &sums);
	if (p.listened)
		front_say("%" PRIu64 " steps, %.1f MB received, %.1f MB sent, %.1f s, %" PRIu64 " unauthenticated "
		    "connections", sums.steps, (double)sums.received / 1e6, (double)sums.sent / 1e6, sums.seconds,
		    sums.strangers);
	rendezvous_leave(p.rendezvous);
	/* The job is over: another one must not start with its weights. */
	if (p.state != NULL && e == 0)
		memory_remove(&memory, p.state);
	if (e == ERR_STOP)
		return front_stopped(p.serve.stop_fd);
	if (e < 0)
		front_die(NULL, e);
	return front_status();
}
