/*
 * nets - what the tests of engines share: small nets around one kind of layer, numbers to run them on, a whole step.
 *
 * Each net is data -> a 1x1 convolution -> the layers in question -> fc -> softmax: the convolution's gradients show
 * what the layers pass down, the fc gives every value of their output a gradient of its own.
 */
#ifndef TESTS_OP_NETS_H
#define TESTS_OP_NETS_H

#include "tap.h"

#include "base/err.h"
#include "base/rng.h"
#include "engine/engine.h"

#include <stdlib.h>

#define NETS_UNUSED __attribute__((unused))

/* A test that cannot even build its net says so and ends. */
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

/* Adds a node that reads `in`; concat's comes with its own list.  Names are n1, n2, ... */
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

/* NODE(g, x, CONV, .k = 3, ...) */
#define NODE(g, in, kind, ...) nets_node(g, in, (struct graph_node){ .op = GRAPH_##kind, __VA_ARGS__ })
#define BN(g, in, ...) NODE(g, in, BN, .eps = 0.05f, .momentum = 0.9f, __VA_ARGS__)
#define JOIN(g, kind, ...) nets_node(g, 0, (struct graph_node){ .op = GRAPH_##kind, .in = (uint32_t[]){ __VA_ARGS__ }, \
	.nin = sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t) })
#define CONCAT(g, ...) JOIN(g, CONCAT, __VA_ARGS__)
#define ADD(g, ...) JOIN(g, ADD, __VA_ARGS__)
#define MUL(g, ...) JOIN(g, MUL, __VA_ARGS__)

/* Any of lo..hi. */
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

/* The layers of one net: adds them behind node x and returns the last.  big: as an engine meets them in earnest. */
typedef uint32_t nets_layers(struct graph *g, struct rng *r, uint32_t x, bool big);

static uint32_t
nets_conv(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	uint32_t k = any(r, 1, big ? 40 : 4), lines = any(r, 1, 3), columns = any(r, 1, 3);
	uint32_t stride = any(r, 1, 3), across = any(r, 1, 3), pad = any(r, 0, 2), beside = any(r, 0, 2), bias = any(r, 0, 1);

	return NODE(g, x, CONV, .k = k, .r = lines, .s = columns, .stride = { stride, across }, .pad = { pad, beside },
	    .bias = bias);
}

static uint32_t
nets_dilated(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	uint32_t k = any(r, 1, big ? 40 : 3), lines = any(r, 1, 3), columns = any(r, 1, 3), stride = any(r, 1, 2);
	uint32_t down = any(r, 1, 3), across = any(r, 1, 3);

	return NODE(g, x, CONV, .k = k, .r = lines, .s = columns, .stride = GRAPH_BOTH(stride), .pad = GRAPH_BOTH(3),
	    .dilate = { down, across }, .bias = true);
}

/* Parts of the channels by themselves, and then each channel by itself. */
static uint32_t
nets_groups(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	uint32_t groups = any(r, 1, big ? 4 : 2), each = any(r, 1, big ? 20 : 2), out = any(r, 1, big ? 20 : 2), k;

	x = NODE(g, x, CONV, .k = groups * each, .r = 1, .s = 1, .stride = GRAPH_BOTH(1));
	x = NODE(g, x, CONV, .k = groups * out, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1),
	    .groups = groups, .bias = true);
	k = g->node[x].c;
	return NODE(g, x, CONV, .k = k * any(r, 1, 2), .r = 3, .s = 3, .stride = GRAPH_BOTH(any(r, 1, 2)),
	    .pad = GRAPH_BOTH(1), .groups = k);
}

/* The kernel that engines have the most special cases for; Winograd's algorithm pays from about 32 channels. */
static uint32_t
nets_conv3x3(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	uint32_t k = any(r, big ? 24 : 1, big ? 48 : 3), bias = any(r, 0, 1);

	x = NODE(g, x, CONV, .k = k, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1), .bias = bias);
	k = any(r, big ? 24 : 1, big ? 48 : 3);
	return NODE(g, x, CONV, .k = k, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1), .bias = true);
}

static uint32_t
nets_conv5x5(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	uint32_t k = any(r, 1, big ? 24 : 3), stride = any(r, 1, 2), pad = any(r, 1, 4), bias = any(r, 0, 1);

	return NODE(g, x, CONV, .k = k, .r = 5, .s = 5, .stride = GRAPH_BOTH(stride), .pad = GRAPH_BOTH(pad), .bias = bias);
}

static uint32_t
nets_fc(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	for (int layer = 0; layer < 2; layer++) {
		uint32_t k = any(r, 1, big ? 70 : 6), bias = any(r, 0, 1);

		x = NODE(g, x, FC, .k = k, .bias = bias);
	}
	return x;
}

