/*
 * cpu_bn - batch norm, with ReLU or gelu in the same pass.
 *
 * For the m = N*H*W values of a channel (Ioffe, Szegedy, "Batch Normalization", ICML 2015):
 *
 *	mean = sum x / m;  var = sum (x - mean)^2 / m;  rstd = 1 / sqrt(var + eps)
 *	y = scale x + shift,  scale = gamma rstd,  shift = beta - scale mean
 *	dbeta = sum dy;  dgamma = rstd sum dy (x - mean)
 *	dx = scale (dy - dbeta / m - (x - mean) rstd dgamma / m) = scale dy + k1 (x - mean) + k0
 *
 * In a frozen layer mean and var are constants, k1 = k0 = 0, and dx = scale dy.
 *
 * With ReLU, dy counts where scale x + shift > 0.  With gelu, dy is multiplied by the slope of gelu at scale x + shift.
 * The backward pass computes this again instead of keeping it.
 *
 * Sums are taken relative to the unit's first pixel, so that a large mean costs no digits: in f32 over a run of
 * vectors, then in f64, because a deep net multiplies rounding errors.  They are joined sample by sample (Chan, Golub,
 * LeVeque, "Updating formulae", 1979), so the number of threads does not change the bits.
 *
 * A pass that needs the sums begins with a thread's last sample, which its cache still has.  The batch norms of
 * ResNet-50 in f32 take 0.94 of the time that they take from the first sample on (two cores of an EPYC 9004, 32 MB of
 * cache).
 */
#include "engine/cpu/cpu.h"
#include "engine/cpu/bn/bn_bf16.h"
#include "engine/cpu/bn/bn_join.h"
#include "engine/cpu/bn/bn_unit.h"
#include "engine/cpu/cpu_vec.h"
#include "engine/share.h"

#include <math.h>
#include <omp.h>

size_t
cpu_bn_scratch(uint32_t n, size_t lanes)
{
	return 2 * (size_t)n * lanes;
}

/* Are the pixels of a group adjacent? */
static bool
is_whole(const struct cpu_view *x, const struct cpu_view *more, uint32_t nmore)
{
	size_t lanes = cpu_lanes(x);
	bool whole = x->pitch == lanes;

	for (uint32_t k = 0; k < nmore; k++)
		whole = whole && more[k].pitch == lanes;
	return whole;
}

/* Groups that follow each other within a pixel are one unit, unless there would be too few units for all threads. */
static size_t
count_unit_groups(const struct cpu_view *x, uint32_t n)
{
	size_t groups = x->block == cpu_lanes(x) ? 1 : BN_GROUPS;

	while (groups > 1 && n * ((cpu_groups(x) + groups - 1) / groups) < (size_t)omp_get_max_threads())
		groups /= 2;
	return groups;
}

/* The units of a batch: each has this many groups, and each sample this many units. */
struct units {
	size_t groups, each;
};

static struct units
describe_units(const struct cpu_view *x, uint32_t n)
{
	size_t groups = count_unit_groups(x, n);

	return (struct units) { groups, (cpu_groups(x) + groups - 1) / groups };
}

/* The walk over the unit that begins with group g: in whole vectors if no view has a stride, else pixel by pixel. */
static struct bn_walk
plan_walk(const struct cpu_view *x, const struct units *each, size_t g, const struct cpu_view *more, uint32_t nmore)
{
	size_t lanes = cpu_lanes(x), count = (size_t)x->h * x->w * lanes, left = cpu_groups(x) - g;
	size_t groups = left < each->groups ? left : each->groups, vectors = 1;

	if (is_whole(x, more, nmore)) {
		while (vectors * CPU_VEC % lanes != 0)
			vectors++;
		return (struct bn_walk) { vectors, count / (vectors * CPU_VEC), CPU_VEC, lanes,
		    count % (vectors * CPU_VEC), x->bf16 };
	}
	return (struct bn_walk) { groups, (size_t)x->h * x->w, cpu_width(x, g + groups - 1), CPU_VEC, 0, x->bf16 };
}

