/* im2rec - images in, records out: the first step of the data's way.  See im2rec(1). */
#include "front.h"
#include "im2rec_serve.h"

#include "base/clk.h"
#include "base/err.h"
#include "data/pack.h"
#include "data/recset.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MOST	256

static const char usage[] = "im2rec [-q] [-o file.rec] [--split part] [--threads n] images [root]\n"
    "       im2rec [-q] --serve [--listen host:port] [--ready-fd n] --key-file file train.rec ...";
static const char help[] =
    "  -o, --output FILE.rec  write FILE.rec, FILE.idx and FILE.labels, all at once\n"
    "                         (default: the records alone, to standard output)\n"
    "  -q, --quiet            no progress on a terminal\n"
    "  --split PART           only train or test\n"
    "  --threads N            that check and encode pictures (default: one a processor, 8 at most)\n"
    "  --serve                give the records of files to pworkers that have the key, until a signal comes\n"
    "  --listen HOST:PORT     where (default: 0.0.0.0:0, any port)\n"
    "  --key-file FILE        the key: 64 hex digits (- is standard input, /dev/fd/N a pipe)\n"
    "  --ready-fd N           write \"host:port\" and a newline to descriptor N once it listens\n"
    "  --help                 this\n"
    "  --version              the version\n"
    "images is a directory or an archive of class folders, CIFAR-10's binary files or MNIST's idx files;\n"
    "or a list, file.lst, whose paths begin in root.\n";

enum { O_HELP = 256, O_KEY, O_LISTEN, O_READY, O_SERVE, O_SPLIT, O_THREADS, O_VERSION };

static const struct option longs[] = {
	{ "help", no_argument, NULL, O_HELP },
	{ "key-file", required_argument, NULL, O_KEY },
	{ "listen", required_argument, NULL, O_LISTEN },
	{ "output", required_argument, NULL, 'o' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "ready-fd", required_argument, NULL, O_READY },
	{ "serve", no_argument, NULL, O_SERVE },
	{ "split", required_argument, NULL, O_SPLIT },
	{ "threads", required_argument, NULL, O_THREADS },
	{ "version", no_argument, NULL, O_VERSION },
	{ NULL, 0, NULL, 0 }
};

static volatile sig_atomic_t stopped;	/* by this signal */

struct run {
	struct recset	*out;
	bool		 talks;		/* shows progress */
	double		 said_s;	/* when it did so last */
};

static void
on_signal(int sig)
{
	stopped = sig;
}

static enum source_split
split_of(const char *text)
{
	if (strcmp(text, "train") == 0)
		return SOURCE_TRAIN;
	if (strcmp(text, "test") != 0)
		front_wrong("--split: '%s' is neither train nor test", text);
	return SOURCE_TEST;
}

static void
show(struct run *r)
{
	double now = clk_s();

	if (!r->talks || now - r->said_s < 1)
		return;
	r->said_s = now;
	fprintf(stderr, "\r%llu pictures, %.1f MB ", (unsigned long long)recset_records(r->out),
	    (double)recset_bytes(r->out) * 1e-6);
}

static int
take_record(void *ctx, uint64_t id, const uint8_t *p, size_t n)
{
	struct run *r = ctx;

	if (stopped != 0)
		return err_fail(ERR_STOP, "stopped");
	show(r);
	return recset_put(r->out, id, p, n);
}

static void
warn_bad(void *ctx, const char *name, int e)
{
	struct run *r = ctx;

	if (r->said_s > 0)
		fputc('\n', stderr);
	front_warn(*name != 0 ? name : NULL, e);
}

/* An interrupted run leaves no half-made file: the signal is taken between two records. */
static void
catch_signals(void)
{
	struct sigaction a = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGHUP, &a, NULL);
}

static void
pack(const struct source_opt *from, const char *path, const struct pack_opt *opt, bool quiet)
{
	struct run run = { .talks = !quiet && isatty(STDERR_FILENO) };
	const struct pack_sink sink = { take_record, warn_bad, &run };
	struct source *in;
	int e;

	if ((e = source_open(&in, from)) < 0)
		front_die(NULL, e);
	catch_signals();
	if ((e = recset_create(&run.out, path)) < 0)
		front_die(NULL, e);
	e = pack_run(in, opt, &sink);
	if (run.said_s > 0)
		fputc('\n', stderr);
	if (e == 0 && stopped == 0)
		e = recset_commit(run.out, source_classes(in));
	else
		recset_abandon(run.out);
	source_close(in);
	if (stopped != 0)
		raise(stopped);
	if (e < 0)
		front_die(NULL, e);
}

int
main(int argc, char *argv[])
{
	struct source_opt in = { .split = SOURCE_ALL };
	const char *out = "-";
	struct pack_opt opt = { 0 };
	struct im2rec_serve at = { .ready = -1 };
	bool quiet = false, serve = false;
	int c;

	front_init(argv[0], usage, help);
	while ((c = getopt_long(argc, argv, "o:q", longs, NULL)) != -1)
		switch (c) {
		case 'o':	out = optarg; break;
		case 'q':	quiet = true; break;
		case O_KEY:	at.key = optarg; break;
		case O_LISTEN:	at.listen = optarg; break;
		case O_READY:	at.ready = (int)front_num("--ready-fd", optarg, 0, 1 << 20); break;
		case O_SERVE:	serve = true; break;
		case O_SPLIT:	in.split = split_of(optarg); break;
		case O_THREADS:	opt.threads = (unsigned)front_num("--threads", optarg, 1, THREADS_MOST); break;
		case O_HELP:	front_help();
		case O_VERSION:	printf("im2rec (tally) %s\n", TALLY_VERSION); front_flush(); return 0;
		default:	front_usage();
		}
	at.quiet = quiet;
	if (serve && optind < argc)
		return im2rec_serve(argv + optind, (size_t)(argc - optind), &at);
	if (argc - optind < 1 || argc - optind > 2)
		front_usage();
	in.path = argv[optind];
	in.root = argv[optind + 1];
	if (strcmp(out, "-") == 0 && isatty(STDOUT_FILENO))
		front_wrong("records do not go to a terminal: say -o FILE.rec or > FILE.rec");
	pack(&in, out, &opt, quiet);
	return front_status();
}
