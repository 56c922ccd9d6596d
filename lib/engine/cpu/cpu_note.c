/* cpu_note - notes which layers read each other, and which activations other layers compute. */
#include "engine/cpu/bn/bn_bf16.h"
#include "engine/cpu/cpu_plan.h"

#include "net/freeze.h"

static void
count_readers(struct cpu_planner *pl)
{
	const struct graph *g = pl->g;
	struct cpu_note *note = pl->note;

	for (uint32_t i = 0; i < g->n; i++) {
		const struct graph_node *l = &g->node[i];
		uint32_t end;

		note[i].needs_grad = graph_learned(l, &end) < end && !freeze_node(g, i);
		for (uint32_t k = 0; k < l->nin; k++) {
			note[l->in[k]].readers++;
			note[l->in[k]].reader = i;
			note[i].needs_grad |= note[l->in[k]].needs_grad;
		}
	}
}

/* A batch norm of samples, whose gamma is fixed, needs no more than the sum of its gradient. */
static void
find_beta_only(struct cpu_planner *pl)
{
	for (uint32_t i = 1; i < pl->g->n; i++) {
		const struct graph_node *l = &pl->g->node[i];
		struct cpu_note *note = &pl->note[i];

		note->beta_only = l->op == GRAPH_BN && l->fix_gamma && note->needs_grad &&
		    !pl->note[l->in[0]].needs_grad && note->readers == 1 &&
		    cpu_beta_fits(&pl->g->node[note->reader]) && !freeze_node(pl->g, note->reader);
		if (note->beta_only)
			note->needs_grad = false;
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

/* Can batch norm `in` compute gelu? */
static bool
computes_gelu(const struct cpu_planner *pl, const struct graph_node *in)
{
	return in->op == GRAPH_BN && pl->p->bf16 && bn_bf16_fits_channels(in->c);
}

/*
 * ReLU is part of the layer before it, unless that layer cannot write into the concatenation that follows.  In
 * bf16 a batch norm computes the gelu that follows it.
 */
static void
absorb_acts(struct cpu_planner *pl)
{
	for (uint32_t i = 1; i < pl->g->n; i++) {
		const struct graph_node *l = &pl->g->node[i], *in = &pl->g->node[l->nin > 0 ? l->in[0] : 0];

		if (l->op != GRAPH_ACT || pl->note[l->in[0]].readers != 1)
			continue;
		if (l->act == GRAPH_GELU)
			pl->note[i].absorbed = computes_gelu(pl, in);
		else if (l->act == GRAPH_RELU)
			pl->note[i].absorbed = in->op == GRAPH_BN || in->op == GRAPH_ADD ||
			    (cpu_plan_is_conv(in) && !read_by_concat(pl->g, i));
	}
}

/*
 * Is the activation f monotonic?  In bf16 only ReLU counts: others round unequal values to equal ones, so the maximum
 * of f(x) could be at another index than that of x.
 */
static bool
is_monotonic(const struct graph_node *l, bool bf16)
{
	if (bf16)
		return l->act == GRAPH_RELU;
	return l->act == GRAPH_RELU || l->act == GRAPH_TANH || l->act == GRAPH_SIGMOID ||
	    ((l->act == GRAPH_LEAKY || l->act == GRAPH_ELU) && l->alpha >= 0);
}

/* Delays monotonic activations between a max pool and a layer whose output they may overwrite. */
static void
delay_acts(struct cpu_planner *pl)
{
	const struct graph *g = pl->g;

	for (uint32_t i = 1; i < g->n; i++) {
		const struct graph_node *l = &g->node[i], *in = &g->node[l->nin > 0 ? l->in[0] : 0];
		const struct cpu_note *note = &pl->note[i];

		if (l->op != GRAPH_ACT || note->absorbed || note->readers != 1 || pl->note[l->in[0]].readers != 1)
			continue;
		pl->note[i].delayed = is_monotonic(l, pl->p->bf16) && g->node[note->reader].op == GRAPH_POOL &&
		    g->node[note->reader].pool == GRAPH_MAX &&
		    (cpu_plan_is_conv(in) || in->op == GRAPH_BN || in->op == GRAPH_ADD);
	}
}

void
cpu_note_fill(struct cpu_planner *pl)
{
	count_readers(pl);
	find_beta_only(pl);
	absorb_acts(pl);
	delay_acts(pl);
}
