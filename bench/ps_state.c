/*
 * ps_state - the bookkeeping of a parameter server alone: milliseconds per slice and step by the number of workers.
 *
 *	ps_state [--slack N] [WORKERS...]	(0, synchronous; 64 256 1000)
 *
 * The program passes the gradients of all workers to a server's state machine, which has slices of one weight and sends
 * its answers to nobody.  A median of each step's time is divided by the number of slices.
 */
#include "front.h"

#include "base/clk.h"
#include "base/err.h"
#include "net/graph/graph.h"
#include "ps/hello.h"
#include "ps/server/server_state.h"
#include "ps/stale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICES	16u
#define STEPS	11u

static const char usage[] = "ps_state [--slack N] [WORKERS...]";
static const char help[] = "  --slack N  steps that a worker may be ahead of the slowest (0)\n";

static void
count_answer(void *arg, uint32_t worker, const struct msg *m)
{
	(void)worker;
	*(uint64_t *)arg += m->type == MSG_WEIGHTS;
}

static void
make_job(struct hello *job, uint32_t nworkers, uint32_t slack, struct buf *text)
{
	struct graph *g = graph_new(1, 1, 1);
	uint32_t at = 0;

	if (g == NULL)
		front_die(NULL, err_nomem());
	front_must(NULL, graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "array", .in = &at, .nin = 1,
	    .k = SLICES }, &at));
	front_must(NULL, graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at,
	    .nin = 1 }, &at));
	*job = (struct hello){ .version = MSG_VERSION, .tally = TALLY_VERSION, .nworkers = nworkers, .nservers = 1,
	    .slack = slack, .slice = sizeof(float), .hash = graph_hash(g) };
	opt_usual(OPT_SGD, &job->hyper);
	front_must(NULL, hello_text(job, g, text));
	graph_free(g);
}

static int
compare_times(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
measure_steps(uint32_t nworkers, uint32_t slack)
{
	static const float one = 1;
	uint64_t answers = 0;
	struct server_state_opt o = { .nworkers = nworkers, .nservers = 1, .emit = count_answer, .arg = &answers };
	struct msg m = { .samples = 1, .len = sizeof(one), .payload = &one, .rate = 0.1f };
	struct server_state *s;
	struct buf text = { 0 };
	double ms[STEPS];
	struct hello job;

	make_job(&job, nworkers, slack, &text);
	front_must(NULL, server_state_new(&o, &s));
	for (m.worker = 0; m.worker < nworkers; m.worker++)
		front_must(NULL, server_state_take(s, &(struct msg){ .type = MSG_HELLO, .incarnation = 1, .worker = m.worker,
		    .len = (uint32_t)text.n, .payload = text.p }));
	m.incarnation = 1;
	m.type = MSG_INIT;
	m.worker = 0;
	for (m.slice = 0; m.slice < SLICES; m.slice++)
		front_must(NULL, server_state_take(s, &m));
	m.type = MSG_PUSH;
	for (m.step = 0; m.step < STEPS; m.step++) {
		ms[m.step] = clk_s();
		for (m.slice = 0; m.slice < SLICES; m.slice++)
			for (m.worker = 0; m.worker < nworkers; m.worker++)
				front_must(NULL, server_state_take(s, &m));
		ms[m.step] = (clk_s() - ms[m.step]) * 1e3 / SLICES;
	}
	if (answers != (uint64_t)nworkers * SLICES * STEPS)
		front_say("%u answers are missing", (unsigned)(nworkers * SLICES * STEPS - answers));
	server_state_free(s);
	buf_free(&text);
	qsort(ms, STEPS, sizeof(*ms), compare_times);
	return ms[STEPS / 2];
}

int
main(int argc, char *argv[])
{
	static const struct option longs[] = {
		{ "slack", required_argument, NULL, 's' }, { "help", no_argument, NULL, 'h' }, { 0 },
	};
	static const char *const usual[] = { "64", "256", "1000", NULL };
	const char *const *workers = usual;
	uint32_t slack = 0;
	int c;

	front_init(argv[0], usage, help);
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		switch (c) {
		case 's': slack = (uint32_t)front_num("--slack", optarg, 0, STALE_ASYNC); break;
		case 'h': front_help();
		default:  front_usage();
		}
	if (optind < argc)
		workers = (const char *const *)argv + optind;
	printf("workers\tslack\tms per slice and step\n");
	for (; *workers != NULL; workers++) {
		uint32_t n = (uint32_t)front_num("WORKERS", *workers, 1, HELLO_WORKERS);

		printf("%u\t%u\t%.4f\n", (unsigned)n, (unsigned)slack, measure_steps(n, slack));
		front_flush();
	}
	return front_status();
}
