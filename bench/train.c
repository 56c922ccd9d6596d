/*
 * train - a net's name into the times of whole training steps on synthetic batches.
 *
 * A step is all that a worker without a server does: every array loaded, forward,
 * backward, every weight updated; where the engine learns on its device, it does so here too, and an update that
 * nobody waits for is in the time of the step behind it.  The program is one of those that train.sh
 * drives in turn: it says "ready" and how many million multiply-adds a picture takes forward, and for each line "K" on
 * stdin it runs K steps and prints their milliseconds on one line.  With --limit it does not train but runs a dense
 * product of the same precision, twice 2048^3 operations, as the limit beside the others.
 */
#include "front.h"

#include "base/clk.h"
#include "base/err.h"
#include "base/rng.h"
#include "engine/cpu/dnnl.h"
#include "engine/engine.h"
#include "net/graph/script.h"

#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT 2048

/* A net's name and what pworker's options of the same names say of it; 0: as its script has it. */
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
	bool		     learns;	/* on the device */
	uint64_t	     steps;
	float		    *w, *m, *g, *aux, *stats, *x;
	int32_t		    *y;
};

static const char usage[] =
    "train [--net NAME] [--net-opt KEY=VALUE]... [--batch N] [--dtype TYPE] [--engine NAME] [options]";
static const char help[] =
    "  --net NAME           script of the net (inception)\n"
    "  --net-opt KEY=VALUE  one of its options\n"
    "  --shape CxHxW        of its pictures (its own)\n"
    "  --classes N          (its own)\n"
    "  --batch N            pictures a step (128)\n"
    "  --dtype TYPE         f32, tf32, bf16, f16 (f32)\n"
    "  --engine NAME        cpu, ref, gpu (the best)\n"
    "  --threads N          (2)\n"
    "  --explain            print what runs each layer, and end\n"
    "  --limit              a dense product in place of a net\n";

static void
must(int e, const char *thing)
{
	if (e < 0)
		front_die(thing, e);
}

static void *
room(size_t count, size_t size)
{
	void *p = calloc(count + 1, size);

	if (p == NULL)
		must(err_nomem(), NULL);
	return p;
}

/* Weights as they would begin, so that no value grows or dies out on the way. */
static void
first_weights(struct job *j)
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

/* All arrays in one range. */
static void
learn(struct job *j)
{
	const struct engine_group all = { .count = j->graph->P, .lr = 1, .wd = 1 };
	const struct engine_opt how = { .hyper = hyper, .group = &all, .ngroup = 1, .state = j->m };

	if (j->engine->device_opt == NULL)
		return;
	for (uint32_t a = 0; a < j->graph->nw; a++)
		must(j->engine->load(j->plan, a, j->w + j->graph->w[a].first), "load");
	must(j->engine->load_aux(j->plan, j->aux), "load");
	must(j->engine->device_opt->begin(j->plan, &how), "learn");
	j->learns = true;
}

static void
open_job(struct job *j, const struct net *net, unsigned threads)
{
	const struct graph_node *data;
	struct rng r = rng_start(1, 1, 0);
	size_t floats;

	must(script_run(net->name, net->c, net->h, net->w, net->classes, net->option, net->noption, &j->graph), NULL);
	must(engine_open(&j->engine, 0, threads, &j->dev), j->engine->name);
	must(engine_plan(j->engine, j->dev, j->graph, j->batch, j->precision, 0, &j->plan), net->name);
	data = &j->graph->node[0];
	floats = (size_t)j->batch * data->c * data->h * data->w;
	j->w = room(j->graph->P, sizeof(float));
	j->m = room(j->graph->P, sizeof(float));
	j->g = room(j->graph->P, sizeof(float));
	j->aux = room(j->graph->A, sizeof(float));
	j->stats = room(j->graph->A, sizeof(float));
	j->x = room(floats, sizeof(float));
	j->y = room(j->batch, sizeof(int32_t));
	first_weights(j);
	for (size_t i = 0; i < floats; i++)
		j->x[i] = rng_normal(&r);
	for (uint32_t i = 0; i < j->batch; i++)
		j->y[i] = (int32_t)rng_below(&r, j->graph->classes);
	learn(j);
}

static int
need(void *arg, uint32_t a)
{
	struct job *j = arg;

	return j->engine->load(j->plan, a, j->w + j->graph->w[a].first);
}

