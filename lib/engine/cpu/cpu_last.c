/*
 * cpu_last - the convolutions of a net whose channels come last.
 *
 * Convolutions that fill their blocks badly (cpu_conv_last) do better without
 * blocks.  A copy from one layout to the other would cost what is won, so these
 * are chains: from the data, over activations and pools, which go by any block,
 * to another of them or to a full layer.
 */
#include "engine/cpu/cpu_plan.h"

/* What the first layer behind i that is neither activation nor pool is, if that alone reads i; else 0. */
static uint32_t
reader_of(const struct cpu_planner *pl, uint32_t i)
{
	do {
		if (pl->note[i].uses != 1)
			return 0;
		i = pl->note[i].user;
	} while (pl->g->node[i].op == GRAPH_ACT || pl->g->node[i].op == GRAPH_POOL);
	return i;
}

/* The first layer before i that is neither activation nor pool. */
static uint32_t
writer_of(const struct cpu_planner *pl, uint32_t i)
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

		if (g->node[i].op != GRAPH_CONV || (to = reader_of(pl, i)) == 0)
			continue;
		shape = cpu_plan_shape(pl, i);
		pl->note[i].last = cpu_conv_last(pl->p->dev->dnnl, &shape) &&
		    (pl->note[to].last || g->node[to].op == GRAPH_FLATTEN || g->node[to].op == GRAPH_FC);
	}
	for (uint32_t i = 1; i < g->n; i++) {
		uint32_t from = pl->note[i].last ? writer_of(pl, i) : 0;

		pl->note[i].last = pl->note[i].last && (from == 0 || pl->note[from].last);
	}
}
