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
#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_half.h"

#include <math.h>
#include <omp.h>
#include <stddef.h>

/*
 * How a unit, one picture's group of channels, is walked: vector by vector, which are CPU_WIDE numbers side by side, the
 * same channels again after `period`, or one pixel's `width` channels, while the views' next ones are elsewhere.
 */
struct walk {
	size_t vectors, width, period;
	size_t tail;		/* numbers behind the last vector */
	bool   half;
};

/* An operand: its first number, and from vector to vector. */
struct line {
	void  *p;
	size_t stride;
};

/* What the channels of one unit need; the arrays reach to a whole vector. */
struct lanes {
	const float *scale, *shift, *mean, *k1, *k0;
};

/* The same for CPU_WIDE floats side by side. */
struct wide {
	cpu_wide scale, shift, mean, k1, k0;
};

#define RUN	32u	/* vectors, a power of 2 */

/* Two sums a float side by side: of this run, and of those before. */
struct sums {
	cpu_wide a, b;
	double	 all_a[CPU_WIDE], all_b[CPU_WIDE];
};

ISA_INLINE void
widen(const float *from, size_t period, cpu_wide *to)
{
	if (period == CPU_WIDE)
		*to = *(const cpu_wide *)from;
	else
		for (size_t j = 0; j < CPU_WIDE; j++)
			(*to)[j] = from[j % period];
}

ISA_INLINE void
widen_all(const struct lanes *c, size_t period, struct wide *w)
{
	widen(c->scale, period, &w->scale);
	widen(c->shift, period, &w->shift);
	widen(c->mean, period, &w->mean);
	widen(c->k1, period, &w->k1);
	widen(c->k0, period, &w->k0);
}

/* A run ends. */
ISA_INLINE void
settle(struct sums *s)
{
	for (size_t j = 0; j < CPU_WIDE; j++) {
		s->all_a[j] += (double)s->a[j];
		s->all_b[j] += (double)s->b[j];
	}
	s->a = s->b = (cpu_wide){ 0 };
}

/* The sums of each channel. */
ISA_INLINE void
narrow(struct sums *s, const struct walk *u, float *s1, float *s2)
{
	settle(s);
	for (size_t l = 0; l < u->width && l < u->period; l++) {
		double a = 0, b = 0;

		for (size_t j = l; j < u->width; j += u->period) {
			a += s->all_a[j];
			b += s->all_b[j];
		}
		s1[l] = (float)a;
		s2[l] = (float)b;
	}
}

/* DO(half, width): constants where whole vectors are walked. */
#define EACH_KIND(u, DO) \
	do { \
		if ((u)->width != CPU_WIDE) \
			DO((u)->half, (u)->width); \
		else if ((u)->half) \
			DO(true, CPU_WIDE); \
		else \
			DO(false, CPU_WIDE); \
	} while (0)

/* ------ units ------ */

ISA_INLINE void
moments(const cpu_wide *x, const cpu_wide *first, struct sums *s)
{
	cpu_wide d = *x - *first;

	s->a += d;
	s->b += d * d;
}

ISA_INLINE void
moments_all(const struct walk *u, bool half, size_t width, const struct line *x, const cpu_wide *first,
    struct sums *s)
{
	cpu_wide v = *first;
	size_t i = 0;

	for (; i < u->vectors; i++) {
		if (i % RUN == 0)
			settle(s);
		cpu_get(x->p, i * x->stride, half, width, &v);
		moments(&v, first, s);
	}
	if (u->tail > 0) {
		v = *first;
		cpu_load_part(x->p, i * x->stride, half, u->tail, &v);
		moments(&v, first, s);
	}
}

/* s1 = sum (x - x[0]), s2 = sum (x - x[0])^2. */
ISA_CLONES static void
unit_moments(const struct walk *u, const struct line *x, float *restrict s1, float *restrict s2)
{
	struct sums s = { { 0 }, { 0 }, { 0 }, { 0 } };
	float from[CPU_WIDE] = { 0 };
	cpu_wide first;

	for (size_t l = 0; l < u->width && l < u->period; l++)
		from[l] = cpu_number(x->p, l, u->half);
	widen(from, u->period, &first);
#define MOMENTS(half, width) moments_all(u, half, width, x, &first, &s)
	EACH_KIND(u, MOMENTS);
	narrow(&s, u, s1, s2);
}