static uint32_t
nets_bn(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	(void)r, (void)big;
	return BN(g, x, .fix_gamma = false);
}

static uint32_t
nets_bn_fixed(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	(void)r, (void)big;
	return BN(g, x, .fix_gamma = true);
}

/* Batch norm behind fc: one value a picture and channel. */
static uint32_t
nets_fc_bn(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	x = NODE(g, x, FC, .k = any(r, 1, big ? 70 : 6), .bias = true);
	return BN(g, x, .fix_gamma = false);
}

static uint32_t
nets_relu(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	(void)r, (void)big;
	return NODE(g, x, ACT, .act = GRAPH_RELU);
}

static uint32_t
nets_bn_relu(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	(void)r, (void)big;
	x = BN(g, x, .fix_gamma = false);
	return NODE(g, x, ACT, .act = GRAPH_RELU);
}

static uint32_t
nets_tanh(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	(void)r, (void)big;
	return NODE(g, x, ACT, .act = GRAPH_TANH);
}

static uint32_t
nets_sigmoid(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	(void)r, (void)big;
	return NODE(g, x, ACT, .act = GRAPH_SIGMOID);
}

/* All activations that have no corner for a small net, one behind the other; and those that have. */
static uint32_t
nets_smooth(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	(void)big;
	x = NODE(g, x, ACT, .act = GRAPH_GELU);
	x = BN(g, x, .fix_gamma = false);
	x = NODE(g, x, ACT, .act = GRAPH_SWISH);
	x = BN(g, x, .fix_gamma = false);
	x = NODE(g, x, ACT, .act = GRAPH_GELU_TANH);
	x = BN(g, x, .fix_gamma = false);
	x = NODE(g, x, ACT, .act = GRAPH_ELU, .alpha = 1);
	return NODE(g, x, ACT, .act = GRAPH_LINEAR, .alpha = between(r, 0.5f, 2));
}

static uint32_t
nets_leaky(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	(void)big;
	x = NODE(g, x, ACT, .act = GRAPH_LEAKY, .alpha = between(r, -0.5f, 0.5f));
	x = BN(g, x, .fix_gamma = false);
	return NODE(g, x, ACT, .act = GRAPH_ELU, .alpha = between(r, -0.5f, 2));
}

/* Sizes and paddings until the picture is large enough for them. */
static uint32_t
nets_pool(struct graph *g, struct rng *r, uint32_t x, enum graph_pool kind)
{
	struct graph_node like = { .op = GRAPH_POOL, .name = "pool", .in = &x, .nin = 1, .pool = kind };
	uint32_t at;

	do {
		like.r = any(r, 1, 3);
		like.s = any(r, 1, 3);
		like.stride[0] = any(r, 1, 3);
		like.stride[1] = any(r, 1, 3);
		like.pad[0] = any(r, 0, like.r - 1);
		like.pad[1] = any(r, 0, like.s - 1);
		like.ceil = any(r, 0, 1);
		like.divide = any(r, GRAPH_WINDOW, GRAPH_INSIDE);
	} while (graph_add(g, &like, &at) < 0);
	return at;
}

static uint32_t
nets_max(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	(void)big;
	return nets_pool(g, r, x, GRAPH_MAX);
}

static uint32_t
nets_avg(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	(void)big;
	return nets_pool(g, r, x, GRAPH_AVG);
}

static uint32_t
nets_global(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	const struct graph_node *in = &g->node[x];

	(void)r, (void)big;
	x = NODE(g, x, POOL, .pool = GRAPH_AVG, .r = in->h, .s = in->w, .stride = GRAPH_BOTH(1));
	return NODE(g, x, FLATTEN, .k = 0);
}

static uint32_t
nets_lrn(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	uint32_t size = any(r, 1, big ? 7 : 4);
	float alpha = between(r, 0.5f, 2), power = any(r, 0, 1) ? 0.75f : between(r, 0.25f, 1);

	return NODE(g, x, LRN, .size = size, .alpha = alpha, .power = power, .knorm = between(r, 1, 2));
}

static uint32_t
nets_pad(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	uint32_t down = any(r, 0, 3), across = any(r, 0, 3);

	x = NODE(g, x, PAD, .pad = { down, across }, .reflect = any(r, 0, 1));
	return NODE(g, x, CONV, .k = any(r, 1, big ? 20 : 2), .r = 3, .s = 3, .stride = GRAPH_BOTH(2), .bias = true);
}

static uint32_t
nets_dropout(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	x = NODE(g, x, DROPOUT, .drop = between(r, 0, 0.8f));
	x = NODE(g, x, FC, .k = any(r, 2, big ? 70 : 6), .bias = true);
	x = NODE(g, x, DROPOUT, .drop = 0.5f);
	return NODE(g, x, ACT, .act = GRAPH_TANH);
}

