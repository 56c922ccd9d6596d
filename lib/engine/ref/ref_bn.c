/*
 * ref_bn - batch norm: shifts and scales each channel to mean beta and standard deviation gamma.
 *
 * In training, over the m = N*H*W values of a channel:
 *
 *	mean   = sum x / m;  var = sum (x - mean)^2 / m
 *	z      = (x - mean) / sqrt(var + eps);  y = gamma z + beta
 *	dbeta  = sum dy;  dgamma = sum dy z
 *	dx    += gamma / sqrt(var + eps) (dy - dbeta / m - z dgamma / m)
 *
 * In evaluation, and in a frozen layer, mean and var are the running ones, and dx += gamma / sqrt(var + eps) dy.  With
 * fix_gamma, gamma is 1 whatever was loaded, and its gradient is 0.
 * Source: Ioffe, Szegedy, "Batch Normalization", ICML 2015, algorithm 1 and section 3.
 */
#include "engine/ref/ref.h"
#include "net/freeze.h"

#include <math.h>

struct channel {
	uint32_t n;		/* samples */
	size_t	 plane, step;	/* values in a sample; distance of samples */
	double	 mean, rstd, gamma, beta;
};

static void
measure_channel(const struct channel *ch, const float *x, double *mean, double *var)
{
	double sum = 0, squares = 0, m = (double)ch->n * (double)ch->plane;

	for (size_t n = 0; n < ch->n; n++)
		for (size_t j = 0; j < ch->plane; j++)
			sum += x[n * ch->step + j];
	*mean = sum / m;
	for (size_t n = 0; n < ch->n; n++)
		for (size_t j = 0; j < ch->plane; j++) {
			double d = x[n * ch->step + j] - *mean;

			squares += d * d;
		}
	*var = squares / m;
}

/* Channel c with the statistics in p->stat. */
static struct channel
describe_channel(const struct engine_plan *p, uint32_t i, size_t c)
{
	const struct graph *g = p->graph;
	const struct graph_node *l = &g->node[i];
	size_t plane = (size_t)l->h * l->w;

	return (struct channel) {
		.n = p->n, .plane = plane, .step = l->c * plane,
		.mean = p->stat[g->aux[l->mean].first + c],
		.rstd = 1 / sqrt(p->stat[g->aux[l->var].first + c] + (double)l->eps),
		.gamma = l->fix_gamma ? 1 : ref_array(g, p->w, l->gamma)[c],
		.beta = ref_array(g, p->w, l->beta)[c],
	};
}

static void
ref_bn_forward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	size_t mean = p->graph->aux[l->mean].first, var = p->graph->aux[l->var].first;

	for (size_t c = 0; c < l->c; c++) {
		size_t plane = (size_t)l->h * l->w;
		struct channel ch = { .n = p->n, .plane = plane, .step = l->c * plane };
		const float *x = p->y[l->in[0]] + c * plane;
		float *y = p->y[i] + c * plane;

		if (p->train && !freeze_node(p->graph, i)) {
			measure_channel(&ch, x, &p->stat[mean + c], &p->stat[var + c]);
		} else {
			p->stat[mean + c] = p->aux[mean + c];
			p->stat[var + c] = p->aux[var + c];
		}
		ch = describe_channel(p, i, c);
		for (size_t n = 0; n < ch.n; n++)
			for (size_t j = n * ch.step; j < n * ch.step + plane; j++)
				y[j] = (float)(ch.gamma * (x[j] - ch.mean) * ch.rstd + ch.beta);
	}
}

static void
ref_bn_backward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	float *gamma = ref_array(p->graph, p->g, l->gamma), *beta = ref_array(p->graph, p->g, l->beta);
	bool constant = freeze_node(p->graph, i);

	for (size_t c = 0; c < l->c; c++) {
		struct channel ch = describe_channel(p, i, c);
		const float *x = p->y[l->in[0]] + c * ch.plane, *dy = p->dy[i] + c * ch.plane;
		float *dx = p->dy[l->in[0]] + c * ch.plane;
		double m = (double)ch.n * (double)ch.plane, dgamma = 0, dbeta = 0;

		for (size_t n = 0; n < ch.n; n++)
			for (size_t j = n * ch.step; j < n * ch.step + ch.plane; j++) {
				dbeta += dy[j];
				dgamma += dy[j] * (x[j] - ch.mean) * ch.rstd;
			}
		for (size_t n = 0; n < ch.n; n++)
			for (size_t j = n * ch.step; j < n * ch.step + ch.plane; j++) {
				double z = (x[j] - ch.mean) * ch.rstd;

				dx[j] += (float)(ch.gamma * ch.rstd *
				    (constant ? dy[j] : dy[j] - dbeta / m - z * dgamma / m));
			}
		gamma[c] = l->fix_gamma ? 0 : (float)dgamma;
		beta[c] = (float)dbeta;
	}
}

const struct ref_op ref_bn = { "bn", ref_bn_forward, ref_bn_backward, NULL };
