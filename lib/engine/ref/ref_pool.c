/*
 * ref_pool - maximum or average of windows.
 *
 * The window of output i begins at row i*stride - pad and has r rows; columns alike.  The part outside the image is cut
 * off.
 *
 *	max  y = the largest value, and its dx += dy.  The first of equal values counts, row by row.  NaN is above all
 *	     numbers, as in PyTorch.
 *	avg  y = sum / d, and dx += dy / d in the window.  d is r s, or the size of the window within the padded image,
 *	     or within the image.
 *
 * op_shape() makes sure that each window has a part in the image.  Sources: MXNet, src/operator/pooling-inl.h and
 * mshadow, extension/spatial_pool.h (r s); PyTorch, AvgPool2d with count_include_pad true and false.
 */
#include "engine/ref/ref.h"

#include <math.h>

struct window {
	size_t h0, h1, w0, w1;	/* rows [h0, h1), columns [w0, w1); at least one of each */
};

/* The part of [at - pad, at - pad + size) within [0, limit). */
static void
cut_window(size_t at, size_t pad, size_t size, size_t limit, size_t *from, size_t *to)
{
	*from = at > pad ? at - pad : 0;
	*to = at + size - pad;	/* pad < size */
	if (*to > limit)
		*to = limit;
}

static struct window
find_pool_window(const struct graph_node *l, const struct graph_node *in, size_t i, size_t j)
{
	struct window v;

	cut_window(i * l->stride[0], l->pad[0], l->r, in->h, &v.h0, &v.h1);
	cut_window(j * l->stride[1], l->pad[1], l->s, in->w, &v.w0, &v.w1);
	return v;
}

/* The length of a window that begins at `at` of a padded side. */
static size_t
count_padded_length(size_t at, size_t size, size_t side, size_t pad)
{
	return at + size < side + 2 * pad ? size : side + 2 * pad - at;
}

/* The divisor of the average of window v at output (i,j). */
static double
average_divisor(const struct graph_node *l, const struct graph_node *in, size_t i, size_t j, struct window v)
{
	switch (l->divide) {
	case GRAPH_WINDOW:
		return (double)l->r * l->s;
	case GRAPH_PADDED:
		return (double)count_padded_length(i * l->stride[0], l->r, in->h, l->pad[0]) *
		    (double)count_padded_length(j * l->stride[1], l->s, in->w, l->pad[1]);
	default:
		return (double)(v.h1 - v.h0) * (double)(v.w1 - v.w0);
	}
}

/* The place in x [H,W] of the window's largest value. */
static size_t
find_largest(struct window v, const float *x, size_t width)
{
	size_t best = v.h0 * width + v.w0;

	for (size_t h = v.h0; h < v.h1; h++)
		for (size_t w = v.w0; w < v.w1; w++)
			if (x[h * width + w] > x[best] || isnan(x[h * width + w]))
				best = h * width + w;
	return best;
}

static double
sum_window(struct window v, const float *x, size_t width)
{
	double t = 0;

	for (size_t h = v.h0; h < v.h1; h++)
		for (size_t w = v.w0; w < v.w1; w++)
			t += x[h * width + w];
	return t;
}

static void
ref_pool_forward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i], *in = ref_in(p->graph, i, 0);
	const float *x = p->y[l->in[0]];
	float *y = p->y[i];

	for (size_t plane = 0; plane < (size_t)p->n * l->c; plane++, x += (size_t)in->h * in->w)
		for (size_t h = 0; h < l->h; h++)
			for (size_t w = 0; w < l->w; w++) {
				struct window v = find_pool_window(l, in, h, w);

				if (l->pool == GRAPH_AVG)
					*y++ = (float)(sum_window(v, x, in->w) / average_divisor(l, in, h, w, v));
				else
					*y++ = x[find_largest(v, x, in->w)];
			}
}

static void
spread_gradient(struct window v, float *dx, size_t width, float share)
{
	for (size_t h = v.h0; h < v.h1; h++)
		for (size_t w = v.w0; w < v.w1; w++)
			dx[h * width + w] += share;
}

static void
ref_pool_backward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i], *in = ref_in(p->graph, i, 0);
	size_t plane = (size_t)in->h * in->w;
	const float *x = p->y[l->in[0]], *dy = p->dy[i];
	float *dx = p->dy[l->in[0]];

	for (size_t k = 0; k < (size_t)p->n * l->c; k++, x += plane, dx += plane)
		for (size_t h = 0; h < l->h; h++)
			for (size_t w = 0; w < l->w; w++, dy++) {
				struct window v = find_pool_window(l, in, h, w);

				if (l->pool == GRAPH_AVG)
					spread_gradient(v, dx, in->w, (float)(*dy / average_divisor(l, in, h, w, v)));
				else
					dx[find_largest(v, x, in->w)] += *dy;
			}
}

const struct ref_op ref_pool = { "pool", ref_pool_forward, ref_pool_backward, NULL };
