/* aug_mix - mixes two samples. */
#include "base/rng.h"
#include "batch/aug_in.h"

#include <math.h>

#define MIX	0x6d6978u	/* "mix": separates these draws from others of the same seed */

/*
 * Draws the logarithm of a gamma variate: one of shape + 1, times a power of a uniform number.  Source: Marsaglia and
 * Tsang,
 * "A simple method for generating gamma variables", 2000.
 */
static double
draw_log_gamma(struct rng *r, double shape)
{
	double d = shape + 2.0 / 3, c = 1 / sqrt(9 * d), x, v;

	do {
		x = (double)rng_normal(r);
		v = 1 + c * x;
		v = v * v * v;
	} while (v <= 0 || log(1 - (double)rng_f32(r)) >= x * x / 2 + d - d * v + d * log(v));
	return log(d * v) + log(1 - (double)rng_f32(r)) / shape;
}

/* Draws from Beta(alpha, alpha). */
static double
draw_beta(struct rng *r, double alpha)
{
	double a = draw_log_gamma(r, alpha), b = draw_log_gamma(r, alpha);

	return 1 / (1 + exp(a - b));
}

/* The bounds of `side` pixels around a middle, clipped to 0..n. */
static void
cut_bounds(uint32_t n, uint32_t middle, double side, uint32_t *from, uint32_t *end)
{
	uint32_t half = (uint32_t)(side / 2 * n);

	*from = middle > half ? middle - half : 0;
	*end = middle + half < n ? middle + half : n;
}

void
aug_choose_mix(const struct aug *a, uint64_t epoch, uint64_t id, struct aug_plan *plan)
{
	struct rng r = rng_start(a->seed ^ MIX, epoch, id);
	bool paste = a->mixup == 0 || (rng_u64(&r) >> 63 && a->cutmix > 0);
	double share;
	uint32_t y, x;

	if (!aug_mixes(a))
		return;
	share = draw_beta(&r, (double)(paste ? a->cutmix : a->mixup));
	plan->share = (float)share;
	if (!paste)
		return;
	y = (uint32_t)rng_below(&r, a->h);
	x = (uint32_t)rng_below(&r, a->w);
	cut_bounds(a->h, y, sqrt(share), &plan->paste_y, &plan->paste_y_end);
	cut_bounds(a->w, x, sqrt(share), &plan->paste_x, &plan->paste_x_end);
	plan->paste = true;
	plan->share = (float)((double)(plan->paste_y_end - plan->paste_y) * (plan->paste_x_end - plan->paste_x) /
	    ((double)a->h * a->w));
}

bool
aug_mixes(const struct aug *a)
{
	return a->mixup > 0 || a->cutmix > 0;
}

static void
blend_samples(float *restrict x, const float *restrict other, size_t n, float share)
{
	float keep = 1 - share;

	for (size_t i = 0; i < n; i++)
		x[i] = keep * x[i] + share * other[i];
}

void
aug_mix(const struct aug *a, const struct aug_plan *plan, const float *other, float *x)
{
	size_t row = (size_t)(plan->paste_x_end - plan->paste_x) * sizeof(*x);

	if (!plan->paste) {
		blend_samples(x, other, (size_t)a->c * a->h * a->w, plan->share);
		return;
	}
	for (uint32_t c = 0; c < a->c; c++)
		for (uint32_t y = plan->paste_y; y < plan->paste_y_end; y++) {
			size_t at = ((size_t)c * a->h + y) * a->w + plan->paste_x;

			memcpy(x + at, other + at, row);
		}
}
