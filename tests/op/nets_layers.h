/*
 * nets_layers - the kinds of layers that the engine tests know, each as the middle of a small net.  Part of nets.h.
 *
 * Shapes and options are random.  `big` makes a net of realistic size; otherwise it is small enough for finite
 * differences.
 */
#ifndef TESTS_OP_NETS_LAYERS_H
#define TESTS_OP_NETS_LAYERS_H

#include "op/nets.h"

/* Adds the layers of one net after node x, and returns the last. */
typedef uint32_t nets_layers(struct graph *g, struct rng *r, uint32_t x, bool big);

static uint32_t
nets_conv(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	uint32_t k = any(r, 1, big ? 40 : 4), lines = any(r, 1, 3), columns = any(r, 1, 3);
	uint32_t stride = any(r, 1, 3), across = any(r, 1, 3), pad = any(r, 0, 2), beside = any(r, 0, 2);
	uint32_t bias = any(r, 0, 1);

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

/* A grouped convolution, then a depthwise one. */
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

/* Channels that do not fill a block, between activations and pools, as in LeNet. */
static uint32_t
nets_odd(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	uint32_t k = any(r, big ? 17 : 1, big ? 25 : 3), lines = any(r, 1, 3), bias = any(r, 0, 1);
	enum graph_pool first = any(r, 0, 1) ? GRAPH_MAX : GRAPH_AVG, last = any(r, 0, 1) ? GRAPH_MAX : GRAPH_AVG;

	x = NODE(g, x, POOL, .pool = first, .r = 3, .s = 2, .stride = { 1, 2 }, .pad = { 1, 0 });
	x = NODE(g, x, ACT, .act = any(r, 0, 1) ? GRAPH_TANH : GRAPH_SIGMOID);
	x = NODE(g, x, CONV, .k = k, .r = lines, .s = 1, .stride = GRAPH_BOTH(1), .pad = { 1, 0 }, .bias = bias);
	x = NODE(g, x, ACT, .act = any(r, 0, 1) ? GRAPH_TANH : GRAPH_RELU);
	return NODE(g, x, POOL, .pool = last, .r = 2, .s = 2, .stride = GRAPH_BOTH(1));
}

/* The kernel with the most special cases in engines; Winograd's algorithm needs 32 channels. */
static uint32_t
nets_conv3x3(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	uint32_t k = any(r, big ? 24 : 1, big ? 48 : 3), bias = any(r, 0, 1);

	x = NODE(g, x, CONV, .k = k, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1), .bias = bias);
	k = any(r, big ? 24 : 1, big ? 48 : 3);
	return NODE(g, x, CONV, .k = k, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1), .bias = true);
}

/* More channels than the cpu engine walks at once. */
static uint32_t
nets_bn_wide(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	const uint32_t k = big ? any(r, 130, 150) : any(r, 2, 3);

	x = NODE(g, x, CONV, .k = k, .r = 1, .s = 1, .stride = GRAPH_BOTH(1));
	return NODE(g, BN(g, x, .fix_gamma = false), ACT, .act = big ? GRAPH_RELU : GRAPH_TANH);
}

/* Maps of at most 2x2, of whole blocks of channels, which the cpu engine multiplies as matrices. */
static uint32_t
nets_small(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	const uint32_t each = big ? 16 : 1, taps = any(r, 0, 1) ? 3 : 5, bias = any(r, 0, 1), stride = any(r, 1, 2);
	uint32_t k = each * any(r, 1, 3);

	x = NODE(g, x, CONV, .k = k, .r = 1, .s = 1, .stride = GRAPH_BOTH(1));
	x = NODE(g, x, POOL, .pool = GRAPH_AVG, .r = g->node[x].h > 1 ? g->node[x].h - 1 : 1,
	    .s = g->node[x].w > 1 ? g->node[x].w - 1 : 1, .stride = GRAPH_BOTH(1));
	k = each * any(r, 1, 3);
	x = NODE(g, x, CONV, .k = k, .r = taps, .s = taps, .stride = { 1, stride }, .pad = GRAPH_BOTH(taps / 2),
	    .bias = bias);
	x = NODE(g, x, ACT, .act = big ? GRAPH_RELU : GRAPH_TANH);
	return NODE(g, x, CONV, .k = k, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1), .bias = true);
}

static uint32_t
nets_conv5x5(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	uint32_t k = any(r, 1, big ? 24 : 3), stride = any(r, 1, 2), pad = any(r, 1, 4), bias = any(r, 0, 1);

	return NODE(g, x, CONV, .k = k, .r = 5, .s = 5, .stride = GRAPH_BOTH(stride), .pad = GRAPH_BOTH(pad),
	    .bias = bias);
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

/* Batch norm after fc: one value for each sample and channel. */
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

/* All activations without a corner, one after the other. */
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

/* Draws sizes and paddings until the input is large enough for them. */
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

/* Activations before a max pool, and after it those that overwrite their input. */
static uint32_t
nets_act_max(struct graph *g, struct rng *r, uint32_t x, bool big)
{
	static const enum graph_act acts[] = { GRAPH_TANH, GRAPH_SIGMOID, GRAPH_ELU, GRAPH_LEAKY, GRAPH_RELU };

	for (int k = 0; k < 2; k++) {
		x = NODE(g, x, CONV, .k = any(r, 1, big ? 40 : 3), .r = 1, .s = 1, .stride = GRAPH_BOTH(1),
		    .bias = true);
		x = NODE(g, x, ACT, .act = acts[any(r, 0, 4)], .alpha = between(r, -0.25f, 1));
		x = NODE(g, x, POOL, .pool = GRAPH_MAX, .r = 2, .s = 2, .stride = { 1, 2 }, .pad = { 0, 1 });
	}
	if (any(r, 0, 1))
		x = BN(g, x, .fix_gamma = false);
	return NODE(g, x, ACT, .act = GRAPH_TANH);
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

/* Sums of one, two and more inputs: shared ones, repeated ones, and ones of other layouts. */
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

/* Residual blocks with ReLU after the sum (2015) and before the convolutions (2016). */
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

/* One output with five readers, of which one is twice in the same concat. */
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

/* An output with readers of every kind and a concat, whose gradient comes first; all must be added. */
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

/* Convolution, batch norm and activation.  The small net is smooth, so that every derivative can be checked. */
static uint32_t
nets_factory(struct graph *g, struct rng *r, uint32_t x, bool big, uint32_t kernel, uint32_t stride)
{
	uint32_t k = any(r, 1, big ? 40 : 3);

	x = NODE(g, x, CONV, .k = k, .r = kernel, .s = kernel, .stride = GRAPH_BOTH(stride),
	    .pad = GRAPH_BOTH(kernel / 2), .bias = true);
	x = BN(g, x, .fix_gamma = false);
	return NODE(g, x, ACT, .act = big ? GRAPH_RELU : GRAPH_TANH);
}

/* Blocks of the inception net: 1x1 beside 3x3, then 3x3 with stride 2 beside a pool. */
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
	b = NODE(g, x, POOL, .pool = big ? GRAPH_MAX : GRAPH_AVG, .r = 3, .s = 3, .stride = GRAPH_BOTH(2),
	    .pad = GRAPH_BOTH(1));
	return CONCAT(g, a, b);
}

#endif
