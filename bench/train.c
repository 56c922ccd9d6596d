/*
 * train - times whole training steps of a net on synthetic batches.
 *
 * A step is what a worker without a server does: it loads every array, runs forward and backward, and updates every
 * weight.  An engine with a device optimizer updates on its device; the time of an update that nobody waits for is in
 * the next step.  With --pass evaluate it is one call of evaluate() instead, whose weights are loaded once.
 *
 * bench/train.sh runs several such programs in turns.  Each prints "ready" and the million multiply-adds of a forward
 * pass over one image.  For each line "K" of standard input it runs K steps and prints their milliseconds on one line.
 * With --limit it measures the highest rate of products instead, and prints the milliseconds of 2048^3 multiply-adds,
 * once for each line.
 */
#include "front.h"

#include "base/clk.h"
#include "base/err.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "net/graph/script.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_MACS (2048.0 * 2048 * 2048)

/* A net and pworker's options of the same names; 0: the default of its script. */
struct net {
	const char	 *name;
	uint32_t	  c, h, w, classes, noption;
	struct script_opt option[SCRIPT_OPTS];
};

struct job {
	const struct engine *engine;
	struct engine_dev   *dev;
	struct engine_plan  *plan;
	struct graph	    *graph;
	enum engine_precision precision;
	uint32_t	     batch;
	bool		     learns;	/* the device optimizer runs */
	uint64_t	     steps;
	float		    *w, *m, *g, *aux, *stats, *x;
	int32_t		    *y;
};

static const char usage[] =
    "train [--net NAME] [--net-opt KEY=VALUE]... [--batch N] [--dtype TYPE] [--engine NAME] [options]";
static const char help[] =
    "  --net NAME           script of the net (inception)\n"
    "  --net-opt KEY=VALUE  option of the net\n"
    "  --shape CxHxW        shape of an image (the net's default)\n"
    "  --classes N          number of classes (the net's default)\n"
    "  --batch N            images a step (128)\n"
    "  --dtype TYPE         f32, tf32, bf16 or f16 (f32)\n"
    "  --engine NAME        cpu, ref or gpu (the best one)\n"
    "  --threads N          threads of the engine (2)\n"
    "  --pass PASS          train or evaluate (train)\n"
    "  --explain            print the kernel of each layer and exit\n"
    "  --limit              measure the highest rate of products instead of steps\n";

static void *
alloc_zeroed(size_t count, size_t size)
{
	void *p = calloc(count + 1, size);

	if (p == NULL)
		front_die(NULL, err_nomem());
	return p;
}

/* He's first weights, so that values neither grow nor vanish from layer to layer. */
static void
set_first_weights(struct job *j)
{
	for (uint32_t a = 0; a < j->graph->nw; a++) {
		const struct graph_array *array = &j->graph->w[a];
		struct rng r = rng_start(1, 0, a);

		for (size_t i = 0; i < array->count; i++)
			j->w[array->first + i] = array->role == GRAPH_GAMMA ? 1 : array->role != GRAPH_WEIGHT ? 0 :
			    rng_normal(&r) * sqrtf(2.0f * (float)array->dim[0] / (float)array->count);
	}
}

static const struct opt_hyper hyper = { .lr = 0.01f, .momentum = 0.9f, .wd = 1e-4f };

static void
load_all(struct job *j)
{
	for (uint32_t a = 0; a < j->graph->nw; a++)
		front_must("load", j->engine->load(j->plan, a, j->w + j->graph->w[a].first));
	front_must("load", j->engine->load_aux(j->plan, j->aux));
}

/* Starts the device optimizer, with all arrays in one group. */
static void
begin_device_opt(struct job *j)
{
	const struct engine_group all = { .count = j->graph->P, .lr = 1, .wd = 1 };
	const struct engine_opt how = { .hyper = hyper, .group = &all, .ngroup = 1, .state = j->m };

	if (j->engine->device_opt == NULL)
		return;
	load_all(j);
	front_must("begin", j->engine->device_opt->begin(j->plan, &how));
	j->learns = true;
}

static void
open_job(struct job *j, const struct net *net, unsigned threads)
{
	const struct graph_node *data;
	struct rng r = rng_start(1, 1, 0);
	size_t floats;

	front_must(NULL, script_run(net->name, net->c, net->h, net->w, net->classes, net->option, net->noption, &j->graph));
	front_must(j->engine->name, engine_open(&j->engine, 0, threads, &j->dev));
	front_must(net->name, engine_plan(j->engine, j->dev, j->graph, j->batch, j->precision, 0, &j->plan));
	data = &j->graph->node[0];
	floats = (size_t)j->batch * data->c * data->h * data->w;
	j->w = alloc_zeroed(j->graph->P, sizeof(float));
	j->m = alloc_zeroed(j->graph->P, sizeof(float));
	j->g = alloc_zeroed(j->graph->P, sizeof(float));
	j->aux = alloc_zeroed(j->graph->A, sizeof(float));
	j->stats = alloc_zeroed(j->graph->A, sizeof(float));
	j->x = alloc_zeroed(floats, sizeof(float));
	j->y = alloc_zeroed(j->batch, sizeof(int32_t));
	set_first_weights(j);
	for (size_t i = 0; i < floats; i++)
		j->x[i] = rng_normal(&r);
	for (uint32_t i = 0; i < j->batch; i++)
		j->y[i] = (int32_t)rng_below(&r, j->graph->classes);
	begin_device_opt(j);
}

static int
load_array(void *arg, uint32_t a)
{
	struct job *j = arg;

	return j->engine->load(j->plan, a, j->w + j->graph->w[a].first);
}

