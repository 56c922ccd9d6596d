/*
 * ref_target - losses that compare each output with a number: sigmoid cross-entropy and squared error.
 *
 *	sigmoid:  p[k] = 1 / (1 + exp(-x[k])),  loss = mean over k of max(x[k], 0) - x[k] t[k] + log(1 + exp(-|x[k]|))
 *	          dx[k] += (p[k] - t[k]) / K
 *	          with weights w of targets of 1 (samples.h): loss also has (w[k] - 1) t[k] log(1 + exp(-x[k])),
 *	          and K dx[k] also (w[k] - 1) t[k] (p[k] - 1)
 *	squared:  p[k] = x[k],  loss = mean over k of (x[k] - t[k])^2
 *	          dx[k] += 2 (x[k] - t[k]) / K
 *
 * An output whose target is NaN, as it is not known, adds nothing to either.
 *
 * The loss of sigmoid is -t log p - (1 - t) log(1 - p) in a form that neither overflows nor rounds p to 0 or 1.
 * Source: Bishop, "Pattern Recognition and Machine Learning", 2006, 4.3.2.
 */
#include "engine/ref/ref.h"

#include <math.h>
#include <stdbool.h>

/* Computes prob [K] of one sample, and returns its loss.  *right: all outputs are on their targets' side of 1/2. */
static double
compare_targets(enum graph_loss loss, const float *x, const float *t, const float *w, float *prob, size_t n,
    bool *right)
{
	double sum = 0;

	*right = loss == GRAPH_LOSS_SIGMOID;
	for (size_t k = 0; k < n; k++) {
		double v = x[k];

		prob[k] = loss == GRAPH_LOSS_SQUARED ? x[k] : (float)(1 / (1 + exp(-v)));
		if (isnan(t[k]))
			continue;
		if (loss == GRAPH_LOSS_SQUARED) {
			sum += (v - t[k]) * (v - t[k]);
			continue;
		}
		sum += (v > 0 ? v : 0) - v * t[k] + log1p(exp(-fabs(v)));
		if (w != NULL)
			sum += ((double)w[k] - 1) * t[k] * ((v < 0 ? -v : 0) + log1p(exp(-fabs(v))));
		*right &= t[k] >= 0.5f ? prob[k] >= 0.5f : prob[k] < 0.5f;
	}
	return sum / (double)n;
}

void
ref_target_forward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	size_t n = ref_floats(l);

	for (size_t s = 0; s < p->n; s++) {
		bool right;

		p->result.loss += (double)p->mix[s].weight * compare_targets(l->loss, p->y[l->in[0]] + s * n,
		    p->target + s * n, p->positive, p->y[i] + s * n, n, &right);
		p->result.correct += right;
	}
}

void
ref_target_backward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	size_t n = ref_floats(l);
	double by = (l->loss == GRAPH_LOSS_SQUARED ? 2.0 : 1.0) / (double)n;

	for (size_t k = 0; k < p->n * n; k++) {
		double prob = p->y[i][k], t = p->target[k], d = prob - t;

		if (p->positive != NULL)
			d += ((double)p->positive[k % n] - 1) * t * (prob - 1);
		if (!isnan(t))
			p->dy[l->in[0]][k] += (float)(by * (double)p->mix[k / n].weight * d);
	}
}
