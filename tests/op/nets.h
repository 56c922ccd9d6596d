/*
 * nets - small nets around one kind of layer, values to run them on, and helpers of the engine tests.
 *
 * Each net is data -> a 1x1 convolution -> the tested layers -> fc -> softmax.  The gradients of the convolution show
 * what the layers pass to their input, and the fc gives each value of their output a different gradient.
 */
#ifndef TESTS_OP_NETS_H
#define TESTS_OP_NETS_H

#include "tap.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/rng.h"
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

#define NETS_UNUSED __attribute__((unused))

/* Ends the test if a preparation fails. */
NETS_UNUSED static void
nets_must(int e)
{
	if (e >= 0)
		return;
	printf("Bail out! %s\n", err_line());
	exit(1);
}

NETS_UNUSED static void *
nets_floats(size_t n)
{
	float *p = calloc(n + 1, sizeof(*p));

	nets_must(p != NULL ? 0 : err_nomem());
	return p;
}

/* Whether the list of a plan's kernels has this text. */
NETS_UNUSED static bool
nets_explains(const struct engine *e, const struct engine_plan *p, const char *text)
{
	struct buf list = { 0 };
	bool found;

	nets_must(e->explain(p, &list));
	nets_must(buf_terminate(&list));
	found = strstr((const char *)list.p, text) != NULL;
	buf_free(&list);
	return found;
}

/* Whether a device is the one of tests/emu, which runs the cuda engine on the CPU. */
NETS_UNUSED static bool
nets_emulated(const struct engine *e, struct engine_dev *dev)
{
	struct buf text = { 0 };
	bool emulated;

	nets_must(e->describe(dev, &text));
	nets_must(buf_terminate(&text));
	emulated = strcmp(e->name, "cuda") == 0 && strstr((const char *)text.p, "loops") != NULL;
	buf_free(&text);
	return emulated;
}

/* A batch of samples of the graph's shape. */
#define NETS_SAMPLES(g, at, class, count) (&(struct samples){ .n = (count), .c = (g)->node[0].c, .h = (g)->node[0].h, \
	.w = (g)->node[0].w, .x = (at), .y = (class) })

/* The same of a struct nets_numbers, with its targets if the loss compares outputs with numbers. */
#define NETS_BATCH(g, v, count) (&(struct samples){ .n = (count), .c = (g)->node[0].c, .h = (g)->node[0].h, \
	.w = (g)->node[0].w, .x = (v)->x, .y = (v)->y, .targets = graph_targets(g), \
	.target = graph_targets(g) > 0 ? (v)->target : NULL, .positive = (v)->positive })

/* Adds node n1, n2 and so on, which reads `in`, or the list of like.in if it has one. */
NETS_UNUSED static uint32_t
nets_node(struct graph *g, uint32_t in, struct graph_node like)
{
	uint32_t at = 0;

	if (like.in == NULL) {
		like.in = &in;
		like.nin = 1;
	}
	snprintf(like.name, sizeof(like.name), "n%u", g->n);
	nets_must(graph_add(g, &like, &at));
	return at;
}

/* For example NODE(g, x, CONV, .k = 3). */
#define NODE(g, in, kind, ...) nets_node(g, in, (struct graph_node){ .op = GRAPH_##kind, __VA_ARGS__ })
#define BN(g, in, ...) NODE(g, in, BN, .eps = 0.05f, .momentum = 0.9f, __VA_ARGS__)
#define JOIN(g, kind, ...) nets_node(g, 0, (struct graph_node){ .op = GRAPH_##kind, .in = (uint32_t[]){ __VA_ARGS__ }, \
	.nin = sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t) })
#define CONCAT(g, ...) JOIN(g, CONCAT, __VA_ARGS__)
#define ADD(g, ...) JOIN(g, ADD, __VA_ARGS__)
#define MUL(g, ...) JOIN(g, MUL, __VA_ARGS__)

/* A random integer of lo..hi. */
static inline uint32_t
any(struct rng *r, uint32_t lo, uint32_t hi)
{
	return lo + (uint32_t)rng_below(r, hi - lo + 1);
}

static float
between(struct rng *r, float lo, float hi)
{
	return lo + (hi - lo) * rng_f32(r);
}

#include "op/nets_layers.h"

struct nets_case {
	const char	*name;
	nets_layers	*layers;
	bool		 kinks;	/* the loss of the small net has corners, from relu or max */
	enum graph_loss	 loss;
};