ISA_INLINE void
forward(const cpu_wide *x, cpu_wide *y, const struct wide *w, bool relu)
{
	cpu_wide v = w->scale * *x + w->shift;

	*y = v;
	if (relu)
		*y = (cpu_wide)((cpu_mask)v & ~(v <= 0));
}

ISA_INLINE void
forward_all(const struct walk *u, bool half, size_t width, const struct line *x, const struct line *y,
    const struct wide *w, bool relu)
{
	cpu_wide v = { 0 };
	size_t i = 0;

	for (; i < u->vectors; i++) {
		cpu_get(x->p, i * x->stride, half, width, &v);
		forward(&v, &v, w, relu);
		cpu_set(&v, y->p, i * y->stride, half, width);
	}
	if (u->tail > 0) {
		cpu_load_part(x->p, i * x->stride, half, u->tail, &v);
		forward(&v, &v, w, relu);
		cpu_store_part(&v, y->p, i * y->stride, half, u->tail);
	}
}

ISA_CLONES static void
unit_forward(const struct walk *u, const struct line *x, const struct line *y, const struct lanes *c, bool relu)
{
	struct wide w;

	widen_all(c, u->period, &w);
#define FORWARD(half, width) forward_all(u, half, width, x, y, &w, false)
#define FORWARD_RELU(half, width) forward_all(u, half, width, x, y, &w, true)
	if (relu)
		EACH_KIND(u, FORWARD_RELU);
	else
		EACH_KIND(u, FORWARD);
}

/* What the way back reads: x and the one or two parts of dy. */
struct incoming {
	struct line x, d0, d1;	/* d1.p NULL: one part */
};

/* x, and the gradient that comes in: the sum of its parts, where ReLU let the output through. */
ISA_INLINE void
incoming(const struct incoming *in, size_t i, bool half, size_t width, bool two, const struct wide *w, bool relu,
    cpu_wide *x, cpu_wide *d)
{
	cpu_wide more = { 0 }, y;

	cpu_get(in->x.p, i * in->x.stride, half, width, x);
	cpu_get(in->d0.p, i * in->d0.stride, half, width, d);
	if (two) {
		cpu_get(in->d1.p, i * in->d1.stride, half, width, &more);
		*d += more;
	}
	y = w->scale * *x + w->shift;
	if (relu)
		*d = (cpu_wide)((cpu_mask)*d & (y > 0));
}

ISA_INLINE void
reduce_all(const struct walk *u, bool half, size_t width, const struct incoming *in, bool two, const struct wide *w,
    bool relu, struct sums *s)
{
	cpu_wide x = { 0 }, d = { 0 }, none = { 0 };
	size_t i = 0;

	for (; i < u->vectors; i++) {
		if (i % RUN == 0)
			settle(s);
		incoming(in, i, half, width, two, w, relu, &x, &d);
		s->a += d;
		s->b += d * (x - w->mean);
	}
	if (u->tail > 0) {
		x = d = none;
		incoming(in, i, half, u->tail, two, w, relu, &x, &d);
		s->a += d;
		s->b += d * (x - w->mean);
	}
}

/* s1 = sum dy, s2 = sum dy (x - mean). */
ISA_CLONES static void
unit_reduce(const struct walk *u, const struct incoming *in, const struct lanes *c, bool relu, float *restrict s1,
    float *restrict s2)
{
	struct sums s = { { 0 }, { 0 }, { 0 }, { 0 } };
	struct wide w;

	widen_all(c, u->period, &w);
#define REDUCE(half, width) reduce_all(u, half, width, in, false, &w, relu, &s)
#define REDUCE_TWO(half, width) reduce_all(u, half, width, in, true, &w, relu, &s)
	if (in->d1.p != NULL)
		EACH_KIND(u, REDUCE_TWO);
	else
		EACH_KIND(u, REDUCE);
	narrow(&s, u, s1, s2);
}

