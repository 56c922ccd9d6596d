/*
 * cpu_last - chooses the convolutions that have their channels last.
 *
 * Convolutions whose channels fill their blocks badly (cpu_conv_last) are faster without blocks, but converting the
 * layout would cost what this saves.  They are therefore chosen in chains: from the data, through activations and
 * pools, which work on any block, to another such convolution or to a fully connected layer.
 */
#include "engine/cpu/cpu_plan.h"

/* The first layer after i that is neither activation nor pool, if all between have one reader; else 0. */
static uint32_t
find_reader(const struct cpu_planner *pl, uint32_t i)
{
	do {
		if (pl->note[i].readers != 1)
			return 0;
		i = pl->note[i].reader;
	} while (pl->g->node[i].op == GRAPH_ACT || pl->g->node[i].op == GRAPH_POOL);
	return i;
}

/* The first layer before i that is neither activation nor pool. */
static uint32_t
find_writer(const struct cpu_planner *pl, uint32_t i)
{
	do
		i = pl->g->node[i].in[0];
	while (pl->g->node[i].op == GRAPH_ACT || pl->g->node[i].op == GRAPH_POOL);
	return i;
}

void
cpu_last_choose(struct cpu_planner *pl)
{
	const struct graph *g = pl->g;

	for (uint32_t i = g->n; i-- > 1;) {
		struct dnnl_shape shape;
		uint32_t to;

		if (g->node[i].op != GRAPH_CONV || (to = find_reader(pl, i)) == 0)
			continue;
		shape = cpu_plan_shape(pl, i);
		pl->note[i].channels_last = cpu_conv_last(&shape) &&
		    (pl->note[to].channels_last || g->node[to].op == GRAPH_FLATTEN || g->node[to].op == GRAPH_FC);
	}
	for (uint32_t i = 1; i < g->n; i++) {
		uint32_t from = pl->note[i].channels_last ? find_writer(pl, i) : 0;

		pl->note[i].channels_last = pl->note[i].channels_last && (from == 0 || pl->note[from].channels_last);
	}
}
