/*
 * cpu_head - the loss and its gradient: softmax with cross-entropy, or each output compared with its target.
 *
 *	p[k] = exp(x[k] - top) / sum over j of exp(x[j] - top),  top = max x
 *	q[k] = (1 - smooth) ((1 - share) (k == label) + share (k == other)) + smooth / K
 *	loss = weight (log(sum) + top - sum over k of q[k] x[k]);  dx[k] = weight (p[k] - q[k])
 *
 * Subtracting top keeps exp from overflowing.  ref_target.c has the formulas of the other losses.  One thread is enough
 * for the few scores of a batch.
 */
#include "engine/cpu/cpu.h"
#include "engine/score.h"

#include <math.h>

/* Returns the loss of one sample. */
static double
compute_sample_loss(const float *restrict x, float *restrict p, size_t classes, size_t label,
    const struct samples_mix *mix, double smooth)
{
	float top = x[0];
	double sum = 0, all = 0, share = mix->share;

	for (size_t k = 1; k < classes; k++)
		top = x[k] > top ? x[k] : top;
	for (size_t k = 0; k < classes; k++) {
		p[k] = expf(x[k] - top);
		sum += p[k];
		all += x[k];
	}
	for (size_t k = 0; k < classes; k++)
		p[k] = (float)(p[k] / sum);
	return log(sum) + top - (1 - smooth) * ((1 - share) * x[label] + share * x[mix->other]) -
	    smooth * all / (double)classes;
}

void
cpu_head_forward(const struct cpu_view *x, const struct cpu_view *prob, const int32_t *label,
    const struct samples_mix *mix, float smooth, uint32_t n, struct engine_result *result)
{
	*result = (struct engine_result) { 0 };
	for (size_t i = 0; i < n; i++) {
		float *p = cpu_at(prob, i, 0);
		size_t before;

		result->loss += (double)mix[i].weight *
		    compute_sample_loss(cpu_at(x, i, 0), p, x->c, (size_t)label[i], &mix[i], smooth);
		before = score_rank(p, x->c, (size_t)label[i]);
		result->correct += before == 0;
		result->top5 += before < ENGINE_TOP;
	}
}

void
cpu_head_backward(const struct cpu_view *prob, const int32_t *label, const struct samples_mix *mix, float smooth,
    uint32_t n)
{
	for (size_t i = 0; i < n; i++) {
		float *p = cpu_at(prob, i, 0);

		for (size_t k = 0; smooth > 0 && k < prob->c; k++)
			p[k] -= smooth / (float)prob->c;
		p[label[i]] -= (1 - smooth) * (1 - mix[i].share);
		p[mix[i].other] -= (1 - smooth) * mix[i].share;
		for (size_t k = 0; mix[i].weight != 1 && k < prob->c; k++)
			p[k] *= mix[i].weight;
	}
}

/* What a weight of the loss by targets of 1 adds for one output. */
static float
add_positive(float weight, float x, float t)
{
	return (weight - 1) * t * (fmaxf(-x, 0) + log1pf(expf(-fabsf(x))));
}

/* Returns the loss of one sample.  *right: all outputs with a target are on its side of 1/2. */
static double
compute_outputs_loss(enum graph_loss loss, const float *restrict x, const float *restrict t, const float *positive,
    float *restrict p, size_t n, bool *right)
{
	double sum = 0;

	*right = loss == GRAPH_LOSS_SIGMOID;
	for (size_t k = 0; k < n; k++) {
		float away = x[k] - t[k];

		p[k] = loss == GRAPH_LOSS_SIGMOID ? 1 / (1 + expf(-x[k])) : x[k];
		if (isnan(t[k]))
			continue;
		sum += loss == GRAPH_LOSS_SIGMOID ? fmaxf(x[k], 0) - x[k] * t[k] + log1pf(expf(-fabsf(x[k]))) :
		    away * away;
		sum += positive != NULL ? add_positive(positive[k], x[k], t[k]) : 0;
		*right &= (t[k] >= 0.5f) == (p[k] >= 0.5f) && !isnan(p[k]);
	}
	return sum / (double)n;
}

void
cpu_head_targets(const struct cpu_view *x, const struct cpu_view *prob, enum graph_loss loss, const float *target,
    const float *positive, const struct samples_mix *mix, uint32_t n, struct engine_result *result)
{
	*result = (struct engine_result) { 0 };
	for (size_t i = 0; i < n; i++) {
		bool right;

		result->loss += (double)mix[i].weight * compute_outputs_loss(loss, cpu_at(x, i, 0), target + i * x->c,
		    positive, cpu_at(prob, i, 0), x->c, &right);
		result->correct += right;
	}
}

void
cpu_head_targets_back(const struct cpu_view *prob, enum graph_loss loss, const float *target, const float *positive,
    const struct samples_mix *mix, uint32_t n)
{
	for (size_t i = 0; i < n; i++) {
		const float *t = target + i * prob->c;
		float *p = cpu_at(prob, i, 0), by = mix[i].weight / (float)prob->c;

		by *= loss == GRAPH_LOSS_SQUARED ? 2 : 1;
		for (size_t k = 0; k < prob->c; k++)
			p[k] = isnan(t[k]) ? 0 :
			    by * (p[k] - t[k] + (positive != NULL ? (positive[k] - 1) * t[k] * (p[k] - 1) : 0));
	}
}