ISA_INLINE void
backward(const struct incoming *in, size_t i, bool half, size_t width, bool two, const struct wide *w, bool relu,
    cpu_wide *dx)
{
	cpu_wide x = { 0 }, d = { 0 };

	incoming(in, i, half, width, two, w, relu, &x, &d);
	*dx = w->scale * d + (w->k1 * (x - w->mean) + w->k0);
}

ISA_INLINE void
backward_all(const struct walk *u, bool half, size_t width, const struct incoming *in, bool two, const struct line *dx,
    const struct wide *w, bool relu)
{
	cpu_wide v;
	size_t i = 0;

	for (; i < u->vectors; i++) {
		backward(in, i, half, width, two, w, relu, &v);
		cpu_set(&v, dx->p, i * dx->stride, half, width);
	}
	if (u->tail > 0) {
		backward(in, i, half, u->tail, two, w, relu, &v);
		cpu_store_part(&v, dx->p, i * dx->stride, half, u->tail);
	}
}

/* dx may be x: each number is read before it is written. */
ISA_CLONES static void
unit_backward(const struct walk *u, const struct incoming *in, const struct line *dx, const struct lanes *c, bool relu)
{
	struct wide w;

	widen_all(c, u->period, &w);
#define BACKWARD(half, width) backward_all(u, half, width, in, false, dx, &w, relu)
#define BACKWARD_TWO(half, width) backward_all(u, half, width, in, true, dx, &w, relu)
	if (in->d1.p != NULL)
		EACH_KIND(u, BACKWARD_TWO);
	else
		EACH_KIND(u, BACKWARD);
}

/* ------ whole batches ------ */

size_t
cpu_bn_scratch(uint32_t n, size_t lanes)
{
	return 2 * (size_t)n * lanes;
}

/* May all of these be walked in vectors of several pixels?  Then so, else pixel by pixel. */
static struct walk
walk_of(const struct cpu_view *x, size_t g, const struct cpu_view *more, uint32_t nmore)
{
	size_t lanes = cpu_lanes(x), count = (size_t)x->h * x->w * lanes;
	bool whole = x->pitch == lanes && CPU_WIDE % lanes == 0;

	for (uint32_t k = 0; k < nmore; k++)
		whole = whole && more[k].pitch == lanes;
	if (whole)
		return (struct walk) { count / CPU_WIDE, CPU_WIDE, lanes, count % CPU_WIDE, x->half };
	return (struct walk) { (size_t)x->h * x->w, cpu_width(x, g), CPU_WIDE, 0, x->half };
}

static struct line
line_of(const struct walk *u, const struct cpu_view *v, size_t i, size_t g)
{
	return (struct line) { cpu_group(v, i, g), u->width == CPU_WIDE && u->period < CPU_WIDE ? CPU_WIDE : v->pitch };
}

static struct incoming
incoming_of(const struct walk *u, const struct cpu_view *x, const struct cpu_view *dy, uint32_t ndy, size_t i, size_t g)
{
	struct incoming in = { line_of(u, x, i, g), line_of(u, &dy[0], i, g), { NULL, 0 } };

	if (ndy > 1)
		in.d1 = line_of(u, &dy[1], i, g);
	return in;
}

/* The two sums of unit (i, g): s1 [width], s2 [width]. */
static float *
sums_at(const struct cpu_view *x, float *scratch, size_t i, size_t g)
{
	return scratch + 2 * (i * cpu_blocks(x) * x->block + g * cpu_lanes(x));
}

static struct lanes
lanes_at(const struct cpu_bn *bn, size_t first)
{
	return (struct lanes) { bn->scale + first, bn->shift + first, bn->mean + first, bn->k1 + first, bn->k0 + first };
}

