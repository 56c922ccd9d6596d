/*
 * cpu_bn - channels into channels of mean beta and deviation gamma, ReLU in the same pass.
 *
 * Over the m = N*H*W values of a channel (Ioffe, Szegedy, "Batch Normalization", ICML 2015):
 *
 *	mean = sum x / m;  var = sum (x - mean)^2 / m;  rstd = 1 / sqrt(var + eps)
 *	y = scale x + shift,  scale = gamma rstd,  shift = beta - scale mean
 *	dbeta = sum dy;  dgamma = rstd sum dy (x - mean)
 *	dx = scale (dy - dbeta / m - (x - mean) rstd dgamma / m) = scale dy + k1 (x - mean) + k0
 *
 * With ReLU behind it dy counts where scale x + shift > 0, computed again rather
 * than kept.  Sums are taken unit by unit in f32, about the unit's first pixel
 * so that a large mean costs no digits, and joined in f64 picture by picture
 * (Chan, Golub, LeVeque, "Updating formulae", 1979): no thread count changes them.
 */
#include "engine/cpu.h"
#include "engine/cpu_isa.h"

#include <math.h>
#include <omp.h>
#include <stddef.h>

#define LANES 16	/* most channels side by side */

/* What one unit's channels need; LANES of each. */
struct lanes {
	const float *scale, *shift, *mean, *k1, *k0;
};

/* ------ units: pixels of `lanes` channels; the inner loops are one register wide ------ */

/* s1 = sum (x - x[0]), s2 = sum (x - x[0])^2. */
CPU_INLINE void
moments(const float *restrict x, size_t pixels, size_t lanes, float *restrict s1, float *restrict s2)
{
	float a[LANES] = { 0 }, b[LANES] = { 0 };

	for (size_t i = 1; i < pixels; i++)
		for (size_t l = 0; l < lanes; l++) {
			float d = x[i * lanes + l] - x[l];

			a[l] += d;
			b[l] += d * d;
		}
	for (size_t l = 0; l < lanes; l++) {
		s1[l] = a[l];
		s2[l] = b[l];
	}
}

CPU_CLONES static void
unit_moments(const float *restrict x, size_t pixels, size_t lanes, float *restrict s1, float *restrict s2)
{
	if (lanes == 16)
		moments(x, pixels, 16, s1, s2);
	else if (lanes == 8)
		moments(x, pixels, 8, s1, s2);
	else
		moments(x, pixels, 1, s1, s2);
}

CPU_INLINE void
forward(const float *restrict x, float *restrict y, size_t pixels, size_t lanes, const struct lanes *c, bool relu)
{
	float scale[LANES], shift[LANES];

	for (size_t l = 0; l < lanes; l++) {
		scale[l] = c->scale[l];
		shift[l] = c->shift[l];
	}
	for (size_t i = 0; i < pixels; i++)
		for (size_t l = 0; l < lanes; l++) {
			float v = scale[l] * x[i * lanes + l] + shift[l];

			y[i * lanes + l] = relu && !(v > 0) ? 0 : v;
		}
}

CPU_CLONES static void
unit_forward(const float *restrict x, float *restrict y, size_t pixels, size_t lanes, const struct lanes *c, bool relu)
{
	if (lanes == 16 && relu)
		forward(x, y, pixels, 16, c, true);
	else if (lanes == 16)
		forward(x, y, pixels, 16, c, false);
	else if (lanes == 8)
		forward(x, y, pixels, 8, c, relu);
	else
		forward(x, y, pixels, 1, c, relu);
}

/* The gradient that comes in at one float: the sum of its parts, where ReLU let it through. */
CPU_INLINE float
incoming(const float *restrict d0, const float *restrict d1, size_t at, float y, bool relu)
{
	float d = d1 != NULL ? d0[at] + d1[at] : d0[at];

	return relu && !(y > 0) ? 0 : d;
}

