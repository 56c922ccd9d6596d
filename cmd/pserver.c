/* pserver - a server of a job: gradients in, weights out, for one shard of the weights.  See pserver(1). */
#include "front.h"
#include "front_option.h"
#include "front_wait.h"
#include "pserver_run.h"

#include "base/err.h"
#include "run/rendezvous/rendezvous.h"
#include "wire/conn.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
	struct pserver_run run;
	const char	*key;
	bool		 plain;
	int		 ready;		/* descriptor of --ready-fd; -1: none */
	struct rendezvous_env env;	/* variables of a tracker, if there is one */
	struct rendezvous *rendezvous;	/* NULL: no tracker */
	char		 at[ADDR_TEXT];	/* the address to listen at, with a tracker */
};

static void
announce_address(void *arg, const char *where)
{
	struct pserver *p = arg;

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

/* A terminal gets no rows. */
static void
print_rows(void *arg, const char *rows, size_t n)
{
	(void)arg;
	if (!isatty(STDOUT_FILENO))
		fwrite(rows, 1, n, stdout);
	front_log_lost();
}

static void
take_listener(void *pserver, const char *option, char *text)
{
	struct pserver *p = pserver;

	p->run.serve.listen_fd = pserver_take_listener(option, text);
}

static void
parse_place(void *pserver, const char *option, char *text)
{
	struct pserver *p = pserver;

	front_part(option, text, &p->run.serve.index, &p->run.serve.nservers);
}

/* "4", or "2..4": 2 at the start, and at most 4. */
static void
parse_workers(void *pserver, const char *option, char *text)
{
	struct pserver *p = pserver;

	front_range(option, text, 65536, &p->run.serve.elastic, &p->run.serve.nworkers);
}

#define MEMBER(m)	FRONT_MEMBER(struct pserver, m)

static const struct front_option server_options[] = {
	{ "key-file", FRONT_TEXT, MEMBER(key) },
	{ "listen", FRONT_TEXT, MEMBER(run.serve.listen) },
	{ "listen-fd", FRONT_VALUE, .apply = take_listener },
	{ "plain", FRONT_FLAG, MEMBER(plain) },
	{ "ready-fd", FRONT_WHOLE, MEMBER(ready), 0, 1 << 20 },
	{ "server", FRONT_VALUE, .apply = parse_place },
	{ "state", FRONT_TEXT, MEMBER(run.state) },
	{ "workers", FRONT_VALUE, .apply = parse_workers },
	{ 0 }
};

static void
parse_options(int argc, char *argv[], struct pserver *p)
{
	front_options(&argc, &argv, FRONT_ANYWHERE, server_options, p);
	if (p->run.serve.listen != NULL)
		front_address("--listen", p->run.serve.listen);
	if (optind != argc)
		front_wrong("%s: is no option; pserver takes no operands", argv[optind]);
	if (p->run.serve.listen == NULL && getenv("DMLC_ROLE") == NULL)
		front_missing(argc, "--listen: is missing");
	if (p->key == NULL && !p->plain)
		front_wrong("%s: needs --key-file, or --plain, with which anybody may take part",
		    p->run.serve.listen != NULL ? "--listen" : "DMLC_ROLE");
	if (p->run.serve.listen == NULL && p->run.serve.listen_fd > 0)
		front_wrong("--listen-fd: needs --listen");
	if (p->run.serve.listen != NULL && p->run.serve.nworkers == 0)
		front_wrong("--listen: needs --workers");
	if (p->run.serve.listen == NULL && (p->run.serve.nworkers > 0 || p->run.serve.nservers != 1))
		front_wrong("--workers, --server: need --listen; without it, the tracker gives them");
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
	front_wait_for("the scheduler at ", p->env.at);
	e = rendezvous_join(&p->env, key, &p->rendezvous);
	front_wait_end();
	if (e < 0 || (e = rendezvous_host(p->rendezvous, &p->env, p->at)) < 0)
		front_die(NULL, e);
	snprintf(p->at + strlen(p->at), sizeof(p->at) - strlen(p->at), ":0");
	p->run.serve.listen = p->at;
	p->run.serve.nworkers = p->env.workers;
	p->run.serve.nservers = p->env.servers;
	p->run.serve.index = p->env.rank;
}

static int
run_scheduler(struct pserver *p)
{
	struct rendezvous_opt o = { .env = &p->env, .key = p->run.serve.key, .stop_fd = front_stop_fd(),
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
	struct pserver p = { .ready = -1, .run = { .serve.nservers = 1, .name = "", .listening = announce_address,
	    .arg = &p, .log.write = print_rows } };
	struct serve_opt *serve = &p.run.serve;
	int e;

	front_init(argv[0], pserver_usage, pserver_help);
	parse_options(argc, argv, &p);
	front_check_ready(p.ready);
	serve->key = p.plain ? NULL : front_read_key(p.key);
	if ((e = conn_transport(serve->key, &serve->transport)) < 0 || (e = conn_silence(&serve->silence_s)) < 0)
		front_die(NULL, e);
	if (serve->listen == NULL)
		join_rendezvous(&p, serve->key);
	if (p.env.role == RENDEZVOUS_SCHEDULER)
		return run_scheduler(&p);
	serve->stop_fd = front_stop_fd();
	serve->joins_fd = front_signal_fd(SIGURG);
	e = pserver_run(&p.run);
	rendezvous_leave(p.rendezvous);
	if (e == ERR_STOP)
		return front_stopped(serve->stop_fd);
	if (e < 0)
		front_die(NULL, e);
	return front_status();
}