static double
time_step(struct job *j)
{
	const struct engine_hook hook = { .arg = j, .param_needed = load_array };
	const struct graph_node *in = &j->graph->node[0];
	const struct samples s = { .n = j->batch, .c = in->c, .h = in->h, .w = in->w, .x = j->x, .y = j->y };
	const double from = clk_s();
	struct engine_result result;

	front_must("forward", j->engine->forward(j->plan, &s, NULL, j->learns ? NULL : &hook, &result));
	if (j->learns) {
		front_must("backward", j->engine->backward(j->plan, NULL, NULL, NULL));
		front_must("update", j->engine->device_opt->step(j->plan, j->batch, hyper.lr, ++j->steps, false));
	} else {
		front_must("backward", j->engine->backward(j->plan, j->g, j->stats, &hook));
		front_must("update", j->engine->update(j->dev, j->w, j->m, j->g, j->graph->P, j->batch, &hyper));
	}
	return (clk_s() - from) * 1e3;
}

static double
time_evaluation(struct job *j)
{
	const struct graph_node *in = &j->graph->node[0];
	const struct samples s = { .n = j->batch, .c = in->c, .h = in->h, .w = in->w, .x = j->x, .y = j->y };
	const double from = clk_s();
	struct engine_result result;

	front_must("evaluate", j->engine->evaluate(j->plan, &s, &result, NULL));
	return (clk_s() - from) * 1e3;
}

static double
time_product(struct job *j)
{
	struct engine_peaks peaks;

	front_must("limit", j->engine->profiler->peaks(j->plan, &peaks));
	return LIMIT_MACS / peaks.macs_per_s * 1e3;
}

static void
explain(const struct job *j)
{
	struct buf b = { 0 };

	front_must(NULL, j->engine->describe(j->dev, &b));
	front_must(NULL, buf_put_fmt(&b, "\n"));
	front_must(NULL, j->engine->explain(j->plan, &b));
	fwrite(b.p, 1, b.n, stdout);
	buf_free(&b);
}

/* Runs as many steps as each line of standard input says, but at most `most`. */
static void
serve_lines(struct job *j, double (*time)(struct job *), double macs, long most)
{
	char line[32];

	time(j);	/* a kernel's first call is slow */
	time(j);
	printf("ready %.1f\n", macs / 1e6);
	front_flush();
	while (fgets(line, sizeof(line), stdin) != NULL) {
		long k = strtol(line, NULL, 10);

		for (k = k < most ? k : most; k > 0; k--)
			printf("%.2f%s", time(j), k > 1 ? " " : "\n");
		front_flush();
	}
}

int
main(int argc, char *argv[])
{
	static const struct option longs[] = {
		{ "batch", required_argument, NULL, 'b' }, { "classes", required_argument, NULL, 'c' },
		{ "dtype", required_argument, NULL, 'd' }, { "engine", required_argument, NULL, 'e' },
		{ "explain", no_argument, NULL, 'x' }, { "limit", no_argument, NULL, 'l' },
		{ "net", required_argument, NULL, 'n' }, { "net-opt", required_argument, NULL, 'o' },
		{ "pass", required_argument, NULL, 'p' },
		{ "shape", required_argument, NULL, 's' }, { "threads", required_argument, NULL, 't' },
		{ "help", no_argument, NULL, 'h' }, { 0 },
	};
	struct net net = { .name = "inception" };
	struct job j = { .batch = 128 };
	const char *engine = NULL;
	unsigned threads = 2;
	bool limit = false, explained = false, evaluates = false;
	int c;

	front_init(argv[0], usage, help);
	while ((c = getopt_long(argc, argv, "b:e:n:t:h", longs, NULL)) != -1)
		switch (c) {
		case 'b': j.batch = (uint32_t)front_num("--batch", optarg, 1, 1 << 20); break;
		case 'c': net.classes = (uint32_t)front_num("--classes", optarg, 1, 1 << 24); break;
		case 'd':
			if (!engine_precision_find(optarg, &j.precision))
				front_wrong("--dtype: there is no %s", optarg);
			break;
		case 'e': engine = optarg; break;
		case 'x': explained = true; break;
		case 'l': limit = true; break;
		case 'n': net.name = optarg; break;
		case 'o':
			if (script_opt_take(net.option, &net.noption, optarg) < 0)
				front_wrong("--net-opt: %s", err_line());
			break;
		case 'p':
			evaluates = strcmp(optarg, "evaluate") == 0;
			if (!evaluates && strcmp(optarg, "train") != 0)
				front_wrong("--pass: there is no %s", optarg);
			break;
		case 's': front_shape("--shape", optarg, &net.c, &net.h, &net.w); break;
		case 't': threads = (unsigned)front_num("--threads", optarg, 1, 1024); break;
		case 'h': front_help();
		default:  front_usage();
		}
	if ((j.engine = engine_find(engine)) == NULL)
		front_die(NULL, ERR_ARG);
	open_job(&j, &net, threads);
	if (limit && j.engine->profiler == NULL)
		front_wrong("--limit: the engine %s has no profiler", j.engine->name);
	if (explained)
		explain(&j);
	else if (limit)
		serve_lines(&j, time_product, LIMIT_MACS, 1);
	else if (evaluates) {
		load_all(&j);
		serve_lines(&j, time_evaluation, (double)graph_macs(j.graph), LONG_MAX);
	} else
		serve_lines(&j, time_step, (double)graph_macs(j.graph), LONG_MAX);
	return front_status();
}
