/*
 * ref_conv - convolution.
 *
 *	y[n,k,i,j]   = bias[k] + sum over c,r,s of w[k,c,r,s] x[n,c,i*t+r*d,j*t+s*d]
 *	dw[k,c,r,s]  = sum over n,i,j of dy[n,k,i,j] x[n,c,i*t+r*d,j*t+s*d]
 *	dbias[k]     = sum over n,i,j of dy[n,k,i,j]
 *	dx[n,c,a,b] += sum over k,i,j,r,s with i*t+r*d = a, j*t+s*d = b of w[k,c,r,s] dy[n,k,i,j]
 *
 * t is the stride and d the dilation, each with one value for rows and one for columns.  x has a border of pad zeros;
 * the border of dx is dropped.  With groups, c counts the channels of the group of k from the group's first channel.
 * Source: Dumoulin, Visin, "A guide to convolution arithmetic for deep learning", 2016, and the chain rule.
 */
#include "engine/ref/ref.h"

#include "base/err.h"
#include "base/num.h"

#include <string.h>

/* A layer's sizes, and its parts of the scratch memory. */
struct conv {
	const struct graph_node *l;
	size_t	 c, h, w;	/* input */
	size_t	 each;		/* input channels of a group */
	size_t	 hp, wp;	/* input with its border */
	double	*xp, *dxp;	/* [C,hp,wp] x and dx of one sample, with borders */
	double	*dw;		/* [K,C,R,S] */
	double	*row;		/* [w of the output] */
};

static int
ref_conv_scratch(const struct graph *g, uint32_t i, size_t *n)
{
	const struct graph_node *l = &g->node[i], *in = ref_in(g, i, 0);
	size_t plane = (size_t)(in->h + 2 * l->pad[0]) * (in->w + 2 * l->pad[1]);

	/* A border may be far larger than the image.  Twice the need must fit, so the sums below cannot wrap. */
	if (num_mul(in->c, 4 * plane, n) < 0)
		return ERR_LIMIT;
	*n = *n / 2 + g->w[l->weight].count + l->w;
	return 0;
}

static struct conv
start_conv(const struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i], *in = ref_in(p->graph, i, 0);
	struct conv v = { .l = l, .c = in->c, .h = in->h, .w = in->w };

	v.each = v.c / l->groups;
	v.hp = v.h + 2 * l->pad[0];
	v.wp = v.w + 2 * l->pad[1];
	v.xp = p->scratch;
	v.dxp = v.xp + v.c * v.hp * v.wp;
	v.dw = v.dxp + v.c * v.hp * v.wp;
	v.row = v.dw + p->graph->w[l->weight].count;
	return v;
}

/* Copies x [C,H,W] into xp, with zeros around it. */
static void
widen_input(const struct conv *v, const float *x)
{
	memset(v->xp, 0, v->c * v->hp * v->wp * sizeof(*v->xp));
	for (size_t c = 0; c < v->c; c++)
		for (size_t h = 0; h < v->h; h++) {
			double *to = v->xp + (c * v->hp + h + v->l->pad[0]) * v->wp + v->l->pad[1];

			for (size_t w = 0; w < v->w; w++)
				to[w] = *x++;
		}
}

/* Adds dxp without its border to dx [C,H,W]. */
static void
add_narrowed(const struct conv *v, float *dx)
{
	for (size_t c = 0; c < v->c; c++)
		for (size_t h = 0; h < v->h; h++) {
			const double *from = v->dxp + (c * v->hp + h + v->l->pad[0]) * v->wp + v->l->pad[1];

			for (size_t w = 0; w < v->w; w++)
				*dx++ += (float)from[w];
		}
}

/* The first input channel of the group of output channel k. */
static size_t
find_first_channel(const struct conv *v, size_t k)
{
	return k / (v->l->k / v->l->groups) * v->each;
}

/* The element of xp or dxp that tap (r,s) of channel c multiplies for the first output. */
static double *
get_tap(const struct conv *v, double *xp, size_t c, size_t r, size_t s)
{
	return xp + (c * v->hp + r * v->l->dilate[0]) * v->wp + s * v->l->dilate[1];
}

/* Computes row i of channel k of y. */
static void
forward_row(const struct conv *v, const float *weight, double bias, size_t k, size_t i, float *y)
{
	const struct graph_node *l = v->l;
	const float *w = weight + k * v->each * l->r * l->s;
	double *restrict row = v->row;

	for (size_t j = 0; j < l->w; j++)
		row[j] = bias;
	for (size_t c = find_first_channel(v, k); c < find_first_channel(v, k) + v->each; c++)
		for (size_t r = 0; r < l->r; r++)
			for (size_t s = 0; s < l->s; s++) {
				const double *x = get_tap(v, v->xp, c, r, s) + i * l->stride[0] * v->wp;
				double f = *w++;

				for (size_t j = 0; j < l->w; j++)
					row[j] += f * x[j * l->stride[1]];
			}
	for (size_t j = 0; j < l->w; j++)
		y[j] = (float)row[j];
}