NETS_UNUSED static const struct nets_case nets_cases[] = {
	{ "conv", nets_conv, false, GRAPH_LOSS_SOFTMAX },
	{ "conv 3x3", nets_conv3x3, false, GRAPH_LOSS_SOFTMAX },
	{ "conv 5x5", nets_conv5x5, false, GRAPH_LOSS_SOFTMAX },
	{ "fc", nets_fc, false, GRAPH_LOSS_SOFTMAX },
	{ "bn", nets_bn, false, GRAPH_LOSS_SOFTMAX },
	{ "bn with gamma fixed", nets_bn_fixed, false, GRAPH_LOSS_SOFTMAX },
	{ "fc and bn", nets_fc_bn, false, GRAPH_LOSS_SOFTMAX },
	{ "relu", nets_relu, true, GRAPH_LOSS_SOFTMAX },
	{ "bn and relu", nets_bn_relu, true, GRAPH_LOSS_SOFTMAX },
	{ "tanh", nets_tanh, false, GRAPH_LOSS_SOFTMAX },
	{ "sigmoid", nets_sigmoid, false, GRAPH_LOSS_SOFTMAX },
	{ "max pool", nets_max, true, GRAPH_LOSS_SOFTMAX },
	{ "average pool", nets_avg, false, GRAPH_LOSS_SOFTMAX },
	{ "global average pool", nets_global, false, GRAPH_LOSS_SOFTMAX },
	{ "concat of an output with five readers", nets_concat, false, GRAPH_LOSS_SOFTMAX },
	{ "an output with readers of all kinds", nets_fan, true, GRAPH_LOSS_SOFTMAX },
	{ "inception blocks", nets_block, false, GRAPH_LOSS_SOFTMAX },
	{ "dilated conv", nets_dilated, false, GRAPH_LOSS_SOFTMAX },
	{ "grouped and depthwise conv", nets_groups, false, GRAPH_LOSS_SOFTMAX },
	{ "gelu, swish, elu, linear", nets_smooth, false, GRAPH_LOSS_SOFTMAX },
	{ "leaky and elu", nets_leaky, true, GRAPH_LOSS_SOFTMAX },
	{ "lrn", nets_lrn, false, GRAPH_LOSS_SOFTMAX },
	{ "pad", nets_pad, false, GRAPH_LOSS_SOFTMAX },
	{ "dropout", nets_dropout, false, GRAPH_LOSS_SOFTMAX },
	{ "add", nets_add, false, GRAPH_LOSS_SOFTMAX },
	{ "mul", nets_mul, false, GRAPH_LOSS_SOFTMAX },
	{ "activations before max pools", nets_act_max, true, GRAPH_LOSS_SOFTMAX },
	{ "residual blocks", nets_residual, false, GRAPH_LOSS_SOFTMAX },
	{ "channels that do not fill a block", nets_odd, true, GRAPH_LOSS_SOFTMAX },
	{ "the loss sigmoid", nets_fc_bn, false, GRAPH_LOSS_SIGMOID },
	{ "the loss squared", nets_fc_bn, false, GRAPH_LOSS_SQUARED },
	{ "conv of small maps", nets_small, false, GRAPH_LOSS_SOFTMAX },
	{ "bn of many channels", nets_bn_wide, false, GRAPH_LOSS_SOFTMAX },
};

#define NETS_CASES (sizeof(nets_cases) / sizeof(*nets_cases))

NETS_UNUSED static struct graph *
nets_graph(const struct nets_case *c, struct rng *r, bool big)
{
	uint32_t channels = any(r, 2, 3), h = any(r, 4, big ? 17 : 6), w = any(r, 4, big ? 17 : 6);
	uint32_t k = any(r, 1, big ? 40 : 3), classes = any(r, 2, big ? 12 : 4), x;
	struct graph *g = graph_new(channels, h, w);

	nets_must(g != NULL ? 0 : ERR_NOMEM);
	x = NODE(g, 0, CONV, .k = k, .r = 1, .s = 1, .stride = GRAPH_BOTH(1), .bias = true);
	x = c->layers(g, r, x, big);
	x = NODE(g, x, FC, .k = classes, .bias = true);
	NODE(g, x, SOFTMAX, .loss = c->loss,
	    .smooth = any(r, 0, 1) && c->loss == GRAPH_LOSS_SOFTMAX ? between(r, 0, 0.5f) : 0);
	return g;
}

/* Values to run a net on. */
struct nets_numbers {
	float	*w, *aux;	/* [P], [A] */
	float	*x;		/* [n,C,H,W] */
	int32_t	*y;		/* [n] */
	float	*target;	/* [n, classes] from 0 to 1, or NaN */
	float	*positive;	/* [classes]; NULL: the loss is not sigmoid */
};

/* Random values.  The weights keep activations at about one size; gammas, betas and statistics are not 1 and 0. */
NETS_UNUSED static struct nets_numbers
nets_numbers(const struct graph *g, struct rng *r, uint32_t n)
{
	size_t sample = (size_t)g->node[0].c * g->node[0].h * g->node[0].w;
	struct nets_numbers v = { nets_floats(g->P), nets_floats(g->A), nets_floats(n * sample), nets_floats(n),
	    nets_floats(n * g->classes), NULL };

	for (uint32_t a = 0; a < g->nw; a++) {
		const struct graph_array *w = &g->w[a];
		float bound = sqrtf(3 / ((float)w->count / (float)w->dim[0]));

		for (size_t j = w->first; j < w->first + w->count; j++)
			v.w[j] = w->role == GRAPH_WEIGHT ? between(r, -bound, bound) :
			    w->role == GRAPH_GAMMA ? between(r, 0.5f, 1.5f) : between(r, -0.5f, 0.5f);
	}
	for (uint32_t a = 0; a < g->naux; a++)
		for (size_t j = g->aux[a].first; j < g->aux[a].first + g->aux[a].count; j++)
			v.aux[j] = g->aux[a].role == GRAPH_VAR ? between(r, 0.5f, 2) : between(r, -0.5f, 0.5f);
	for (size_t j = 0; j < n * sample; j++)
		v.x[j] = rng_normal(r);
	for (uint32_t j = 0; j < n; j++)
		v.y[j] = (int32_t)rng_below(r, g->classes);
	for (uint32_t j = 0; j < n * graph_targets(g); j++)
		v.target[j] = any(r, 0, 1) ? (float)any(r, 0, 1) : any(r, 0, 3) ? rng_f32(r) : NAN;
	if (g->node[g->n - 1].loss == GRAPH_LOSS_SIGMOID) {
		v.positive = nets_floats(g->classes);
		for (uint32_t k = 0; k < g->classes; k++)
			v.positive[k] = between(r, 0, 4);
	}
	return v;
}

