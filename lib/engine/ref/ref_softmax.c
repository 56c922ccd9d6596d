/*
 * ref_softmax - probabilities of scores, and their loss against the labels.
 *
 *	p[k] = exp(x[k] - top) / sum over j of exp(x[j] - top),  top = max x
 *	q[k] = (1 - smooth) ((1 - share) (k == label) + share (k == other)) + smooth / K
 *	loss = -sum over k of q[k] log p[k] = log(sum) + top - sum over k of q[k] x[k]
 *	dx[k] += p[k] - q[k]
 *
 * In evaluation the loss is -log p[label] without smoothing or mixing, so that the losses of different runs compare.
 *
 * Subtracting top keeps exp from overflowing, and the loss finite if p[label] underflows.  Sources: Bishop, "Pattern
 * Recognition and Machine Learning", 2006, 4.3.4; Szegedy et al., "Rethinking the Inception Architecture", CVPR 2016,
 * 7; Zhang et al., "mixup", ICLR 2018.
 */
#include "engine/ref/ref.h"
#include "engine/score.h"

#include <math.h>

/* Computes prob [K] of one sample from x [K], and returns the logarithm of the sum of exp(x). */
static double
compute_softmax(const float *x, float *prob, size_t classes)
{
	double top = x[0], sum = 0;

	for (size_t k = 1; k < classes; k++)
		if (x[k] > top)
			top = x[k];
	for (size_t k = 0; k < classes; k++)
		sum += exp(x[k] - top);
	for (size_t k = 0; k < classes; k++)
		prob[k] = (float)(exp(x[k] - top) / sum);
	return log(sum) + top;
}

/* The sum over k of q[k] x[k]. */
static double
compute_target_score(const float *x, size_t classes, size_t label, const struct samples_mix *mix, double smooth)
{
	double sum = 0, share = mix->share;

	for (size_t k = 0; k < classes; k++)
		sum += x[k];
	return (1 - smooth) * ((1 - share) * x[label] + share * x[mix->other]) + smooth * sum / (double)classes;
}

static void
ref_softmax_forward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	size_t classes = ref_floats(l);

	p->result = (struct engine_result) { 0 };
	if (l->loss != GRAPH_LOSS_SOFTMAX) {
		ref_target_forward(p, i);
		return;
	}
	for (size_t n = 0; n < p->n; n++) {
		const float *x = p->y[l->in[0]] + n * classes;
		float *prob = p->y[i] + n * classes;
		size_t label = (size_t)p->label[n], before;

		p->result.loss += (double)p->mix[n].weight * (compute_softmax(x, prob, classes) -
		    compute_target_score(x, classes, label, &p->mix[n], p->train ? l->smooth : 0));
		before = score_rank(prob, classes, label);
		p->result.correct += before == 0;
		p->result.top5 += before < ENGINE_TOP;
	}
}

static void
ref_softmax_backward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	size_t classes = ref_floats(l);
	float *dx = p->dy[l->in[0]];

	if (l->loss != GRAPH_LOSS_SOFTMAX) {
		ref_target_backward(p, i);
		return;
	}
	for (size_t n = 0; n < p->n; n++, dx += classes) {
		const struct samples_mix *mix = &p->mix[n];
		float sure = 1 - l->smooth;

		for (size_t k = 0; k < classes; k++)
			dx[k] += mix->weight * (p->y[i][n * classes + k] -
			    (k == (size_t)p->label[n] ? sure * (1 - mix->share) : 0) -
			    (k == (size_t)mix->other ? sure * mix->share : 0) - l->smooth / (float)classes);
	}
}

const struct ref_op ref_softmax = { "softmax", ref_softmax_forward, ref_softmax_backward, NULL };
