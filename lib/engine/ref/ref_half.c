/*
 * ref_half - rounding to bf16 in a plan of bf16: outputs, their gradients, and the weights of products.
 *
 * An output is rounded after its layer has run; a gradient when it is complete, just before its layer runs backward.
 * Scores that only the loss reads, and probabilities, stay f32; the gradients of scores do not.
 */
#include "engine/ref/ref.h"

#include <string.h>

/* To nearest, ties to even; NaN stays NaN. */
static float
round_to_bf16(float v)
{
	uint32_t u;

	memcpy(&u, &v, sizeof(u));
	if (v != v)
		return v;
	u += 0x7fff + (u >> 16 & 1);
	u &= 0xffff0000u;
	memcpy(&v, &u, sizeof(v));
	return v;
}

void
ref_half_round(const struct engine_plan *p, const float *from, float *to, size_t n)
{
	for (size_t j = 0; j < n; j++)
		to[j] = p->bf16 ? round_to_bf16(from[j]) : from[j];
}

/* Whether node i is a convolution or fully connected layer that only the loss reads. */
static bool
is_score(const struct graph *g, uint32_t i)
{
	if ((g->node[i].op != GRAPH_CONV && g->node[i].op != GRAPH_FC) || g->node[g->n - 1].in[0] != i)
		return false;
	for (uint32_t j = i + 1; j + 1 < g->n; j++)
		for (uint32_t k = 0; k < g->node[j].nin; k++)
			if (g->node[j].in[k] == i)
				return false;
	return true;
}

void
ref_half_output(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];

	if (p->bf16 && l->op != GRAPH_SOFTMAX && !is_score(p->graph, i))
		ref_half_round(p, p->y[i], p->y[i], p->n * ref_floats(l));
}

void
ref_half_gradient(struct engine_plan *p, uint32_t i)
{
	if (p->bf16)
		ref_half_round(p, p->dy[i], p->dy[i], p->n * ref_floats(&p->graph->node[i]));
}