static void
ref_conv_forward(struct engine_plan *p, uint32_t i)
{
	struct conv v = start_conv(p, i);
	const float *weight = ref_array(p->graph, p->w, v.l->weight);
	const float *bias = ref_array(p->graph, p->w, v.l->bias_at);
	const float *x = p->y[v.l->in[0]];
	float *y = p->y[i];

	for (uint32_t n = 0; n < p->n; n++, x += v.c * v.h * v.w) {
		widen_input(&v, x);
		for (size_t k = 0; k < v.l->c; k++)
			for (size_t h = 0; h < v.l->h; h++, y += v.l->w)
				forward_row(&v, weight, bias != NULL ? bias[k] : 0, k, h, y);
	}
}

/* Sets dxp from dy [K,h,w]. */
static void
backward_data(const struct conv *v, const float *weight, const float *dy)
{
	const struct graph_node *l = v->l;

	memset(v->dxp, 0, v->c * v->hp * v->wp * sizeof(*v->dxp));
	for (size_t k = 0; k < l->c; k++)
		for (size_t i = 0; i < l->h; i++, dy += l->w) {
			const float *w = weight + k * v->each * l->r * l->s;

			for (size_t c = find_first_channel(v, k); c < find_first_channel(v, k) + v->each; c++)
				for (size_t r = 0; r < l->r; r++)
					for (size_t s = 0; s < l->s; s++) {
						double *dx = get_tap(v, v->dxp, c, r, s) + i * l->stride[0] * v->wp;
						double f = *w++;

						for (size_t j = 0; j < l->w; j++)
							dx[j * l->stride[1]] += f * dy[j];
					}
		}
}

/* The gradient of one weight from one sample.  Columns are summed first, so that the compiler can vectorize. */
static double
backward_tap(const struct conv *v, const double *x, const float *dy)
{
	const struct graph_node *l = v->l;
	double *restrict row = v->row;
	double sum = 0;

	memset(row, 0, l->w * sizeof(*row));
	for (size_t i = 0; i < l->h; i++, dy += l->w, x += l->stride[0] * v->wp)
		for (size_t j = 0; j < l->w; j++)
			row[j] += dy[j] * x[j * l->stride[1]];
	for (size_t j = 0; j < l->w; j++)
		sum += row[j];
	return sum;
}

/* Adds the part of dy [K,h,w] to dw. */
static void
backward_weight(const struct conv *v, const float *dy)
{
	const struct graph_node *l = v->l;
	double *dw = v->dw;

	for (size_t k = 0; k < l->c; k++, dy += (size_t)l->h * l->w)
		for (size_t c = find_first_channel(v, k); c < find_first_channel(v, k) + v->each; c++)
			for (size_t r = 0; r < l->r; r++)
				for (size_t s = 0; s < l->s; s++)
					*dw++ += backward_tap(v, get_tap(v, v->xp, c, r, s), dy);
}

static void
backward_bias(const struct conv *v, uint32_t n, const float *dy, float *dbias)
{
	size_t plane = (size_t)v->l->h * v->l->w;

	for (size_t k = 0; k < v->l->c; k++) {
		double sum = 0;

		for (size_t m = 0; m < n; m++)
			for (size_t j = 0; j < plane; j++)
				sum += dy[(m * v->l->c + k) * plane + j];
		dbias[k] = (float)sum;
	}
}

static void
ref_conv_backward(struct engine_plan *p, uint32_t i)
{
	struct conv v = start_conv(p, i);
	const struct graph_array *a = &p->graph->w[v.l->weight];
	const float *x = p->y[v.l->in[0]], *dy = p->dy[i];
	float *dx = p->dy[v.l->in[0]];

	memset(v.dw, 0, a->count * sizeof(*v.dw));
	for (uint32_t n = 0; n < p->n; n++) {
		widen_input(&v, x + n * v.c * v.h * v.w);
		backward_weight(&v, dy + n * ref_floats(v.l));
		backward_data(&v, p->w + a->first, dy + n * ref_floats(v.l));
		add_narrowed(&v, dx + n * v.c * v.h * v.w);
	}
	for (size_t j = 0; j < a->count; j++)
		p->g[a->first + j] = (float)v.dw[j];
	if (v.l->bias_at >= 0)
		backward_bias(&v, p->n, dy, ref_array(p->graph, p->g, v.l->bias_at));
}

const struct ref_op ref_conv = { "conv", ref_conv_forward, ref_conv_backward, ref_conv_scratch };