/* s1 = sum dy, s2 = sum dy (x - mean). */
CPU_INLINE void
reduce(const float *restrict x, const float *restrict d0, const float *restrict d1, size_t pixels, size_t lanes,
    const struct lanes *c, bool relu, float *restrict s1, float *restrict s2)
{
	float a[LANES] = { 0 }, b[LANES] = { 0 };

	for (size_t i = 0; i < pixels; i++)
		for (size_t l = 0; l < lanes; l++) {
			float v = x[i * lanes + l];
			float d = incoming(d0, d1, i * lanes + l, c->scale[l] * v + c->shift[l], relu);

			a[l] += d;
			b[l] += d * (v - c->mean[l]);
		}
	for (size_t l = 0; l < lanes; l++) {
		s1[l] = a[l];
		s2[l] = b[l];
	}
}

CPU_CLONES static void
unit_reduce(const float *restrict x, const float *restrict d0, const float *restrict d1, size_t pixels, size_t lanes,
    const struct lanes *c, bool relu, float *restrict s1, float *restrict s2)
{
	if (lanes == 16 && relu && d1 == NULL)
		reduce(x, d0, NULL, pixels, 16, c, true, s1, s2);
	else if (lanes == 16)
		reduce(x, d0, d1, pixels, 16, c, relu, s1, s2);
	else if (lanes == 8)
		reduce(x, d0, d1, pixels, 8, c, relu, s1, s2);
	else
		reduce(x, d0, d1, pixels, 1, c, relu, s1, s2);
}

/* dx may be x: each float is read before it is written. */
CPU_INLINE void
backward(const float *x, const float *restrict d0, const float *restrict d1, float *dx, size_t pixels, size_t lanes,
    const struct lanes *c, bool relu)
{
	for (size_t i = 0; i < pixels; i++) {
		float out[LANES];

		for (size_t l = 0; l < lanes; l++) {
			float v = x[i * lanes + l];
			float d = incoming(d0, d1, i * lanes + l, c->scale[l] * v + c->shift[l], relu);

			out[l] = c->scale[l] * d + (c->k1[l] * (v - c->mean[l]) + c->k0[l]);
		}
		for (size_t l = 0; l < lanes; l++)
			dx[i * lanes + l] = out[l];
	}
}

CPU_CLONES static void
unit_backward(const float *x, const float *restrict d0, const float *restrict d1, float *dx, size_t pixels,
    size_t lanes, const struct lanes *c, bool relu)
{
	if (lanes == 16 && relu && d1 == NULL)
		backward(x, d0, NULL, dx, pixels, 16, c, true);
	else if (lanes == 16)
		backward(x, d0, d1, dx, pixels, 16, c, relu);
	else if (lanes == 8)
		backward(x, d0, d1, dx, pixels, 8, c, relu);
	else
		backward(x, d0, d1, dx, pixels, 1, c, relu);
}

/* ------ whole batches ------ */

size_t
cpu_bn_scratch(uint32_t n, size_t lanes)
{
	return 2 * (size_t)n * lanes;
}

/* The two sums of unit (i, b) stand in scratch [n][blocks][2][block]. */
static float *
sums_at(const struct cpu_view *x, float *scratch, size_t i, size_t b)
{
	return scratch + 2 * x->block * (i * cpu_blocks(x) + b);
}

static struct lanes
lanes_at(const struct cpu_bn *bn, size_t first)
{
	return (struct lanes) { bn->scale + first, bn->shift + first, bn->mean + first, bn->k1 + first, bn->k0 + first };
}

/* Mean and variance of channel l of block b from the sums of its units. */
static void
join_moments(const struct cpu_view *x, uint32_t n, float *scratch, size_t b, size_t l, struct cpu_bn *bn)
{
	double pixels = (double)x->h * x->w, mean = 0, squares = 0;

	for (size_t i = 0; i < n; i++)
		mean += cpu_at(x, i, b)[l] + sums_at(x, scratch, i, b)[l] / pixels;
	mean /= n;
	for (size_t i = 0; i < n; i++) {
		const float *s = sums_at(x, scratch, i, b);
		double off = s[l] / pixels, d = cpu_at(x, i, b)[l] + off - mean;

		squares += s[x->block + l] - s[l] * off + pixels * d * d;
	}
	bn->mean[b * x->block + l] = (float)mean;
	bn->var[b * x->block + l] = (float)fmax(squares / (n * pixels), 0);
}

