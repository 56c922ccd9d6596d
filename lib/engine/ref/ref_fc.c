/*
 * ref_fc - fully connected layer: y = x w^T + bias.
 *
 *	y[n,k]   = bias[k] + sum over j of x[n,j] w[k,j]
 *	dw[k,j]  = sum over n of dy[n,k] x[n,j]
 *	dbias[k] = sum over n of dy[n,k]
 *	dx[n,j] += sum over k of dy[n,k] w[k,j]
 *
 * The layout of w is that of MXNet's FullyConnected.
 */
#include "engine/ref/ref.h"

#include <string.h>

static int
ref_fc_scratch(const struct graph *g, uint32_t i, size_t *n)
{
	*n = ref_floats(ref_in(g, i, 0));
	return 0;
}

static void
ref_fc_forward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	const float *weight = ref_array(p->graph, p->w, l->weight);
	const float *bias = ref_array(p->graph, p->w, l->bias_at);
	size_t width = ref_floats(ref_in(p->graph, i, 0));

	for (size_t n = 0; n < p->n; n++)
		for (size_t k = 0; k < l->c; k++) {
			const float *x = p->y[l->in[0]] + n * width, *w = weight + k * width;
			double sum = bias != NULL ? bias[k] : 0;

			for (size_t j = 0; j < width; j++)
				sum += (double)x[j] * w[j];
			p->y[i][n * l->c + k] = (float)sum;
		}
}

/* to[j] = sum over m of f[m * step] rows[m * width + j], m < count */
static void
add_weighted_rows(double *restrict to, size_t width, const float *f, size_t step, const float *rows, size_t count)
{
	memset(to, 0, width * sizeof(*to));
	for (size_t m = 0; m < count; m++)
		for (size_t j = 0; j < width; j++)
			to[j] += (double)f[m * step] * rows[m * width + j];
}

static void
ref_fc_backward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	const float *w = ref_array(p->graph, p->w, l->weight), *x = p->y[l->in[0]], *dy = p->dy[i];
	float *dw = ref_array(p->graph, p->g, l->weight), *dbias = ref_array(p->graph, p->g, l->bias_at);
	float *dx = p->dy[l->in[0]];
	size_t width = ref_floats(ref_in(p->graph, i, 0));

	for (size_t k = 0; k < l->c; k++) {
		double sum = 0;

		add_weighted_rows(p->scratch, width, dy + k, l->c, x, p->n);
		for (size_t j = 0; j < width; j++)
			dw[k * width + j] = (float)p->scratch[j];
		for (size_t n = 0; n < p->n; n++)
			sum += dy[n * l->c + k];
		if (dbias != NULL)
			dbias[k] = (float)sum;
	}
	for (size_t n = 0; n < p->n; n++) {
		add_weighted_rows(p->scratch, width, dy + n * l->c, 1, w, l->c);
		for (size_t j = 0; j < width; j++)
			dx[n * width + j] += (float)p->scratch[j];
	}
}

const struct ref_op ref_fc = { "fc", ref_fc_forward, ref_fc_backward, ref_fc_scratch };
