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
 * Of a frozen layer mean and var are constants, k1 = k0 = 0, and dx = scale dy.
 *
 * With ReLU behind it dy counts where scale x + shift > 0, computed again rather
 * than kept.  Sums are taken unit by unit, about the unit's first pixel so that
 * a large mean costs no digits, in f32 over RUN vectors, then in f64: a deep net
 * multiplies what is lost here.  They are joined picture by picture (Chan, Golub,
 * LeVeque, "Updating formulae", 1979): no thread count changes them.
 */
#include "engine/cpu.h"
#include "engine/cpu_isa.h"

#include <math.h>
#include <omp.h>
#include <stddef.h>

/* What the channels of one unit need, a channel each `lanes` floats. */
struct lanes {
	const float *scale, *shift, *mean, *k1, *k0;
};

/* The same for CPU_WIDE floats side by side, which are CPU_WIDE / lanes pixels. */
struct wide {
	cpu_wide scale, shift, mean, k1, k0;
};

#define RUN	32u	/* vectors, a power of 2 */

/* Two sums a float side by side: of this run, and of those before. */
struct sums {
	cpu_wide a, b;
	double	 all_a[CPU_WIDE], all_b[CPU_WIDE];
};

CPU_INLINE void
widen(const float *from, size_t lanes, cpu_wide *to)
{
	if (lanes == CPU_WIDE)
		*to = *(const cpu_wide *)from;
	else
		for (size_t j = 0; j < CPU_WIDE; j++)
			(*to)[j] = from[j % lanes];
}

CPU_INLINE void
widen_all(const struct lanes *c, size_t lanes, struct wide *w)
{
	widen(c->scale, lanes, &w->scale);
	widen(c->shift, lanes, &w->shift);
	widen(c->mean, lanes, &w->mean);
	widen(c->k1, lanes, &w->k1);
	widen(c->k0, lanes, &w->k0);
}

/* A run ends. */
CPU_INLINE void
settle(struct sums *s)
{
	for (size_t j = 0; j < CPU_WIDE; j++) {
		s->all_a[j] += (double)s->a[j];
		s->all_b[j] += (double)s->b[j];
	}
	s->a = s->b = (cpu_wide){ 0 };
}

/* The sums of each channel. */
CPU_INLINE void
narrow(struct sums *s, size_t lanes, float *s1, float *s2)
{
	settle(s);
	for (size_t l = 0; l < lanes; l++) {
		double a = 0, b = 0;

		for (size_t j = l; j < CPU_WIDE; j += lanes) {
			a += s->all_a[j];
			b += s->all_b[j];
		}
		s1[l] = (float)a;
		s2[l] = (float)b;
	}
}

/* The last floats of a unit, fewer than CPU_WIDE, as a whole one. */
CPU_INLINE void
load_part(const float *from, size_t count, cpu_wide *to)
{
	for (size_t j = 0; j < count; j++)
		(*to)[j] = from[j];
}

/* ------ units: count floats, pixels of `lanes` channels ------ */

CPU_INLINE void
moments(const cpu_wide *x, const cpu_wide *first, struct sums *s)
{
	cpu_wide d = *x - *first;

	s->a += d;
	s->b += d * d;
}

/* s1 = sum (x - x[0]), s2 = sum (x - x[0])^2. */
CPU_CLONES static void
unit_moments(const float *restrict x, size_t count, size_t lanes, float *restrict s1, float *restrict s2)
{
	struct sums s = { { 0 }, { 0 }, { 0 }, { 0 } };
	cpu_wide first, part;
	size_t i = 0;

	widen(x, lanes, &first);
	for (; i + CPU_WIDE <= count; i += CPU_WIDE) {
		if (i % (RUN * CPU_WIDE) == 0)
			settle(&s);
		moments((const cpu_wide *)(x + i), &first, &s);
	}
	if (i < count) {
		part = first;
		load_part(x + i, count - i, &part);
		moments(&part, &first, &s);
	}
	narrow(&s, lanes, s1, s2);
}

