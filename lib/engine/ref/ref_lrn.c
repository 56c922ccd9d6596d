/*
 * ref_lrn - local response normalization: each value divided by the magnitude of the channels around it.
 *
 *	s[c]   = knorm + alpha / size * sum over a in around(c) of x[a]^2
 *	y[c]   = x[c] s[c]^-power
 *	dx[c] += dy[c] s[c]^-power - 2 power alpha / size x[c] sum over a, c in around(a), of dy[a] x[a] s[a]^(-power-1)
 *
 * around(c) is the channels in [c - size/2, c + (size-1)/2].  Source: Krizhevsky, Sutskever, Hinton, "ImageNet
 * Classification with Deep Convolutional Neural Networks", NIPS 2012, 3.3; alpha / size as in Caffe, MXNet and PyTorch.
 */
#include "engine/ref/ref.h"

#include <math.h>

/* One pixel of a sample; its channels are `step` floats apart. */
struct pixel {
	const struct graph_node *l;
	const float *x;
	size_t	     step;
};

static double
compute_norm(const struct pixel *v, size_t c)
{
	size_t first = c > v->l->size / 2 ? c - v->l->size / 2 : 0, last = c + (v->l->size - 1) / 2;
	double sum = 0;

	for (size_t a = first; a <= last && a < v->l->c; a++)
		sum += (double)v->x[a * v->step] * v->x[a * v->step];
	return v->l->knorm + (double)v->l->alpha / v->l->size * sum;
}

static void
ref_lrn_forward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	size_t plane = (size_t)l->h * l->w;

	for (size_t n = 0; n < p->n; n++)
		for (size_t j = 0; j < plane; j++) {
			struct pixel v = { l, p->y[l->in[0]] + n * l->c * plane + j, plane };
			float *y = p->y[i] + n * l->c * plane + j;

			for (size_t c = 0; c < l->c; c++)
				y[c * plane] = (float)(v.x[c * plane] * pow(compute_norm(&v, c), -(double)l->power));
		}
}

static void
add_pixel_gradient(const struct pixel *v, const float *dy, float *dx)
{
	const struct graph_node *l = v->l;
	size_t left = l->size / 2, right = (l->size - 1) / 2;

	for (size_t c = 0; c < l->c; c++) {
		double sum = 0;

		for (size_t a = c > right ? c - right : 0; a <= c + left && a < l->c; a++)
			sum += (double)dy[a * v->step] * v->x[a * v->step] *
			    pow(compute_norm(v, a), -(double)l->power - 1);
		dx[c * v->step] += (float)(dy[c * v->step] * pow(compute_norm(v, c), -(double)l->power) -
		    2 * (double)l->power * l->alpha / l->size * v->x[c * v->step] * sum);
	}
}

static void
ref_lrn_backward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	size_t plane = (size_t)l->h * l->w;

	for (size_t n = 0; n < p->n; n++)
		for (size_t j = 0; j < plane; j++) {
			size_t at = n * l->c * plane + j;
			struct pixel v = { l, p->y[l->in[0]] + at, plane };

			add_pixel_gradient(&v, p->dy[i] + at, p->dy[l->in[0]] + at);
		}
}

const struct ref_op ref_lrn = { "lrn", ref_lrn_forward, ref_lrn_backward, NULL };
