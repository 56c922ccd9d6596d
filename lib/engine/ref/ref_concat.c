/*
 * ref_concat - inputs joined along the channels, and one input as a vector.
 *
 *	concat   y[n] = in[0][n] in[1][n] ...;  dx of each input += its part of dy
 *	flatten  y = x;  dx += dy
 */
#include "engine/ref/ref.h"

#include <string.h>

static void
ref_concat_forward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	float *y = p->y[i];

	for (size_t n = 0; n < p->n; n++)
		for (uint32_t k = 0; k < l->nin; k++) {
			size_t count = ref_floats(ref_in(p->graph, i, k));

			memcpy(y, p->y[l->in[k]] + n * count, count * sizeof(*y));
			y += count;
		}
}

static void
ref_concat_backward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	const float *dy = p->dy[i];

	for (size_t n = 0; n < p->n; n++)
		for (uint32_t k = 0; k < l->nin; k++) {
			size_t count = ref_floats(ref_in(p->graph, i, k));
			float *dx = p->dy[l->in[k]] + n * count;

			for (size_t j = 0; j < count; j++)
				dx[j] += *dy++;
		}
}

const struct ref_op ref_concat = { "concat", ref_concat_forward, ref_concat_backward, NULL };
const struct ref_op ref_flatten = { "flatten", ref_concat_forward, ref_concat_backward, NULL };