/* Sums of one, two and three, of what others read too, of itself, and of other layouts. */
static uint32_t
nets_add(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	uint32_t c = g->node[x].c, a, b;

	a = NODE(g, x, CONV, .k = c, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1), .bias = true);
	b = ADD(g, a, x);
	a = ADD(g, b);
	a = BN(g, a, .fix_gamma = false);
	b = ADD(g, a, b, x, x);
	a = NODE(g, b, ACT, .act = GRAPH_TANH);
	a = NODE(g, a, CONV, .k = c, .r = 1, .s = 1, .stride = GRAPH_BOTH(1));
	x = ADD(g, a, b);
	a = CONCAT(g, x, NODE(g, x, ACT, .act = GRAPH_SIGMOID));
	b = NODE(g, a, FC, .k = any(r, 1, big ? 20 : 3), .bias = true);
	a = NODE(g, b, ACT, .act = GRAPH_TANH);
	return ADD(g, a, b, a);
}

static uint32_t
nets_mul(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	uint32_t a = NODE(g, x, ACT, .act = GRAPH_TANH), b = NODE(g, x, ACT, .act = GRAPH_SIGMOID);

	(void)r, (void)big;
	b = MUL(g, x, a, b);
	return MUL(g, b, x);
}

/* Residual blocks behind their sum as of 2015 and before it as of 2016. */
static uint32_t
nets_residual(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	uint32_t k = any(r, 1, big ? 40 : 3), a, b;

	x = NODE(g, x, CONV, .k = k, .r = 1, .s = 1, .stride = GRAPH_BOTH(1));
	for (int block = 0; block < 2; block++) {
		a = NODE(g, x, CONV, .k = k, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1));
		a = BN(g, a, .fix_gamma = false);
		x = NODE(g, ADD(g, a, x), ACT, .act = big ? GRAPH_RELU : GRAPH_TANH);
	}
	for (int block = 0; block < 2; block++) {
		a = NODE(g, BN(g, x, .fix_gamma = false), ACT, .act = big ? GRAPH_RELU : GRAPH_TANH);
		b = block == 0 ? NODE(g, a, CONV, .k = k, .r = 1, .s = 1, .stride = GRAPH_BOTH(1)) : x;
		a = NODE(g, a, CONV, .k = k, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1));
		x = ADD(g, a, b);
	}
	return x;
}

/* One output that feeds five layers; one of them twice in the same concat. */
static uint32_t
nets_concat(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	uint32_t ka = any(r, 1, big ? 20 : 3), kb = any(r, 1, big ? 20 : 3);
	uint32_t a = NODE(g, x, CONV, .k = ka, .r = 1, .s = 1, .stride = GRAPH_BOTH(1), .bias = true);
	uint32_t b = NODE(g, x, CONV, .k = kb, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1));
	uint32_t c = NODE(g, x, ACT, .act = GRAPH_TANH);
	uint32_t d = NODE(g, x, POOL, .pool = GRAPH_AVG, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1));

	return CONCAT(g, b, x, a, c, d, a);
}

/* One output that feeds a layer of every kind and at last a concat, whose gradient is the first to come: all must add. */
static uint32_t
nets_fan(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	uint32_t k = any(r, 1, big ? 20 : 2), a, b, y[7];

	y[0] = NODE(g, x, CONV, .k = k, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1));
	y[1] = BN(g, x, .fix_gamma = false);
	y[2] = NODE(g, x, ACT, .act = GRAPH_RELU);
	y[3] = NODE(g, x, ACT, .act = GRAPH_TANH);
	y[4] = NODE(g, x, ACT, .act = GRAPH_SIGMOID);
	y[5] = NODE(g, x, POOL, .pool = GRAPH_MAX, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1));
	y[6] = NODE(g, x, POOL, .pool = GRAPH_AVG, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1));
	x = CONCAT(g, y[0], y[1], y[2], y[3], y[4], y[5], y[6], x);
	a = NODE(g, x, FC, .k = k, .bias = true);
	b = NODE(g, x, FLATTEN, .k = 0);
	return CONCAT(g, a, b);
}

/* Convolution, batch norm and activation; the small one is smooth, so that every derivative can be judged. */
static uint32_t
nets_factory(struct graph *g, struct rng *r, uint32_t x, bool big, uint32_t kernel, uint32_t stride)
{
	uint32_t k = any(r, 1, big ? 40 : 3);

	x = NODE(g, x, CONV, .k = k, .r = kernel, .s = kernel, .stride = GRAPH_BOTH(stride), .pad = GRAPH_BOTH(kernel / 2), .bias = true);
	x = BN(g, x, .fix_gamma = false);
	return NODE(g, x, ACT, .act = big ? GRAPH_RELU : GRAPH_TANH);
}

