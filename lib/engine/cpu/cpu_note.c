/* cpu_note - what the layers of a graph are to each other: who reads whom, what is computed with what. */
#include "engine/cpu/cpu_plan.h"

#include "net/freeze.h"

static void
learn_uses(struct cpu_planner *pl)
{
	const struct graph *g = pl->g;
	struct cpu_note *note = pl->note;

	for (uint32_t i = 0; i < g->n; i++) {
		const struct graph_node *l = &g->node[i];

		note[i].wants = (l->weight >= 0 || l->bias_at >= 0 || l->gamma >= 0 || l->beta >= 0) &&
		    !freeze_node(g, i);
		for (uint32_t k = 0; k < l->nin; k++) {
			note[l->in[k]].uses++;
			note[l->in[k]].user = i;
			note[i].wants |= note[l->in[k]].wants;
		}
	}
}

static bool
read_by_concat(const struct graph *g, uint32_t i)
{
	for (uint32_t j = i + 1; j < g->n; j++)
		for (uint32_t k = 0; g->node[j].op == GRAPH_CONCAT && k < g->node[j].nin; k++)
			if (g->node[j].in[k] == i)
				return true;
	return false;
}

/* ReLU is part of the layer before it, unless that layer cannot write into the concatenation behind it. */
static void
absorb_relu(struct cpu_planner *pl)
{
	for (uint32_t i = 1; i < pl->g->n; i++) {
		const struct graph_node *l = &pl->g->node[i], *in = &pl->g->node[l->nin > 0 ? l->in[0] : 0];

		if (l->op == GRAPH_ACT && l->act == GRAPH_RELU && pl->note[l->in[0]].uses == 1)
			pl->note[i].absorbed = in->op == GRAPH_BN || in->op == GRAPH_ADD ||
			    (cpu_plan_multiplies(in) && !read_by_concat(pl->g, i));
	}
}

/* In bf16 others than ReLU make equals of unequal numbers, of which another would be the first. */
static bool
never_falls(const struct graph_node *l, bool half)
{
	if (half)
		return l->act == GRAPH_RELU;
	return l->act == GRAPH_RELU || l->act == GRAPH_TANH || l->act == GRAPH_SIGMOID ||
	    ((l->act == GRAPH_LEAKY || l->act == GRAPH_ELU) && l->alpha >= 0);
}

/* Such an activation alone between a layer that it may write over and a maximum comes behind the maximum. */
static void
delay_acts(struct cpu_planner *pl)
{
	const struct graph *g = pl->g;

	for (uint32_t i = 1; i < g->n; i++) {
		const struct graph_node *l = &g->node[i], *in = &g->node[l->nin > 0 ? l->in[0] : 0];
		const struct cpu_note *note = &pl->note[i];

		if (l->op != GRAPH_ACT || note->absorbed || note->uses != 1 || pl->note[l->in[0]].uses != 1)
			continue;
		pl->note[i].late = never_falls(l, pl->p->bf16) && g->node[note->user].op == GRAPH_POOL &&
		    g->node[note->user].pool == GRAPH_MAX &&
		    (cpu_plan_multiplies(in) || in->op == GRAPH_BN || in->op == GRAPH_ADD);
	}
}

void
cpu_note_take(struct cpu_planner *pl)
{
	learn_uses(pl);
	absorb_relu(pl);
	delay_acts(pl);
}