static struct bn_line
get_line(const struct bn_walk *u, const struct cpu_view *v, size_t i, size_t g)
{
	return (struct bn_line) { cpu_group(v, i, g), u->period < CPU_VEC ? u->groups * CPU_VEC : v->pitch, false };
}

/* As get_line() for what is written; with stream by non-temporal stores, if these write whole lines of the cache. */
static struct bn_line
get_result(const struct bn_walk *u, const struct cpu_view *v, bool stream, size_t i, size_t g)
{
	struct bn_line l = get_line(u, v, i, g);
	const bool whole = u->bf16 ? bn_bf16_fits(u) : u->width == CPU_VEC;

	l.stream = stream && whole && (l.stride * cpu_size(v) | (uintptr_t)l.p) % 64 == 0;
	return l;
}

/* The inner loops. */
struct kernels {
	void (*moments)(const struct bn_walk *u, const struct bn_line *x, float *s);
	void (*forward)(const struct bn_walk *u, const struct bn_line *x, const struct bn_line *y,
	    const struct bn_lanes *c, enum bn_act act);
	void (*reduce)(const struct bn_walk *u, const struct bn_incoming *in, const struct bn_lanes *c, enum bn_act act,
	    float *s);
	void (*backward)(const struct bn_walk *u, const struct bn_incoming *in, const struct bn_line *dx,
	    const struct bn_lanes *c, enum bn_act act);
};

static const struct kernels *
choose_kernels(const struct bn_walk *u, enum bn_act act)
{
	static const struct kernels any = { bn_unit_moments, bn_unit_forward, bn_unit_reduce, bn_unit_backward };
	static const struct kernels bf16 = { bn_bf16_moments, bn_bf16_forward, bn_bf16_reduce, bn_bf16_backward };

	assert(act != BN_GELU || bn_bf16_fits(u));
	return bn_bf16_fits(u) ? &bf16 : &any;
}

static struct bn_incoming
describe_incoming(const struct bn_walk *u, const struct cpu_view *x, const struct cpu_view *dy, uint32_t ndy, size_t i,
    size_t g)
{
	struct bn_incoming in = { .x = get_line(u, x, i, g), .d0 = get_line(u, &dy[0], i, g) };

	if (ndy > 1)
		in.d1 = get_line(u, &dy[1], i, g);
	return in;
}

/* The two sums of group g of sample i: s1 [width], s2 [width]. */
static float *
get_sums(const struct cpu_view *x, float *scratch, size_t i, size_t g)
{
	return scratch + 2 * (i * cpu_blocks(x) * x->block + g * cpu_lanes(x));
}

static struct bn_lanes
load_lanes(const struct cpu_bn *bn, size_t first)
{
	return (struct bn_lanes) { bn->scale + first, bn->shift + first, bn->mean + first, bn->k1 + first,
	    bn->k0 + first };
}

static struct bn_sums
describe_sums(const struct cpu_view *x, uint32_t n, float *scratch, size_t g)
{
	return (struct bn_sums) { get_sums(x, scratch, 0, g), 2 * cpu_blocks(x) * x->block, n, cpu_width(x, g),
	    (double)x->h * x->w, cpu_group(x, 0, g), x->step, x->bf16 };
}

/* Mean and variance of the channels of group g. */
static void
join_moments(const struct cpu_view *x, uint32_t n, float *scratch, size_t g, struct cpu_bn *bn)
{
	const struct bn_sums sums = describe_sums(x, n, scratch, g);
	const size_t first = g * cpu_lanes(x);

	bn_join_moments(&sums, bn->mean + first, bn->var + first);
}

