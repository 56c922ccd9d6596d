/*
 * gelu_test - does a batch norm that computes gelu in bf16 agree with ref?
 *
 * Loss, gradients and scores are compared, and the plan tells whether the batch norm computes it.
 */
#include "op/nets_compare.h"

#include "engine/cpu/bn/bn_bf16.h"
#include "net/freeze.h"

enum how { PLAIN, WIDE, LINES, SHORTCUT, FROZEN, ONE_PIXEL, IN_CONCAT, POOLED, PART_OF_BLOCK, TWICE, OF_TANH, HOWS };

static const struct {
	const char *name;
	uint32_t    k;
	bool	    joins;	/* the batch norm computes gelu, in bf16 and with the instructions for it */
} hows[HOWS] = {
	[PLAIN] = { "a batch norm", 48, true },
	[WIDE] = { "a batch norm of many channels", 144, true },
	[LINES] = { "a batch norm of 16 channels", 16, true },
	[SHORTCUT] = { "a batch norm whose gradient has two parts", 48, true },
	[FROZEN] = { "a frozen batch norm", 48, true },
	[ONE_PIXEL] = { "a batch norm of one pixel", 48, true },
	[IN_CONCAT] = { "a batch norm in a concatenation", 48, true },
	[POOLED] = { "a batch norm of a pool", 48, true },
	[PART_OF_BLOCK] = { "a batch norm of channels that fill no block", 40, false },
	[TWICE] = { "a batch norm with a second reader", 48, false },
	[OF_TANH] = { "gelu by tanh", 48, false },
};

static uint32_t
pool(struct graph *g, uint32_t x, enum graph_pool how, uint32_t side)
{
	return NODE(g, x, POOL, .pool = how, .r = side, .s = side, .stride = GRAPH_BOTH(side));
}

/* The net, except its head. */
static uint32_t
add_layers(struct graph *g, enum how how)
{
	uint32_t x = nets_convolve(g, nets_convolve(g, 0, 32, 3, false), hows[how].k, 3, false), norm, y;

	if (how == POOLED)
		x = pool(g, x, GRAPH_MAX, 2);
	else if (how == ONE_PIXEL)
		x = pool(g, x, GRAPH_AVG, 10);
	norm = BN(g, x, .fix_gamma = false);
	y = NODE(g, norm, ACT, .act = how == OF_TANH ? GRAPH_GELU_TANH : GRAPH_GELU);
	if (how == SHORTCUT)
		return ADD(g, nets_convolve(g, y, hows[how].k, 3, false), y);
	if (how == IN_CONCAT)
		return nets_convolve(g, CONCAT(g, BN(g, y, .fix_gamma = true), y), 32, 3, false);
	return how == TWICE ? ADD(g, y, norm) : y;
}

static struct graph *
make_net(enum how how)
{
	struct graph *g = graph_new(3, 10, 10);
	uint32_t x;

	nets_must(g != NULL ? 0 : ERR_NOMEM);
	x = NODE(g, add_layers(g, how), FC, .k = 10, .bias = true);
	NODE(g, x, SOFTMAX, .loss = GRAPH_LOSS_SOFTMAX);
	if (how == FROZEN)
		nets_must(freeze_rules(g, "freeze:*gamma;freeze:*beta"));
	return g;
}

static void
compare(const struct engine *e, struct engine_dev *dev, uint32_t how, enum engine_precision precision)
{
	const bool joins = hows[how].joins && precision == ENGINE_BF16 && bn_bf16_fits_channels(16);

	nets_compare_net(e, dev, make_net(how), precision, hows[how].name, 23, how, "bn+gelu", joins, NULL);
}

int
main(void)
{
	nets_compare_cases(HOWS, compare);
	return done();
}
