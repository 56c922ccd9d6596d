/*
 * plus_test - are sums of two layers those of ref, where the cpu engine adds while it computes one of the two?
 *
 * A 1x1 convolution adds the other layer to its output, and a batch norm's backward pass adds the gradient of a
 * shortcut.  Loss, gradients and scores are compared.
 */
#include "op/nets_compare.h"

#include "base/isa.h"
#include "net/freeze.h"

#define WIDTH	48u	/* channels, whole blocks, so that a concatenation may contain them */

enum join { PLAIN, PADDED, FROZEN, EARLIER, RELU, TANH, GELU, CONVS, SAME, LATER, WIDE, TWICE, THREE, IN_CONCAT,
	PART_IN_CONCAT, ACT_IN_CONCAT, BN_IN_CONCAT, JOINS };

static const struct {
	const char *name;
	bool	    adds;	/* the last convolution adds, with AVX-512 and in f32 */
} joins[JOINS] = {
	[PLAIN] = { "a shortcut", true },
	[PADDED] = { "a shortcut of channels that fill no block", true },
	[FROZEN] = { "a shortcut around a frozen batch norm", true },
	[EARLIER] = { "a gradient that an earlier layer reads, too", true },
	[RELU] = { "ReLU after the sum", true },
	[TANH] = { "an activation in the sum's memory", true },
	[GELU] = { "an activation that needs the sum", true },
	[CONVS] = { "the sum of two convolutions", true },
	[SAME] = { "a convolution twice in a sum", false },
	[LATER] = { "a part that is computed later", false },
	[WIDE] = { "a 3x3 convolution", false },
	[TWICE] = { "a convolution with a second reader", false },
	[THREE] = { "three parts", false },
	[IN_CONCAT] = { "a sum in a concatenation", true },
	[PART_IN_CONCAT] = { "a part in a concatenation", true },
	[ACT_IN_CONCAT] = { "an activation of a sum in a concatenation", true },
	[BN_IN_CONCAT] = { "a batch norm of a sum in a concatenation", true },
};

/* x + convolution(relu(bn(x))), or another sum. */
static uint32_t
add_unit(struct graph *g, enum join how, uint32_t x)
{
	const uint32_t a = NODE(g, BN(g, x, .fix_gamma = false), ACT, .act = GRAPH_RELU);
	const uint32_t width = how == PADDED ? 40 : WIDTH;
	uint32_t b, other = x, sum, more;

	if (how == CONVS)
		other = nets_convolve(g, a, width, 1, false);
	else if (how == PART_IN_CONCAT)
		other = NODE(g, a, ACT, .act = GRAPH_TANH);
	b = nets_convolve(g, a, width, how == WIDE ? 3 : 1, false);
	if (how == LATER)
		other = nets_convolve(g, a, width, 3, false);
	more = how == TWICE ? NODE(g, b, ACT, .act = GRAPH_TANH) : 0;
	if (how == SAME)
		other = b;
	sum = how == THREE ? ADD(g, b, other, a) : how == RELU ? ADD(g, other, b) : ADD(g, b, other);
	switch (how) {
	case EARLIER:
		return ADD(g, sum, 1);
	case RELU:
		return NODE(g, sum, ACT, .act = GRAPH_RELU);
	case TANH:
		return NODE(g, sum, ACT, .act = GRAPH_TANH);
	case GELU:
		return NODE(g, sum, ACT, .act = GRAPH_GELU);
	case TWICE:
		return ADD(g, sum, more);
	case IN_CONCAT:
		return nets_convolve(g, CONCAT(g, sum, NODE(g, sum, ACT, .act = GRAPH_TANH)), WIDTH, 3, false);
	case PART_IN_CONCAT:
		return nets_convolve(g, CONCAT(g, other, sum), WIDTH, 3, false);
	case ACT_IN_CONCAT:
		sum = NODE(g, sum, ACT, .act = GRAPH_TANH);
		return nets_convolve(g, CONCAT(g, sum, BN(g, a, .fix_gamma = true)), WIDTH, 3, false);
	case BN_IN_CONCAT:
		sum = BN(g, sum, .fix_gamma = false);
		return nets_convolve(g, CONCAT(g, sum, BN(g, a, .fix_gamma = true)), WIDTH, 3, false);
	default:
		return sum;
	}
}

static struct graph *
make_net(enum join how)
{
	const uint32_t width = how == PADDED ? 40 : WIDTH;
	struct graph *g = graph_new(3, 9, 10);
	uint32_t x;

	nets_must(g != NULL ? 0 : ERR_NOMEM);
	x = nets_convolve(g, nets_convolve(g, 0, width, 3, false), width, 3, false);
	x = add_unit(g, how, add_unit(g, how, x));
	x = NODE(g, x, FC, .k = 10, .bias = true);
	NODE(g, x, SOFTMAX, .loss = GRAPH_LOSS_SOFTMAX);
	if (how == FROZEN)
		nets_must(freeze_rules(g, "freeze:*gamma;freeze:*beta"));
	return g;
}

/* Does a step copy into a concatenation? */
static bool
copies_into_concat(const struct engine *e, const struct engine_plan *p, const struct graph *g)
{
	bool copies = false;

	for (uint32_t i = 0; i < g->n; i++) {
		char line[GRAPH_NAME + 32];

		snprintf(line, sizeof(line), "%s forward own:copy", g->node[i].name);
		copies |= g->node[i].op == GRAPH_CONCAT && nets_explains(e, p, line);
	}
	return copies;
}

static void
check_copies(const struct engine *e, const struct engine_plan *p, const struct graph *g, const char *name)
{
	ok(!copies_into_concat(e, p, g), "%s: nothing is copied", name);
}

static void
compare(const struct engine *e, struct engine_dev *dev, uint32_t how, enum engine_precision precision)
{
	const bool adds = joins[how].adds && precision == ENGINE_F32 && isa_level() >= ISA_AVX512;

	nets_compare_net(e, dev, make_net(how), precision, joins[how].name, 17, how,
	    how == RELU ? "own:point+sum+relu" : "own:point+sum", adds, how == BN_IN_CONCAT ? check_copies : NULL);
}

int
main(void)
{
	nets_compare_cases(JOINS, compare);
	return done();
}
