/* pserver - gradients in, weights out: holds one shard of a net's weights.  See pserver(1). */
#include "front.h"

#include "base/clk.h"
#include "base/err.h"
#include "ps/serve.h"
#include "wire/conn.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static const char usage[] = "pserver --listen HOST:PORT --workers W [--server I/S] --key-file FILE [--ready-fd N]";
static const char help[] =
    "  --listen HOST:PORT    address to listen at; port 0 lets the system choose\n"
    "  --workers W           how many workers the job has\n"
    "  --server I/S (0/1)    this is server I, from 0, of S\n"
    "  --key-file FILE       the job's key: 64 hex digits (- is standard input, /dev/fd/N a pipe)\n"
    "  --ready-fd N          write \"host:port\" and a newline to descriptor N once it listens\n"
    "  --help  --version\n"
    "Exit status: 0 when all workers said goodbye, 75 when one was lost, 128+n ended by signal n.\n";

enum { O_LISTEN = 256, O_WORKERS, O_SERVER, O_KEY, O_READY, O_HELP, O_VERSION };

static const struct option longs[] = {
	{ "help", no_argument, NULL, O_HELP },
	{ "key-file", required_argument, NULL, O_KEY },
	{ "listen", required_argument, NULL, O_LISTEN },
	{ "ready-fd", required_argument, NULL, O_READY },
	{ "server", required_argument, NULL, O_SERVER },
	{ "version", no_argument, NULL, O_VERSION },
	{ "workers", required_argument, NULL, O_WORKERS },
	{ NULL, 0, NULL, 0 }
};

struct place {
	struct serve_opt serve;
	const char	*key;
	int		 ready;		/* descriptor; -1: none */
};

static void
listening(void *arg, const char *where)
{
	const struct place *p = arg;

	front_say("listens at %s as server %" PRIu32 " of %" PRIu32, where, p->serve.index, p->serve.nservers);
	front_ready(p->ready, where);
}

static void
say(void *arg, const char *line)
{
	(void)arg;
	front_say("%s", line);
}

static void
options(int argc, char *argv[], struct place *p)
{
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		switch (c) {
		case O_HELP:	front_help();
		case O_KEY:	p->key = optarg; break;
		case O_LISTEN:	p->serve.listen = optarg; break;
		case O_READY:	p->ready = (int)front_num("--ready-fd", optarg, 0, 1 << 20); break;
		case O_SERVER:	front_part("--server", optarg, &p->serve.index, &p->serve.nservers); break;
		case O_VERSION:	printf("pserver (tally) %s\n", TALLY_VERSION); front_flush(); _exit(0);
		case O_WORKERS:	p->serve.nworkers = (uint32_t)front_num("--workers", optarg, 1, 65536); break;
		default:	front_usage();
		}
	if (optind != argc || p->serve.listen == NULL || p->serve.nworkers == 0 || p->key == NULL)
		front_usage();
}

int
main(int argc, char *argv[])
{
	struct place p = { .serve = { .nservers = 1, .listening = listening, .say = say, .arg = &p }, .ready = -1 };
	struct serve_sums sums;
	uint8_t key[CONN_KEY];
	int e;

	front_init(argv[0], usage, help);
	options(argc, argv, &p);
	if ((e = conn_key_read(p.key, key)) < 0)
		front_die(p.key, e);
	p.serve.key = key;
	p.serve.incarnation = clk_date_ns();
	p.serve.stop_fd = front_stop_fd();
	e = serve_run(&p.serve, &sums);
	front_say("%" PRIu64 " steps, %.1f MB in, %.1f MB out, %.1f s, %" PRIu64 " strangers", sums.steps,
	    (double)sums.got / 1e6, (double)sums.sent / 1e6, sums.seconds, sums.strangers);
	if (e == ERR_STOP)
		return front_stopped(p.serve.stop_fd);
	if (e < 0)
		front_die(NULL, e);
	return front_status();
}