CPU_INLINE void
forward(const cpu_wide *x, cpu_wide *y, const struct wide *w, bool relu)
{
	cpu_wide v = w->scale * *x + w->shift;

	*y = v;
	if (relu)
		*y = (cpu_wide)((cpu_mask)v & (v > 0));
}

CPU_INLINE void
forward_all(const float *restrict x, float *restrict y, size_t count, const struct wide *w, bool relu)
{
	cpu_wide part = { 0 };
	size_t i = 0;

	for (; i + CPU_WIDE <= count; i += CPU_WIDE)
		forward((const cpu_wide *)(x + i), (cpu_wide *)(y + i), w, relu);
	if (i < count) {
		load_part(x + i, count - i, &part);
		forward(&part, &part, w, relu);
		for (size_t j = 0; i + j < count; j++)
			y[i + j] = part[j];
	}
}

CPU_CLONES static void
unit_forward(const float *restrict x, float *restrict y, size_t count, size_t lanes, const struct lanes *c, bool relu)
{
	struct wide w;

	widen_all(c, lanes, &w);
	if (relu)
		forward_all(x, y, count, &w, true);
	else
		forward_all(x, y, count, &w, false);
}

/* The gradient that comes in: the sum of its parts, where ReLU let the output through. */
CPU_INLINE void
incoming(const cpu_wide *x, const cpu_wide *d0, const cpu_wide *d1, const struct wide *w, bool relu, cpu_wide *d)
{
	cpu_wide y = w->scale * *x + w->shift;

	*d = *d0;
	if (d1 != NULL)
		*d += *d1;
	if (relu)
		*d = (cpu_wide)((cpu_mask)*d & (y > 0));
}

CPU_INLINE void
reduce(const cpu_wide *x, const cpu_wide *d0, const cpu_wide *d1, const struct wide *w, bool relu, struct sums *s)
{
	cpu_wide d;

	incoming(x, d0, d1, w, relu, &d);
	s->a += d;
	s->b += d * (*x - w->mean);
}

CPU_INLINE void
reduce_all(const float *restrict x, const float *restrict d0, const float *restrict d1, size_t count,
    const struct wide *w, bool relu, struct sums *s)
{
	cpu_wide px = { 0 }, p0 = { 0 }, p1 = { 0 };
	size_t i = 0;

	for (; i + CPU_WIDE <= count; i += CPU_WIDE) {
		if (i % (RUN * CPU_WIDE) == 0)
			settle(s);
		reduce((const cpu_wide *)(x + i), (const cpu_wide *)(d0 + i),
		    d1 != NULL ? (const cpu_wide *)(d1 + i) : NULL, w, relu, s);
	}
	if (i < count) {
		load_part(x + i, count - i, &px);
		load_part(d0 + i, count - i, &p0);
		if (d1 != NULL)
			load_part(d1 + i, count - i, &p1);
		reduce(&px, &p0, &p1, w, relu, s);
	}
}

/* s1 = sum dy, s2 = sum dy (x - mean). */
CPU_CLONES static void
unit_reduce(const float *restrict x, const float *restrict d0, const float *restrict d1, size_t count, size_t lanes,
    const struct lanes *c, bool relu, float *restrict s1, float *restrict s2)
{
	struct sums s = { { 0 }, { 0 }, { 0 }, { 0 } };
	struct wide w;

	widen_all(c, lanes, &w);
	if (d1 == NULL)
		reduce_all(x, d0, NULL, count, &w, relu, &s);
	else
		reduce_all(x, d0, d1, count, &w, relu, &s);
	narrow(&s, lanes, s1, s2);
}

CPU_INLINE void
backward(const cpu_wide *x, const cpu_wide *d0, const cpu_wide *d1, const struct wide *w, bool relu, cpu_wide *dx)
{
	cpu_wide d;

	incoming(x, d0, d1, w, relu, &d);
	*dx = w->scale * d + (w->k1 * (*x - w->mean) + w->k0);
}

