/*
 * pooled_test - does a convolution that computes a max pool agree with ref?
 *
 * Loss, gradients and scores are compared, and the plan tells whether the convolution computes it.
 */
#include "op/nets_compare.h"

#include "engine/cpu/dnnl/dnnl.h"

enum how { PLAIN, ODD, LINE_WITHOUT_TILE, ONE_WINDOW, HALF_A_BLOCK, NORM, TANH, GELU, NO_DATA, RELU, TWICE, ROUNDED_UP,
	OVERLAP, AVERAGE, BORDER, IN_CONCAT, ACT_IN_CONCAT, HOWS };

static const struct {
	const char *name;
	uint32_t    side, k;
	bool	    joins;	/* the convolution computes the pool, in bf16 and where Winograd's algorithm has it */
} hows[HOWS] = {
	[PLAIN] = { "a pool", 12, 48, true },
	[ODD] = { "a pool whose last line is left out", 15, 48, true },
	[LINE_WITHOUT_TILE] = { "a pool whose last line is in no tile", 13, 48, true },
	[ONE_WINDOW] = { "a pool of one window", 3, 48, true },
	[HALF_A_BLOCK] = { "a pool of channels that fill no block", 11, 40, true },
	[NORM] = { "a batch norm of a pool", 15, 48, true },
	[TANH] = { "an activation in the pool's memory", 15, 48, true },
	[GELU] = { "an activation that needs the pool", 15, 48, true },
	[NO_DATA] = { "a pool of a convolution of the data", 15, 48, true },
	[RELU] = { "a pool after ReLU", 15, 48, false },
	[TWICE] = { "a convolution with a second reader", 12, 48, false },
	[ROUNDED_UP] = { "a pool with clipped windows", 15, 48, false },
	[OVERLAP] = { "a pool of 3x3", 15, 48, false },
	[AVERAGE] = { "an average", 12, 48, false },
	[BORDER] = { "a pool with a border", 12, 48, false },
	[IN_CONCAT] = { "a pool in a concatenation", 12, 48, true },
	[ACT_IN_CONCAT] = { "an activation of a pool in a concatenation", 12, 48, true },
};

static uint32_t
pool(struct graph *g, enum how how, uint32_t x)
{
	const uint32_t side = how == OVERLAP ? 3 : 2;

	return NODE(g, x, POOL, .pool = how == AVERAGE ? GRAPH_AVG : GRAPH_MAX, .r = side, .s = side,
	    .stride = GRAPH_BOTH(2), .pad = GRAPH_BOTH(how == BORDER), .ceil = how == ROUNDED_UP);
}

/* The net, except its head. */
static uint32_t
add_layers(struct graph *g, enum how how, uint32_t x)
{
	const uint32_t conv = nets_convolve(g, x, hows[how].k, 3, true);
	uint32_t y;

	y = pool(g, how, how == RELU ? NODE(g, conv, ACT, .act = GRAPH_RELU) : conv);
	switch (how) {
	case NORM:
		return BN(g, y, .fix_gamma = false);
	case TANH:
		return NODE(g, y, ACT, .act = GRAPH_TANH);
	case GELU:
		return NODE(g, y, ACT, .act = GRAPH_GELU);
	case TWICE:
		return CONCAT(g, y, pool(g, AVERAGE, conv));
	case IN_CONCAT:
		return CONCAT(g, y, BN(g, y, .fix_gamma = false));
	case ACT_IN_CONCAT:
		y = NODE(g, y, ACT, .act = GRAPH_TANH);
		return CONCAT(g, y, BN(g, y, .fix_gamma = false));
	default:
		return y;
	}
}

static struct graph *
make_net(enum how how)
{
	const uint32_t channels = how == NO_DATA ? 16 : 3;
	struct graph *g = graph_new(channels, hows[how].side, hows[how].side);
	uint32_t x;

	nets_must(g != NULL ? 0 : ERR_NOMEM);
	x = add_layers(g, how, how == NO_DATA ? 0 : nets_convolve(g, 0, 32, 3, true));
	x = NODE(g, x, FC, .k = 10, .bias = true);
	NODE(g, x, SOFTMAX, .loss = GRAPH_LOSS_SOFTMAX);
	return g;
}

static void
compare(const struct engine *e, struct engine_dev *dev, uint32_t how, enum engine_precision precision)
{
	const bool joins = hows[how].joins && precision == ENGINE_BF16 && dnnl_dev_bf16_pairs();

	nets_compare_net(e, dev, make_net(how), precision, hows[how].name, 19, how, "+maxpool", joins, NULL);
}

int
main(void)
{
	nets_compare_cases(HOWS, compare);
	return done();
}