NETS_UNUSED static void
nets_numbers_free(struct nets_numbers *v)
{
	free(v->w);
	free(v->aux);
	free(v->x);
	free(v->y);
	free(v->target);
	free(v->positive);
}

NETS_UNUSED static int
nets_load(const struct engine *e, struct engine_plan *p, const struct graph *g, const struct nets_numbers *v)
{
	int err = e->load_aux(p, v->aux);

	for (uint32_t a = 0; a < g->nw && err == 0; a++)
		err = e->load(p, a, v->w + g->w[a].first);
	return err;
}

/* A plan; NULL, and a skipped test, if this engine has no bf16 here. */
NETS_UNUSED static struct engine_plan *
nets_plan(const struct engine *e, struct engine_dev *dev, const struct graph *g, uint32_t batch,
    enum engine_precision precision, const char *name)
{
	struct engine_plan *p = NULL;
	const int err = engine_plan(e, dev, g, batch, precision, 0, &p);

	if (err == ERR_NOTSUP && precision == ENGINE_BF16)
		skip(name, err_line());
	else
		nets_must(err);
	return p;
}

/* What a training step and an evaluation of n samples compute. */
struct nets_step {
	struct engine_result train, eval;
	float	*g, *stats, *prob;	/* [P], [A], [n, classes] */
};

NETS_UNUSED static struct nets_step
nets_step_new(const struct graph *g, uint32_t n)
{
	return (struct nets_step) { .g = nets_floats(g->P), .stats = nets_floats(g->A),
		.prob = nets_floats(n * g->classes) };
}

NETS_UNUSED static void
nets_step_run(const struct engine *e, struct engine_plan *p, const struct graph *g, const struct nets_numbers *v,
    uint32_t n, struct nets_step *s)
{
	nets_must(nets_load(e, p, g, v));
	nets_must(e->forward(p, NETS_BATCH(g, v, n), NULL, NULL, &s->train));
	nets_must(e->backward(p, s->g, s->stats, NULL));
	nets_must(e->evaluate(p, NETS_BATCH(g, v, n), &s->eval, s->prob));
}

NETS_UNUSED static void
nets_step_free(struct nets_step *s)
{
	free(s->g);
	free(s->stats);
	free(s->prob);
}

/* |a - b| / |b| in the 2-norm; 0 if n is 0. */
NETS_UNUSED static double
nets_distance(const float *a, const float *b, size_t n)
{
	double off = 0, size = 0;

	for (size_t j = 0; j < n; j++) {
		off += ((double)a[j] - b[j]) * ((double)a[j] - b[j]);
		size += (double)b[j] * b[j];
	}
	return n > 0 ? sqrt(off / size) : 0;
}

/* Is each difference within 2e-6 of the largest value, plus floor?  (Some gradients are 0 but for rounding.) */
NETS_UNUSED static void
nets_same(const float *got, const float *want, size_t n, double floor, const char *engine, const char *what)
{
	double most = 0, worst = 0;

	for (size_t j = 0; j < n; j++) {
		double d = fabs((double)got[j] - want[j]);

		most = fmax(most, fabs(want[j]));
		worst = !(d <= worst) ? d : worst;
	}
	if (!ok(worst <= 2e-6 * most + floor, "%s: %s", engine, what))
		printf("# difference %g, the largest value is %g\n", worst, most);
}

/* Runs a test on each engine, or on the one that TEST_ENGINE names.  Skips engines without a device by name. */
NETS_UNUSED static void
nets_engines(unsigned threads, void (*test)(const struct engine *e, struct engine_dev *dev))
{
	for (size_t i = 0; engine_list[i] != NULL; i++) {
		const char *only = getenv("TEST_ENGINE");
		const struct engine *e = engine_list[i];
		struct engine_dev *dev;
		int err;

		if (only != NULL && strcmp(only, e->name) != 0)
			continue;
		err = engine_open(&e, 0, threads, &dev);
		if (err == ERR_NOTSUP) {
			skip(e->name, err_line());
			continue;
		}
		nets_must(err);
		test(e, dev);
		e->close(dev);
	}
}

#endif