CPU_INLINE void
backward_all(const float *x, const float *restrict d0, const float *restrict d1, float *dx, size_t count,
    const struct wide *w, bool relu)
{
	cpu_wide px = { 0 }, p0 = { 0 }, p1 = { 0 };
	size_t i = 0;

	for (; i + CPU_WIDE <= count; i += CPU_WIDE)
		backward((const cpu_wide *)(x + i), (const cpu_wide *)(d0 + i),
		    d1 != NULL ? (const cpu_wide *)(d1 + i) : NULL, w, relu, (cpu_wide *)(dx + i));
	if (i < count) {
		load_part(x + i, count - i, &px);
		load_part(d0 + i, count - i, &p0);
		if (d1 != NULL)
			load_part(d1 + i, count - i, &p1);
		backward(&px, &p0, &p1, w, relu, &px);
		for (size_t j = 0; i + j < count; j++)
			dx[i + j] = px[j];
	}
}

/* dx may be x: each float is read before it is written. */
CPU_CLONES static void
unit_backward(const float *x, const float *restrict d0, const float *restrict d1, float *dx, size_t count,
    size_t lanes, const struct lanes *c, bool relu)
{
	struct wide w;

	widen_all(c, lanes, &w);
	if (d1 == NULL)
		backward_all(x, d0, NULL, dx, count, &w, relu);
	else
		backward_all(x, d0, d1, dx, count, &w, relu);
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
	size_t blocks = cpu_blocks(x), lanes = x->block, count = cpu_unit(x);

	#pragma omp parallel for
	for (size_t u = 0; u < n * blocks; u++) {
		float *s = sums_at(x, scratch, u / blocks, u % blocks);

		unit_moments(cpu_at(x, u / blocks, u % blocks), count, lanes, s, s + lanes);
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
	size_t blocks = cpu_blocks(x), count = cpu_unit(x);

	#pragma omp parallel for
	for (size_t u = 0; u < n * blocks; u++) {
		size_t i = u / blocks, b = u % blocks;
		struct lanes c = lanes_at(bn, b * x->block);

		unit_forward(cpu_at(x, i, b), cpu_at(y, i, b), count, x->block, &c, relu);
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

static void
reduce_batch(const struct cpu_view *x, const struct cpu_view *dy, uint32_t ndy, uint32_t n, float *scratch,
    struct cpu_bn *bn, bool relu, float eps)
{
	size_t blocks = cpu_blocks(x), lanes = x->block, count = cpu_unit(x);

	#pragma omp parallel for
	for (size_t u = 0; u < n * blocks; u++) {
		size_t i = u / blocks, b = u % blocks;
		struct lanes c = lanes_at(bn, b * lanes);
		float *s = sums_at(x, scratch, i, b);

		unit_reduce(cpu_at(x, i, b), cpu_at(&dy[0], i, b), ndy > 1 ? cpu_at(&dy[1], i, b) : NULL, count, lanes,
		    &c, relu, s, s + lanes);
	}
	#pragma omp parallel for
	for (size_t c = 0; c < x->c; c++)
		join_reduced(x, n, scratch, c / lanes, c % lanes, eps, bn);
}

void
cpu_bn_backward(const struct cpu_view *x, const struct cpu_view *dy, uint32_t ndy, const struct cpu_view *dx,
    uint32_t n, float *scratch, struct cpu_bn *bn, bool relu, bool constant, float eps)
{
	size_t blocks = cpu_blocks(x), lanes = x->block, count = cpu_unit(x);

	if (!constant)
		reduce_batch(x, dy, ndy, n, scratch, bn, relu, eps);
	if (dx == NULL)
		return;
	#pragma omp parallel for
	for (size_t u = 0; u < n * blocks; u++) {
		size_t i = u / blocks, b = u % blocks;
		struct lanes c = lanes_at(bn, b * lanes);

		unit_backward(cpu_at(x, i, b), cpu_at(&dy[0], i, b), ndy > 1 ? cpu_at(&dy[1], i, b) : NULL,
		    cpu_at(dx, i, b), count, lanes, &c, relu);
	}
}
