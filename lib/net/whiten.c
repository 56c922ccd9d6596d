/* whiten - a first layer initialized to whiten patches of the images. */
#include "net/whiten.h"
#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EPS	5e-4
#define PATCHES	262144	/* enough for stable eigenvectors; patches of 3x7x7 take two seconds */
#define SWEEPS	30	/* Jacobi converges quadratically: about six suffice */

bool
whiten_wanted(const struct graph *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->node[i].op == GRAPH_CONV && g->node[i].begin == GRAPH_WHITEN)
			return true;
	return false;
}

/* Adds p p^T of the patch at (h,w) of one image to the upper half of e [d,d]; p [d] is scratch memory. */
static void
add_patch(const struct graph_node *l, const struct graph_node *in, const float *x, size_t h, size_t w, double *p,
    double *e)
{
	size_t d = 0;

	for (size_t c = 0; c < in->c; c++)
		for (size_t r = 0; r < l->r; r++)
			for (size_t s = 0; s < l->s; s++)
				p[d++] = x[(c * in->h + h + r) * in->w + w + s];
	for (size_t i = 0; i < d; i++)
		for (size_t j = i; j < d; j++)
			e[i * d + j] += p[i] * p[j];
}

/* Rotates rows and columns p and q of e, and columns p and q of v, so that e[p,q] becomes 0. */
static void
rotate_eigenpair(double *e, double *v, size_t d, size_t p, size_t q)
{
	double theta = (e[q * d + q] - e[p * d + p]) / (2 * e[p * d + q]);
	double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1), s = t * c;

	for (size_t k = 0; k < d; k++) {
		double a = e[k * d + p], b = e[k * d + q];

		e[k * d + p] = c * a - s * b;
		e[k * d + q] = s * a + c * b;
	}
	for (size_t k = 0; k < d; k++) {
		double a = e[p * d + k], b = e[q * d + k];

		e[p * d + k] = c * a - s * b;
		e[q * d + k] = s * a + c * b;
		a = v[k * d + p];
		b = v[k * d + q];
		v[k * d + p] = c * a - s * b;
		v[k * d + q] = s * a + c * b;
	}
}

/* Makes the symmetric e [d,d] diagonal and sets v [d,d] to the eigenvectors, as columns. */
static void
diagonalize_symmetric(double *e, double *v, size_t d)
{
	memset(v, 0, d * d * sizeof(*v));
	for (size_t i = 0; i < d; i++)
		v[i * d + i] = 1;
	for (int sweep = 0; sweep < SWEEPS; sweep++)
		for (size_t p = 0; p < d; p++)
			for (size_t q = p + 1; q < d; q++)
				if (fabs(e[p * d + q]) > 1e-15 * sqrt(fabs(e[p * d + p] * e[q * d + q])))
					rotate_eigenpair(e, v, d, p, q);
}

/* Writes the filters in the order of falling eigenvalues; overwrites e's diagonal. */
static void
write_filters(double *e, const double *v, size_t d, size_t k, float *w)
{
	for (size_t i = 0; i < d && i < k; i++) {
		size_t best = 0;
		double scale;

		for (size_t j = 1; j < d; j++)
			if (e[j * d + j] > e[best * d + best])
				best = j;
		scale = 1 / sqrt(fmax(e[best * d + best], 0) + EPS);
		e[best * d + best] = -INFINITY;
		for (size_t j = 0; j < d; j++) {
			w[i * d + j] = (float)(v[j * d + best] * scale);
			if (d + i < k)
				w[(d + i) * d + j] = -w[i * d + j];
		}
	}
}

static int
whiten_conv(const struct graph *g, const struct graph_node *l, const float *x, uint32_t n, float *w)
{
	const struct graph_node *in = &g->node[0];
	size_t d = (size_t)in->c * l->r * l->s;
	double *e = calloc(2 * d * d + d, sizeof(*e)), *v = e + d * d, count = 0;

	if (e == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < n && count < PATCHES; i++, x += (size_t)in->c * in->h * in->w)
		for (size_t h = 0; h + l->r <= in->h; h++)
			for (size_t j = 0; j + l->s <= in->w; j++, count++)
				add_patch(l, in, x, h, j, v + d * d, e);
	for (size_t i = 0; i < d && count > 0; i++)
		for (size_t j = i; j < d; j++)
			e[j * d + i] = e[i * d + j] /= count;
	if (count > 0) {
		diagonalize_symmetric(e, v, d);
		write_filters(e, v, d, l->k, w + g->w[l->weight].first);
	}
	free(e);
	return 0;
}

int
whiten_weights(const struct graph *g, const float *x, uint32_t n, float *w)
{
	int e = 0;

	for (uint32_t i = 0; i < g->n && e == 0; i++)
		if (g->node[i].op == GRAPH_CONV && g->node[i].begin == GRAPH_WHITEN)
			e = whiten_conv(g, &g->node[i], x, n, w);
	return e;
}