/* Mean and variance of channel l of group g from the sums of its units. */
static void
join_moments(const struct cpu_view *x, uint32_t n, float *scratch, size_t g, size_t l, struct cpu_bn *bn)
{
	double pixels = (double)x->h * x->w, mean = 0, squares = 0;

	for (size_t i = 0; i < n; i++)
		mean += cpu_number(cpu_group(x, i, g), l, x->half) + sums_at(x, scratch, i, g)[l] / pixels;
	mean /= n;
	for (size_t i = 0; i < n; i++) {
		const float *s = sums_at(x, scratch, i, g);
		double off = s[l] / pixels, d = cpu_number(cpu_group(x, i, g), l, x->half) + off - mean;

		squares += s[cpu_width(x, g) + l] - s[l] * off + pixels * d * d;
	}
	bn->mean[g * cpu_lanes(x) + l] = (float)mean;
	bn->var[g * cpu_lanes(x) + l] = (float)fmax(squares / (n * pixels), 0);
}

void
cpu_bn_moments(const struct cpu_view *x, uint32_t n, float *scratch, struct cpu_bn *bn)
{
	size_t groups = cpu_groups(x), lanes = cpu_lanes(x);

	#pragma omp parallel for
	for (size_t k = 0; k < n * groups; k++) {
		size_t i = k / groups, g = k % groups;
		struct walk u = walk_of(x, g, NULL, 0);
		struct line from = line_of(&u, x, i, g);
		float *s = sums_at(x, scratch, i, g);

		unit_moments(&u, &from, s, s + cpu_width(x, g));
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
	size_t groups = cpu_groups(x);

	#pragma omp parallel for
	for (size_t k = 0; k < n * groups; k++) {
		size_t i = k / groups, g = k % groups;
		struct walk u = walk_of(x, g, y, 1);
		struct line from = line_of(&u, x, i, g), to = line_of(&u, y, i, g);
		struct lanes c = lanes_at(bn, g * cpu_lanes(x));

		unit_forward(&u, &from, &to, &c, relu);
	}
}

/* dbeta, dgamma and the coefficients of dx for channel l of block b. */
static void
join_reduced(const struct cpu_view *x, uint32_t n, float *scratch, size_t g, size_t l, float eps, struct cpu_bn *bn)
{
	size_t c = g * cpu_lanes(x) + l;
	double m = (double)n * x->h * x->w, rstd = 1 / sqrt((double)bn->var[c] + (double)eps), s1 = 0, s2 = 0;

	for (size_t i = 0; i < n; i++) {
		const float *s = sums_at(x, scratch, i, g);

		s1 += s[l];
		s2 += s[cpu_width(x, g) + l];
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
	size_t groups = cpu_groups(x), lanes = cpu_lanes(x);

	#pragma omp parallel for
	for (size_t k = 0; k < n * groups; k++) {
		size_t i = k / groups, g = k % groups;
		struct walk u = walk_of(x, g, dy, ndy);
		struct incoming in = incoming_of(&u, x, dy, ndy, i, g);
		struct lanes c = lanes_at(bn, g * lanes);
		float *s = sums_at(x, scratch, i, g);

		unit_reduce(&u, &in, &c, relu, s, s + cpu_width(x, g));
	}
	#pragma omp parallel for
	for (size_t c = 0; c < x->c; c++)
		join_reduced(x, n, scratch, c / lanes, c % lanes, eps, bn);
}

void
cpu_bn_backward(const struct cpu_view *x, const struct cpu_view *dy, uint32_t ndy, const struct cpu_view *dx,
    uint32_t n, float *scratch, struct cpu_bn *bn, bool relu, bool constant, float eps)
{
	size_t groups = cpu_groups(x);

	if (!constant)
		reduce_batch(x, dy, ndy, n, scratch, bn, relu, eps);
	if (dx == NULL)
		return;
	#pragma omp parallel for
	for (size_t k = 0; k < n * groups; k++) {
		size_t i = k / groups, g = k % groups;
		struct walk u = walk_of(x, g, dy, ndy);
		struct incoming in = incoming_of(&u, x, dy, ndy, i, g);
		struct line to = line_of(&u, dx, i, g);
		struct lanes c = lanes_at(bn, g * cpu_lanes(x));

		unit_backward(&u, &in, &to, &c, relu);
	}
}