static void
train(void *arg)
{
	struct job *j = arg;
	const struct engine_hook hook = { .arg = j, .param_needed = need };
	const struct graph_node *in = &j->graph->node[0];
	const struct samples s = { .n = j->batch, .c = in->c, .h = in->h, .w = in->w, .x = j->x, .y = j->y };
	struct engine_result result;

	must(j->engine->forward(j->plan, &s, NULL, j->learns ? NULL : &hook, &result), "forward");
	if (j->learns) {
		must(j->engine->backward(j->plan, NULL, NULL, NULL), "backward");
		must(j->engine->device_opt->step(j->plan, j->batch, hyper.lr, ++j->steps, false), "update");
		return;
	}
	must(j->engine->backward(j->plan, j->g, j->stats, &hook), "backward");
	must(j->engine->update(j->dev, j->w, j->m, j->g, j->graph->P, j->batch, &hyper), "update");
}

/* ------ the limit: y = x w^T, each LIMIT x LIMIT ------ */

static void
product(void *arg)
{
	must(dnnl_layer_run(arg, DNNL_FORWARD, NULL), "limit");
}

/* Small numbers, whether read as f32 or as bf16. */
static void *
square(void)
{
	size_t n = (size_t)LIMIT * LIMIT * sizeof(float);
	void *p = aligned_alloc(64, n);

	if (p == NULL)
		must(err_nomem(), "limit");
	memset(p, 0x3a, n);
	return p;
}

static struct dnnl_layer *
open_limit(enum engine_precision precision, unsigned threads)
{
	const struct dnnl_shape shape = { .n = LIMIT, .c = LIMIT, .h = 1, .w = 1, .k = LIMIT, .fc = true,
		.bf16 = precision == ENGINE_BF16 };
	struct dnnl_place at = { .x = square(), .y = square(), .packed = square() };
	struct dnnl_dev *dev;
	struct dnnl_layer *layer;

	omp_set_num_threads((int)threads);
	must(dnnl_dev_open(&dev), "limit");
	must(dnnl_layer_new(dev, &shape, NULL, &layer), "limit");
	at.scratch = room(dnnl_layer_needs(layer)->scratch / 64 + 1, 64);
	must(dnnl_layer_bind(layer, &at), "limit");
	return layer;
}

static void
explain(const struct job *j)
{
	struct buf b = { 0 };

	must(j->engine->describe(j->dev, &b), NULL);
	must(buf_put_fmt(&b, "\n"), NULL);
	must(j->engine->explain(j->plan, &b), NULL);
	fwrite(b.p, 1, b.n, stdout);
	buf_free(&b);
}

/* Runs as many steps as each line of stdin says. */
static void
serve(void (*step)(void *), void *arg, double macs)
{
	char line[32];

	step(arg);	/* a kernel's first call is slow */
	step(arg);
	printf("ready %.1f\n", macs / 1e6);
	front_flush();
	while (fgets(line, sizeof(line), stdin) != NULL) {
		for (long k = strtol(line, NULL, 10); k > 0; k--) {
			double t = clk_s();

			step(arg);
			printf("%.2f%s", (clk_s() - t) * 1e3, k > 1 ? " " : "\n");
		}
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
		{ "shape", required_argument, NULL, 's' }, { "threads", required_argument, NULL, 't' },
		{ "help", no_argument, NULL, 'h' }, { 0 },
	};
	struct net net = { .name = "inception" };
	struct job j = { .batch = 128 };
	const char *engine = NULL;
	unsigned threads = 2;
	bool limit = false, explained = false;
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
		case 's': front_shape("--shape", optarg, &net.c, &net.h, &net.w); break;
		case 't': threads = (unsigned)front_num("--threads", optarg, 1, 1024); break;
		case 'h': front_help();
		default:  front_usage();
		}
	if (limit) {
		serve(product, open_limit(j.precision, threads), (double)LIMIT * LIMIT * LIMIT);
		return front_status();
	}
	if ((j.engine = engine_find(engine)) == NULL)
		front_die(NULL, ERR_ARG);
	open_job(&j, &net, threads);
	if (explained)
		explain(&j);
	else
		serve(train, &j, (double)graph_macs(j.graph));
	return front_status();
}
