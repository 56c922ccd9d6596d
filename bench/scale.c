/*
 * scale - a job of many workers in simulated time: seconds a step, and memory, by the number of workers and servers.
 *
 *	scale [OPTION...] [WORKERSxSERVERS...]	(16x4 64x8 256x16 1000x32)
 *
 * The processes are those of a job: serve_run() and ps/worker/worker.h with its thread, over simulated system calls (see
 * tests/law/sim).  Each has a host of its own, whose link takes bytes one after another.  What a host computes takes the
 * time that the options say, since one machine has no thousand processors; so do the calls of the system.  The columns:
 *
 *	step_s		seconds from step to step
 *	compute_s	of these, the worker's forward and backward passes
 *	link_s		that the busier link, a worker's or a server's, needs for a step's bytes in one direction
 *	server_cpu_s	that a server spends on a step's bytes
 *	start_s		until the first step
 *	server_mb, worker_mb	the most memory of one process, without its text and stacks
 *	real_s		that the simulation took
 */
#include "front.h"

#include "law/sim/heap.h"
#include "law/sim/net.h"
#include "law/sim/sim.h"

#include "base/clk.h"
#include "base/err.h"
#include "net/graph/graph.h"
#include "ps/hello.h"
#include "ps/server/serve.h"
#include "ps/stale.h"
#include "ps/worker/worker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] = "scale [OPTION...] [WORKERSxSERVERS...]";
static const char help[] =
	"  --mb N         megabytes of weights (1)\n"
	"  --arrays N     layers that they are in (32)\n"
	"  --compute MS   milliseconds of a step's passes; two thirds are the backward one (200)\n"
	"  --mbit N       speed of each link, Mbit/s in each direction (1000)\n"
	"  --latency US   microseconds between two hosts (50)\n"
	"  --byte-ns X    nanoseconds of a processor for each byte sent or received (0.5)\n"
	"  --slice N      bytes of a slice (of pworker)\n"
	"  --slack N      steps that a worker may be ahead of the slowest (0)\n"
	"  --steps N      steps (6)\n";

struct job {
	struct graph	*graph;
	uint32_t	 W, S, slack, slice, steps;
	double		 compute_s;
	struct wire_speed speed;
	char		 (*address)[32];	/* [S] */
	char		**server;		/* [S] */
	uint32_t	 left;			/* workers that have not ended */
	double		 first, began, ended;	/* seconds at which worker 0 has the first weights, begins step 1, has the last */
	size_t		 server_peak, worker_peak;
	char		 why[ERR_LINE];		/* the first error */
};

struct process {
	struct job	*job;
	uint32_t	 index, host;
};

static double
now_s(void)
{
	return (double)sim_now() * 1e-9;
}

/* The process computes for a time, as one that sleeps. */
static void
compute(double s)
{
	sim_poll(NULL, 0, sim_now() + (uint64_t)(s * 1e9));
}

static void
note_error(struct job *j, int e)
{
	if (e < 0 && j->why[0] == 0)
		snprintf(j->why, sizeof(j->why), "%.*s", ERR_LINE - 1, err_line());
}

static void
note_peak(size_t *peak)
{
	size_t n = heap_peak((unsigned)sim_proc());

	*peak = n > *peak ? n : *peak;
}

static void
run_server(void *arg)
{
	const struct process *p = arg;
	struct job *j = p->job;
	const struct serve_opt o = { .listen = j->server[p->index], .listen_fd = net_listener(), .nworkers = j->W,
	    .index = p->index, .nservers = j->S, .transport = CONN_TCP, .incarnation = 1 + p->index, .stop_fd = -1 };
	struct serve_sums sums;

	note_error(j, serve_run(&o, &sums));
	note_peak(&j->server_peak);
}

static int
train_step(const struct job *j, struct worker *wk, const float *g, uint32_t step)
{
	const uint32_t n = j->graph->nw;

	for (uint32_t a = 0; a < n; a++) {
		ERR_TRY(worker_need(wk, a));
		compute(j->compute_s / 3 / n);
	}
	ERR_TRY(worker_step(wk, 1, step == 0 ? 0.01f : 0.1f));
	for (uint32_t a = n; a-- > 0;) {
		compute(j->compute_s * 2 / 3 / n);
		ERR_TRY(worker_push(wk, a, g));
	}
	return worker_finish(wk, g);
}