/* Blocks as the inception net has them: 1x1 beside 3x3, then 3x3 2 apart beside a pool. */
static uint32_t
nets_block(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	uint32_t a, b;

	for (int block = 0; block < 2; block++) {
		a = nets_factory(g, r, x, big, 1, 1);
		b = nets_factory(g, r, x, big, 3, 1);
		x = CONCAT(g, a, b);
	}
	a = nets_factory(g, r, x, big, 3, 2);
	b = NODE(g, x, POOL, .pool = big ? GRAPH_MAX : GRAPH_AVG, .r = 3, .s = 3, .stride = GRAPH_BOTH(2), .pad = GRAPH_BOTH(1));
	return CONCAT(g, a, b);
}

struct nets_case {
	const char	*name;
	nets_layers	*layers;
	bool		 kinks;	/* the small net has relu or max: its loss has corners */
};

NETS_UNUSED static const struct nets_case nets_cases[] = {
	{ "conv", nets_conv, false },
	{ "conv 3x3", nets_conv3x3, false },
	{ "conv 5x5", nets_conv5x5, false },
	{ "fc", nets_fc, false },
	{ "bn", nets_bn, false },
	{ "bn with gamma fixed", nets_bn_fixed, false },
	{ "fc and bn", nets_fc_bn, false },
	{ "relu", nets_relu, true },
	{ "bn and relu", nets_bn_relu, true },
	{ "tanh", nets_tanh, false },
	{ "sigmoid", nets_sigmoid, false },
	{ "max pool", nets_max, true },
	{ "average pool", nets_avg, false },
	{ "average of the whole picture", nets_global, false },
	{ "concat of five consumers", nets_concat, false },
	{ "all kinds on one output", nets_fan, true },
	{ "inception blocks", nets_block, false },
	{ "dilated conv", nets_dilated, false },
	{ "groups and channels by themselves", nets_groups, false },
	{ "gelu, swish, elu, linear", nets_smooth, false },
	{ "leaky and elu", nets_leaky, true },
	{ "lrn", nets_lrn, false },
	{ "pad", nets_pad, false },
	{ "dropout", nets_dropout, false },
	{ "add", nets_add, false },
	{ "mul", nets_mul, false },
	{ "residual blocks", nets_residual, false },
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
	NODE(g, x, SOFTMAX, .smooth = any(r, 0, 1) ? between(r, 0, 0.5f) : 0);
	return g;
}

/* Numbers to run a net on. */
struct nets_numbers {
	float	*w, *aux;	/* [P], [A] */
	float	*x;		/* [n,C,H,W] */
	int32_t	*y;		/* [n] */
};

/* Weights that keep the size of what flows through them; gammas, betas and statistics away from 1 and 0. */
NETS_UNUSED static struct nets_numbers
nets_numbers(const struct graph *g, struct rng *r, uint32_t n)
{
	size_t picture = (size_t)g->node[0].c * g->node[0].h * g->node[0].w;
	struct nets_numbers v = { nets_floats(g->P), nets_floats(g->A), nets_floats(n * picture), nets_floats(n) };

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
	for (size_t j = 0; j < n * picture; j++)
		v.x[j] = rng_normal(r);
	for (uint32_t j = 0; j < n; j++)
		v.y[j] = (int32_t)rng_below(r, g->classes);
	return v;
}

NETS_UNUSED static void
nets_numbers_free(struct nets_numbers *v)
{
	free(v->w);
	free(v->aux);
	free(v->x);
	free(v->y);
}

NETS_UNUSED static int
nets_load(const struct engine *e, struct engine_plan *p, const struct graph *g, const struct nets_numbers *v)
{
	int err = e->load_aux(p, v->aux);

	for (uint32_t a = 0; a < g->nw && err == 0; a++)
		err = e->load(p, a, v->w + g->w[a].first);
	return err;
}

/* |a - b| / |b| in the 2-norm; 0 of nothing. */
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

/* Runs a test on every engine that there is a device for; the others are skipped by name. */
NETS_UNUSED static void
nets_engines(unsigned threads, void (*test)(const struct engine *e, struct engine_dev *dev))
{
	for (size_t i = 0; engine_list[i] != NULL; i++) {
		struct engine_dev *dev;
		int e = engine_list[i]->open(threads, &dev);

		if (e == ERR_NOTSUP) {
			skip(engine_list[i]->name, err_line());
			continue;
		}
		nets_must(e);
		test(engine_list[i], dev);
		engine_list[i]->close(dev);
	}
}

#endif