void
cpu_bn_moments(const struct cpu_view *x, uint32_t n, float *scratch, struct cpu_bn *bn)
{
	size_t blocks = cpu_blocks(x), lanes = x->block, pixels = (size_t)x->h * x->w;

	#pragma omp parallel for
	for (size_t u = 0; u < n * blocks; u++) {
		float *s = sums_at(x, scratch, u / blocks, u % blocks);

		unit_moments(cpu_at(x, u / blocks, u % blocks), pixels, lanes, s, s + lanes);
	}
	#pragma omp parallel for
	for (size_t c = 0; c < x->c; c++)
		join_moments(x, n, scratch, c / lanes, c % lanes, bn);
}

void
cpu_bn_coefficients(struct cpu_bn *bn, const float *mean, const float *var, size_t c, float eps)
{
	for (size_t l = 0; l < c; l++) {
		double scale = bn->gamma[l] / sqrt((double)var[l] + (double)eps);

		bn->scale[l] = (float)scale;
		bn->shift[l] = (float)(bn->beta[l] - scale * mean[l]);
	}
}

void
cpu_bn_forward(const struct cpu_view *x, const struct cpu_view *y, uint32_t n, const struct cpu_bn *bn, bool relu)
{
	size_t blocks = cpu_blocks(x), pixels = (size_t)x->h * x->w;

	#pragma omp parallel for
	for (size_t u = 0; u < n * blocks; u++) {
		size_t i = u / blocks, b = u % blocks;
		struct lanes c = lanes_at(bn, b * x->block);

		unit_forward(cpu_at(x, i, b), cpu_at(y, i, b), pixels, x->block, &c, relu);
	}
}

/* dbeta, dgamma and the coefficients of dx for channel l of block b. */
static void
join_reduced(const struct cpu_view *x, uint32_t n, float *scratch, size_t b, size_t l, float eps, struct cpu_bn *bn)
{
	size_t c = b * x->block + l;
	double m = (double)n * x->h * x->w, rstd = 1 / sqrt((double)bn->var[c] + (double)eps), s1 = 0, s2 = 0;

	for (size_t i = 0; i < n; i++) {
		const float *s = sums_at(x, scratch, i, b);

		s1 += s[l];
		s2 += s[x->block + l];
	}
	bn->dbeta[c] = (float)s1;
	bn->dgamma[c] = (float)(rstd * s2);
	bn->k0[c] = (float)(-bn->scale[c] * s1 / m);
	bn->k1[c] = (float)(-bn->scale[c] * rstd * rstd * s2 / m);
}

void
cpu_bn_backward(const struct cpu_view *x, const struct cpu_view *dy, uint32_t ndy, const struct cpu_view *dx,
    uint32_t n, float *scratch, struct cpu_bn *bn, bool relu, float eps)
{
	size_t blocks = cpu_blocks(x), lanes = x->block, pixels = (size_t)x->h * x->w;

	#pragma omp parallel for
	for (size_t u = 0; u < n * blocks; u++) {
		size_t i = u / blocks, b = u % blocks;
		struct lanes c = lanes_at(bn, b * lanes);
		float *s = sums_at(x, scratch, i, b);

		unit_reduce(cpu_at(x, i, b), cpu_at(&dy[0], i, b), ndy > 1 ? cpu_at(&dy[1], i, b) : NULL, pixels, lanes,
		    &c, relu, s, s + lanes);
	}
	#pragma omp parallel for
	for (size_t c = 0; c < x->c; c++)
		join_reduced(x, n, scratch, c / lanes, c % lanes, eps, bn);
	if (dx == NULL)
		return;
	#pragma omp parallel for
	for (size_t u = 0; u < n * blocks; u++) {
		size_t i = u / blocks, b = u % blocks;
		struct lanes c = lanes_at(bn, b * lanes);

		unit_backward(cpu_at(x, i, b), cpu_at(&dy[0], i, b), ndy > 1 ? cpu_at(&dy[1], i, b) : NULL,
		    cpu_at(dx, i, b), pixels, lanes, &c, relu);
	}
}
