/* pserver - gradients in, weights out: holds one shard of a net's weights.  See pserver(1). */
#include "front.h"
#include "pserver_log.h"

#include "base/err.h"
#include "base/io.h"
#include "run/rendezvous/rendezvous.h"
#include "ps/server/serve.h"
#include "wire/conn.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "pserver --listen HOST:PORT --workers W [--server I/S] [--ready-fd N] --key-file FILE | --plain\n"
			    "       pserver --key-file FILE | --plain";
static const char help[] =
    "  --listen HOST:PORT    address to listen at; port 0 lets the system choose\n"
    "  --workers W           how many workers the job has\n"
    "  --server I/S (0/1)    this is server I, from 0, of S\n"
    "  --key-file FILE       the job's key: 64 hex digits (- is standard input, /dev/fd/N a pipe)\n"
    "  --plain               in place of a key: anybody may take part\n"
    "  --ready-fd N          write \"host:port\" and a newline to descriptor N once it listens\n"
    "  --help  --version\n"
    "Without --listen it is the server or scheduler that DMLC_ROLE says, as dmlc's trackers start it.\n"
    "Exit status: 0 when all workers said goodbye, 75 when one was lost, 128+n ended by signal n.\n";

enum { O_LISTEN = 256, O_WORKERS, O_SERVER, O_KEY, O_PLAIN, O_READY, O_HELP, O_VERSION };

static const struct option longs[] = {
	{ "help", no_argument, NULL, O_HELP },
	{ "key-file", required_argument, NULL, O_KEY },
	{ "listen", required_argument, NULL, O_LISTEN },
	{ "plain", no_argument, NULL, O_PLAIN },
	{ "ready-fd", required_argument, NULL, O_READY },
	{ "server", required_argument, NULL, O_SERVER },
	{ "version", no_argument, NULL, O_VERSION },
	{ "workers", required_argument, NULL, O_WORKERS },
	{ NULL, 0, NULL, 0 }
};

struct place {
	struct serve_opt serve;
	const char	*key;
	bool		 plain, listened;
	int		 ready;		/* descriptor; -1: none */
	struct rendezvous_env	 env;		/* of a tracker, where there is one */
	struct rendezvous	*meet;
	char		 at[ADDR_TEXT];	/* to listen at, then */
	struct server_log log;
};

static void
report_listening(void *arg, const char *where)
{
	struct place *p = arg;

	p->listened = true;
	front_say("listens at %s as server %" PRIu32 " of %" PRIu32, where, p->serve.index, p->serve.nservers);
	front_ready(p->ready, where);
	if (p->meet != NULL && rendezvous_announce(p->meet, where) < 0)
		front_say("%s", err_line());
}

static void
print_log_line(void *arg, const char *line)
{
	(void)arg;
	front_say("%s", line);
}

static void
report_traffic(void *arg, const struct serve_moved *m)
{
	struct place *p = arg;

	server_log_moved(&p->log, m);
}

static void
parse_options(int argc, char *argv[], struct place *p)
{
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		switch (c) {
		case O_HELP:	front_help();
		case O_KEY:	p->key = optarg; break;
		case O_LISTEN:	front_address("--listen", p->serve.listen = optarg); break;
		case O_PLAIN:	p->plain = true; break;
		case O_READY:	p->ready = (int)front_num("--ready-fd", optarg, 0, 1 << 20); break;
		case O_SERVER:	front_part("--server", optarg, &p->serve.index, &p->serve.nservers); break;
		case O_VERSION:	printf("pserver (tally) %s\n", TALLY_VERSION); front_flush(); _exit(0);
		case O_WORKERS:	p->serve.nworkers = (uint32_t)front_num("--workers", optarg, 1, 65536); break;
		default:	front_usage();
		}
	if (optind != argc || (p->serve.listen == NULL && getenv("DMLC_ROLE") == NULL))
		front_usage();
	if (p->key == NULL && !p->plain)
		front_wrong("%s: needs --key-file, or --plain: then anybody may take part",
		    p->serve.listen != NULL ? "--listen" : "DMLC_ROLE");
	if (p->serve.listen != NULL && p->serve.nworkers == 0)
		front_wrong("--listen: needs --workers: how many there are");
}

/*
 * Under a tracker, gets the server's rank and where to listen from the scheduler, unless this process is the
 * scheduler.
 */
static void
learn_place(struct place *p, const uint8_t key[CONN_KEY])
{
	int e = rendezvous_env(&p->env);

	if (e < 0)
		front_die(NULL, e);
	if (p->env.role == RENDEZVOUS_NONE)
		front_usage();
	if (p->env.role == RENDEZVOUS_WORKER)
		front_wrong("DMLC_ROLE: a worker is pworker's to be");
	if (p->env.role == RENDEZVOUS_SCHEDULER)
		return;
	if ((e = rendezvous_join(&p->env, key, &p->meet)) < 0 || (e = rendezvous_host(p->meet, &p->env, p->at)) < 0)
		front_die(NULL, e);
	snprintf(p->at + strlen(p->at), sizeof(p->at) - strlen(p->at), ":0");
	p->serve.listen = p->at;
	p->serve.nworkers = p->env.workers;
	p->serve.nservers = p->env.servers;
	p->serve.index = p->env.rank;
}

static int
run_scheduler(struct place *p)
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
	struct place p = { .ready = -1, .serve = { .nservers = 1, .listening = report_listening, .say = print_log_line,
	    .moved = report_traffic, .arg = &p } };
	struct serve_sums sums;
	uint8_t key[CONN_KEY] = { 0 };	/* the public key of --plain */
	int e;

	front_init(argv[0], usage, help);
	parse_options(argc, argv, &p);
	if (!p.plain && (e = conn_key_read(p.key, key)) < 0)
		front_die(p.key, e);
	p.serve.key = key;
	if (p.serve.listen == NULL)
		learn_place(&p, key);
	if (p.env.role == RENDEZVOUS_SCHEDULER)
		return run_scheduler(&p);
	if ((e = io_random(&p.serve.incarnation, sizeof(p.serve.incarnation))) < 0)
		front_die(NULL, e);
	p.serve.stop_fd = front_stop_fd();
	server_log_begin(&p.log, &p.serve);
	e = serve_run(&p.serve, &sums);
	server_log_end(&p.log, &sums);
	if (p.listened)
		front_say("%" PRIu64 " steps, %.1f MB in, %.1f MB out, %.1f s, %" PRIu64 " strangers", sums.steps,
		    (double)sums.got / 1e6, (double)sums.sent / 1e6, sums.seconds, sums.strangers);
	rendezvous_leave(p.meet);
	if (e == ERR_STOP)
		return front_stopped(p.serve.stop_fd);
	if (e < 0)
		front_die(NULL, e);
	return front_status();
}
