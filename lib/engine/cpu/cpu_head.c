/*
 * cpu_head - softmax, cross-entropy loss and its gradient.
 *
 *	p[k] = exp(x[k] - top) / sum over j of exp(x[j] - top),  top = max x
 *	q[k] = (1 - smooth) ((1 - share) (k == label) + share (k == other)) + smooth / K
 *	loss = weight (log(sum) + top - sum over k of q[k] x[k]);  dx[k] = weight (p[k] - q[k])
 *
 * Subtracting top keeps exp from overflowing.  One thread is enough for the few scores of a batch.
 */
#include "engine/cpu/cpu.h"
#include "engine/score.h"

#include <math.h>

/* Returns the loss of one sample. */
static double
loss_of_sample(const float *restrict x, float *restrict p, size_t classes, size_t label, const struct samples_mix *mix,
    double smooth)
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
		    loss_of_sample(cpu_at(x, i, 0), p, x->c, (size_t)label[i], &mix[i], smooth);
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