static int
train(struct job *j, uint32_t rank, struct worker *wk, const float *g)
{
	uint64_t at;

	ERR_TRY(worker_begin(wk, NULL, &at));
	if (rank == 0)
		j->first = now_s();
	for (uint32_t step = 0; step < j->steps; step++) {
		if (rank == 0 && step == 1)
			j->began = now_s();
		ERR_TRY(train_step(j, wk, g, step));
	}
	ERR_TRY(worker_ready(wk));
	if (rank == 0)
		j->ended = now_s();
	return worker_bye(wk);
}

static void
run_worker(void *arg)
{
	const struct process *p = arg;
	struct job *j = p->job;
	const struct graph *g = j->graph;
	float *w = calloc(3 * g->P, sizeof(*w));
	struct worker_opt o = { .graph = g, .rank = p->index, .nworkers = j->W, .slack = j->slack,
	    .incarnation = 1 + p->index, .server = j->server, .nservers = j->S, .transport = CONN_TCP, .slice = j->slice, .w = w,
	    .aux = w + g->P };
	struct worker *wk = NULL;
	int e = w == NULL ? err_nomem() : 0;

	opt_usual(OPT_SGD, &o.hyper);
	o.hyper.momentum = 0.9f;
	if (e == 0 && (e = worker_open(&o, &wk)) == 0)
		e = train(j, p->index, wk, w + 2 * g->P);
	note_error(j, e);
	note_peak(&j->worker_peak);
	worker_close(wk);
	free(w);
	j->left--;
}

static struct graph *
make_graph(double bytes, uint32_t arrays)
{
	const uint32_t k = (uint32_t)sqrt(bytes / arrays / sizeof(float)) + 1;
	struct graph *g = graph_new(1, 1, k);
	uint32_t at = 0;
	struct graph_node layer = { .op = GRAPH_FC, .in = &at, .nin = 1, .k = k };

	if (g == NULL)
		front_die(NULL, err_nomem());
	for (uint32_t i = 0; i < arrays; i++) {
		snprintf(layer.name, sizeof(layer.name), "layer%u", (unsigned)i);
		front_must(NULL, graph_add(g, &layer, &at));
	}
	front_must(NULL, graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at,
	    .nin = 1 }, &at));
	return g;
}

static void
start_processes(struct job *j, struct process *p)
{
	for (uint32_t i = 0; i < j->S; i++) {
		snprintf(j->address[i], sizeof(j->address[i]), "10.0.%u.%u:%u", (unsigned)(i >> 8), (unsigned)(i & 255),
		    WIRE_PORT + i);
		j->server[i] = j->address[i];
		wire_listen(i);
	}
	for (uint32_t i = 0; i < j->S + j->W; i++) {
		char name[SIM_NAME];
		bool server = i < j->S;

		p[i] = (struct process){ .job = j, .index = server ? i : i - j->S, .host = i };
		snprintf(name, sizeof(name), "%s %u", server ? "server" : "worker", (unsigned)p[i].index);
		wire_place(i, i);
		sim_spawn(name, i, server ? run_server : run_worker, NULL, &p[i]);
	}
}

static void
print_job(const struct job *j, double real_s)
{
	const double bytes = (double)j->graph->P * sizeof(float), of_server = bytes * j->W / j->S;
	const double busier = (of_server > bytes ? of_server : bytes) * 8 * WIRE_OVERHEAD;

	printf("%u\t%u\t%u\t%.4f\t%.4f\t%.4f\t%.4f\t%.2f\t%.1f\t%.1f\t%.1f\n", (unsigned)j->W, (unsigned)j->S,
	    (unsigned)(j->W * j->S), (j->ended - j->began) / (j->steps - 1), j->compute_s, busier / j->speed.bits_s,
	    2 * of_server * j->speed.byte_ns * 1e-9, j->first - 1, (double)j->server_peak * 1e-6,
	    (double)j->worker_peak * 1e-6, real_s);
	front_flush();
}