void
cpu_bn_moments(const struct cpu_view *x, uint32_t n, float *scratch, struct cpu_bn *bn)
{
	const struct units units = describe_units(x, n);
	struct share all = share_start(n * units.each);

	#pragma omp parallel
	SHARE_EACH(&all, k) {
		size_t i = k / units.each, g = k % units.each * units.groups;
		struct bn_walk u = plan_walk(x, &units, g, NULL, 0);
		struct bn_line from = get_line(&u, x, i, g);

		choose_kernels(&u, BN_PLAIN)->moments(&u, &from, get_sums(x, scratch, i, g));
	}
	#pragma omp parallel for
	for (size_t g = 0; g < cpu_groups(x); g++)
		join_moments(x, n, scratch, g, bn);
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
cpu_bn_forward(const struct cpu_view *x, const struct cpu_view *y, uint32_t n, const struct cpu_bn *bn, enum bn_act act)
{
	const struct units units = describe_units(x, n);
	const bool stream = cpu_arena_large(y, n);
	struct share all = share_start(n * units.each);

	all.last_first = true;
	#pragma omp parallel
	SHARE_EACH(&all, k) {
		size_t i = k / units.each, g = k % units.each * units.groups;
		struct bn_walk u = plan_walk(x, &units, g, y, 1);
		struct bn_line from = get_line(&u, x, i, g), to = get_result(&u, y, stream, i, g);
		struct bn_lanes c = load_lanes(bn, g * cpu_lanes(x));

		choose_kernels(&u, act)->forward(&u, &from, &to, &c, act);
	}
}

/* dbeta, dgamma and the coefficients of dx for the channels of group g. */
static void
join_reduced(const struct cpu_view *x, uint32_t n, float *scratch, size_t g, float eps, struct cpu_bn *bn)
{
	const struct bn_sums sums = describe_sums(x, n, scratch, g);
	const double m = (double)n * sums.pixels;
	double s[2 * BN_LANES];

	bn_join_sums(&sums, s);
	for (size_t l = 0, c = g * cpu_lanes(x); l < sums.width && c < x->c; l++, c++) {
		const double rstd = 1 / sqrt((double)bn->var[c] + (double)eps), s1 = s[l], s2 = s[sums.width + l];

		bn->dbeta[c] = (float)s1;
		bn->dgamma[c] = (float)(rstd * s2);
		bn->k0[c] = (float)(-bn->scale[c] * s1 / m);
		bn->k1[c] = (float)(-bn->scale[c] * rstd * rstd * s2 / m);
	}
}

static void
reduce_batch(const struct cpu_view *x, const struct cpu_view *dy, uint32_t ndy, uint32_t n, float *scratch,
    struct cpu_bn *bn, enum bn_act act, float eps)
{
	const struct units units = describe_units(x, n);
	struct share all = share_start(n * units.each);

	#pragma omp parallel
	SHARE_EACH(&all, k) {
		size_t i = k / units.each, g = k % units.each * units.groups;
		struct bn_walk u = plan_walk(x, &units, g, dy, ndy);
		struct bn_incoming in = describe_incoming(&u, x, dy, ndy, i, g);
		struct bn_lanes c = load_lanes(bn, g * cpu_lanes(x));

		choose_kernels(&u, act)->reduce(&u, &in, &c, act, get_sums(x, scratch, i, g));
	}
	#pragma omp parallel for
	for (size_t g = 0; g < cpu_groups(x); g++)
		join_reduced(x, n, scratch, g, eps, bn);
}

void
cpu_bn_backward(const struct cpu_view *x, const struct cpu_view *dy, uint32_t ndy, const struct cpu_view *plus,
    const struct cpu_view *dx, uint32_t n, float *scratch, struct cpu_bn *bn, enum bn_act act, bool constant, float eps)
{
	const struct units units = describe_units(x, n);
	struct share all = share_start(n * units.each);
	bool stream;

	if (!constant)
		reduce_batch(x, dy, ndy, n, scratch, bn, act, eps);
	if (dx == NULL)
		return;
	stream = cpu_arena_large(dx, n) && dx->p != x->p && (plus == NULL || dx->p != plus->p);
	all.last_first = true;
	#pragma omp parallel
	SHARE_EACH(&all, k) {
		size_t i = k / units.each, g = k % units.each * units.groups;
		struct bn_walk u = plan_walk(x, &units, g, dy, ndy);
		struct bn_incoming in = describe_incoming(&u, x, dy, ndy, i, g);
		struct bn_line to = get_result(&u, dx, stream, i, g);
		struct bn_lanes c = load_lanes(bn, g * cpu_lanes(x));

		if (plus != NULL)
			in.plus = get_line(&u, plus, i, g);
		choose_kernels(&u, act)->backward(&u, &in, &to, &c, act);
	}
}
