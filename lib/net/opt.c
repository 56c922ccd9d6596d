/* opt - the rules by which a gradient changes weights, over any range of floats. */
#include "net/opt.h"

/*
 * Division by n is a multiplication by (float)(1 / n), the same for every element; floats are added and multiplied
 * one by one in the order written (no fused multiply-add: the Makefile's -ffp-contract=off), so vector width changes
 * no bit.
 */
static void
step(float *restrict w, float *restrict m, const float *restrict g, size_t count, float scale,
	const struct opt_hyper *h)
{
	const float lr = h->lr, momentum = h->momentum, wd = h->wd;

	for (size_t i = 0; i < count; i++) {
		m[i] = momentum * m[i] - lr * (g[i] * scale + wd * w[i]);
		w[i] = w[i] + m[i];
	}
}

static void
step_clipped(float *restrict w, float *restrict m, const float *restrict g, size_t count, float scale,
	const struct opt_hyper *h)
{
	const float lr = h->lr, momentum = h->momentum, wd = h->wd, clip = h->clip;

	for (size_t i = 0; i < count; i++) {
		float d = g[i] * scale;

		/* Written so that a NaN stays one: cutting it would hide it. */
		d = d > clip ? clip : d;
		d = d < -clip ? -clip : d;
		m[i] = momentum * m[i] - lr * (d + wd * w[i]);
		w[i] = w[i] + m[i];
	}
}

void
opt_sgd(float *w, float *m, const float *g, size_t count, double n, const struct opt_hyper *h)
{
	(h->clip > 0 ? step_clipped : step)(w, m, g, count, (float)(1 / n), h);
}

void
opt_fold(float *w, const float *g, size_t count, double n, float momentum)
{
	const float scale = (float)(1 / n), rest = 1 - momentum;

	for (size_t i = 0; i < count; i++)
		w[i] = momentum * w[i] + rest * (g[i] * scale);
}