static void
run_job(struct job *j)
{
	struct process *p = calloc(j->S + j->W, sizeof(*p));
	const double from = clk_s();

	j->address = calloc(j->S, sizeof(*j->address));
	j->server = calloc(j->S, sizeof(*j->server));
	if (p == NULL || j->address == NULL || j->server == NULL)
		front_die(NULL, err_nomem());
	j->left = j->W;
	sim_begin(1, false);
	sim_calm();
	wire_limit(&j->speed);
	start_processes(j, p);
	while (sim_turn() && j->why[0] == 0)
		;
	if (j->why[0] != 0 || j->left > 0)
		front_die(NULL, err_fail(ERR_FORMAT, "%ux%u: %.200s", (unsigned)j->W, (unsigned)j->S,
		    j->why[0] != 0 ? j->why : "the job does not end"));
	print_job(j, clk_s() - from);
	sim_end();
	free(j->address);
	free(j->server);
	free(p);
}

/* Reads WORKERSxSERVERS. */
static void
read_size(const char *arg, uint32_t *workers, uint32_t *servers)
{
	char *x = strdup(arg), *at;

	if (x == NULL)
		front_die(NULL, err_nomem());
	if ((at = strchr(x, 'x')) == NULL)
		front_usage();
	*at = 0;
	*workers = (uint32_t)front_num("WORKERS", x, 1, HELLO_WORKERS);
	*servers = (uint32_t)front_num("SERVERS", at + 1, 1, HELLO_WORKERS);
	free(x);
}

int
main(int argc, char *argv[])
{
	static const struct option longs[] = {
		{ "mb", required_argument, NULL, 'm' }, { "arrays", required_argument, NULL, 'a' },
		{ "compute", required_argument, NULL, 'c' }, { "mbit", required_argument, NULL, 'b' },
		{ "latency", required_argument, NULL, 'l' }, { "byte-ns", required_argument, NULL, 'n' },
		{ "slice", required_argument, NULL, 'i' }, { "slack", required_argument, NULL, 's' },
		{ "steps", required_argument, NULL, 't' }, { "help", no_argument, NULL, 'h' }, { 0 },
	};
	static const char *const usual[] = { "16x4", "64x8", "256x16", "1000x32", NULL };
	const char *const *size = usual;
	struct job j = { .steps = 6, .compute_s = 0.2, .speed = { 1e9, 50000, 0.5 } };
	uint32_t arrays = 32, most = 0, wires = 0;
	double mb = 1;
	int c;

	front_init(argv[0], usage, help);
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		switch (c) {
		case 'm': mb = front_real("--mb", optarg, 0.001, 1e4); break;
		case 'a': arrays = (uint32_t)front_num("--arrays", optarg, 1, 1000); break;
		case 'c': j.compute_s = front_real("--compute", optarg, 0, 1e6) * 1e-3; break;
		case 'b': j.speed.bits_s = front_real("--mbit", optarg, 1e-3, 1e6) * 1e6; break;
		case 'l': j.speed.latency = (uint64_t)(front_real("--latency", optarg, 0, 1e6) * 1e3); break;
		case 'n': j.speed.byte_ns = front_real("--byte-ns", optarg, 0, 1e6); break;
		case 'i': j.slice = (uint32_t)front_num("--slice", optarg, 4, 8 << 20); break;
		case 's': j.slack = (uint32_t)front_num("--slack", optarg, 0, STALE_ASYNC); break;
		case 't': j.steps = (uint32_t)front_num("--steps", optarg, 2, 10000); break;
		case 'h': front_help();
		default:  front_usage();
		}
	if (optind < argc)
		size = (const char *const *)argv + optind;
	for (const char *const *s = size; *s != NULL; s++) {
		read_size(*s, &j.W, &j.S);
		most = j.W + j.S > most ? j.W + j.S : most;
		wires = j.W * j.S > wires ? j.W * j.S : wires;
	}
	sim_reserve(most, wires);
	j.graph = make_graph(mb * 1e6, arrays);
	printf("workers\tservers\tconnections\tstep_s\tcompute_s\tlink_s\tserver_cpu_s\tstart_s\tserver_mb\tworker_mb\treal_s\n");
	for (; *size != NULL; size++) {
		j.server_peak = j.worker_peak = 0;
		read_size(*size, &j.W, &j.S);
		run_job(&j);
	}
	graph_free(j.graph);
	return front_status();
}
