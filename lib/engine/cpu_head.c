/*
 * cpu_head - scores into probabilities, and with the labels into loss and gradient.
 *
 *	p[k] = exp(x[k] - top) / sum over j of exp(x[j] - top),  top = max x
 *	loss = log(sum) + top - x[label];  dx[k] = p[k] - (k == label)
 *
 * top is taken off so that no exp overflows.  One thread: a batch has few scores.
 */
#include "engine/cpu.h"

#include <math.h>

static size_t
argmax(const float *p, size_t classes)
{
	size_t best = 0;

	for (size_t k = 1; k < classes; k++)
		if (p[k] > p[best])
			best = k;
	return best;
}

/* Returns the loss of one sample. */
static double
sample(const float *restrict x, float *restrict p, size_t classes, size_t label)
{
	float top = x[argmax(x, classes)];
	double sum = 0;

	for (size_t k = 0; k < classes; k++) {
		p[k] = expf(x[k] - top);
		sum += p[k];
	}
	for (size_t k = 0; k < classes; k++)
		p[k] = (float)(p[k] / sum);
	return log(sum) + top - x[label];
}

void
cpu_head_forward(const struct cpu_view *x, const struct cpu_view *prob, const int32_t *label, uint32_t n,
    struct engine_result *result)
{
	*result = (struct engine_result) { 0 };
	for (size_t i = 0; i < n; i++) {
		float *p = cpu_at(prob, i, 0);

		result->loss += sample(cpu_at(x, i, 0), p, x->c, (size_t)label[i]);
		result->correct += argmax(p, x->c) == (size_t)label[i];
	}
}

void
cpu_head_backward(const struct cpu_view *prob, const int32_t *label, uint32_t n)
{
	for (size_t i = 0; i < n; i++)
		cpu_at(prob, i, 0)[label[i]] -= 1.0f;
}
