/*
 * ref_pad - a border around an image.
 *
 *	y[i,j] = x[i - pad[0], j - pad[1]] inside; in the border 0 or, if reflected, x mirrored at its outermost row
 *	or column
 *	dx += dy of each place that shows x
 */
#include "engine/ref/ref.h"

/* The place in x of place i of a padded side; -1: zero. */
static ptrdiff_t
pad_source(size_t i, size_t pad, size_t size, bool reflect)
{
	ptrdiff_t at = (ptrdiff_t)i - (ptrdiff_t)pad, end = (ptrdiff_t)size - 1;

	if (at >= 0 && at <= end)
		return at;
	return !reflect ? -1 : at < 0 ? -at : 2 * end - at;
}

static void
run_pad_layer(struct engine_plan *p, uint32_t i, bool back)
{
	const struct graph_node *l = &p->graph->node[i], *in = ref_in(p->graph, i, 0);
	const float *x = p->y[l->in[0]];
	float *y = p->y[i], *dy = p->dy[i], *dx = p->dy[l->in[0]];

	for (size_t plane = 0; plane < (size_t)p->n * l->c; plane++)
		for (size_t h = 0; h < l->h; h++)
			for (size_t w = 0; w < l->w; w++, y++, dy++) {
				ptrdiff_t a = pad_source(h, l->pad[0], in->h, l->reflect),
				    b = pad_source(w, l->pad[1], in->w, l->reflect);
				size_t at = plane * in->h * in->w + (size_t)a * in->w + (size_t)b;
				bool inside = a >= 0 && b >= 0;

				if (!back)
					*y = inside ? x[at] : 0;
				else if (inside)
					dx[at] += *dy;
			}
}

static void
ref_pad_forward(struct engine_plan *p, uint32_t i)
{
	run_pad_layer(p, i, false);
}

static void
ref_pad_backward(struct engine_plan *p, uint32_t i)
{
	run_pad_layer(p, i, true);
}

const struct ref_op ref_pad = { "pad", ref_pad_forward, ref_pad_backward, NULL };
