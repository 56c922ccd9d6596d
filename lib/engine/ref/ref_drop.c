/*
 * ref_drop - dropout: zeroes elements at random (engine/drop.h) and scales the others.
 *
 *	y = x / (1 - drop) where the element stays, else 0;  dx += dy / (1 - drop) there
 *
 * In evaluation y = x.
 */
#include "engine/drop.h"
#include "engine/ref/ref.h"

static void
ref_drop_forward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	const float *x = p->y[l->in[0]];
	float *y = p->y[i], drop = p->train ? l->drop : 0;

	for (uint32_t n = 0; n < p->n; n++) {
		uint32_t key = drop_key(&p->draw, n, i);

		for (uint32_t j = 0; j < ref_floats(l); j++, x++)
			*y++ = drop_bits(key, j) >= drop_bound(drop) ? *x / (1 - drop) : 0;
	}
}

static void
ref_drop_backward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	const float *dy = p->dy[i];
	float *dx = p->dy[l->in[0]];

	for (uint32_t n = 0; n < p->n; n++) {
		uint32_t key = drop_key(&p->draw, n, i);

		for (uint32_t j = 0; j < ref_floats(l); j++, dx++, dy++)
			if (drop_bits(key, j) >= drop_bound(l->drop))
				*dx += *dy / (1 - l->drop);
	}
}

const struct ref_op ref_dropout = { "dropout", ref_drop_forward, ref_drop_backward, NULL };
