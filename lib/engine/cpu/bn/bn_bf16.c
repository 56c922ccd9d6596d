/* bn_bf16 - batch norm of one sample's groups of channels in bf16. */
#include "engine/cpu/bn/bn_bf16.h"

#include "base/isa.h"
#include "engine/cpu/bn/bn_gelu.h"

#include <stdint.h>
#include <string.h>

#define LANES	16u
#define RUN	32u	/* pixels whose sums are f32, as in bn_unit.c */
#define STEP	8u	/* pixels of two groups before those of the next two; divides RUN */
#define AHEAD	32u	/* pixels from one that is loaded to one that is fetched */
#define UNIT_INLINE ISA_BF16 ISA_INLINE

/* Not may_alias, so that the compiler keeps them in registers. */
typedef float floats __attribute__((vector_size(64)));

/* Two adjacent groups, or the last one in the first element. */
struct pair {
	floats v[2];
};

struct coeffs {
	struct pair scale, shift, mean, k1, k0;
};

/* Two sums for each channel: a and b of this run, all_a and all_b of the runs before. */
struct sums {
	struct pair a, b;
	double	    all_a[2 * LANES], all_b[2 * LANES];
};

/* Some pixels of a pair of groups.  groups, 1 or 2, is a constant where pixels are read or written. */
struct run {
	size_t first, count, channel, groups;
};

bool
bn_bf16_fits(const struct bn_walk *u)
{
	return u->bf16 && u->width == LANES && u->period == LANES && u->tail == 0 && isa_level() >= ISA_AVX512_BF16;
}

bool
bn_bf16_fits_channels(size_t c)
{
	return c % LANES == 0 && isa_level() >= ISA_AVX512_BF16;
}

#define EACH(k, groups) \
	_Pragma("GCC unroll 2") \
	for (size_t k = 0; k < (groups); k++)

UNIT_INLINE const uint16_t *
find_pixel(const struct run *r, const struct bn_line *line, size_t i)
{
	return (const uint16_t *)line->p + (r->first + i) * line->stride + r->channel;
}

/* Loads a pixel, and fetches a later one: the processor does not foresee which ones come next. */
UNIT_INLINE void
load_pixel(const struct run *r, const struct bn_line *line, size_t i, size_t groups, struct pair *to)
{
	const uint16_t *from = find_pixel(r, line, i);

	__builtin_prefetch(from + AHEAD * line->stride);
	EACH(k, groups)
		isa_load_bf16(from + k * LANES, &to->v[k]);
}

UNIT_INLINE void
store_pixel(const struct pair *v, const struct run *r, const struct bn_line *line, size_t i, size_t groups)
{
	void *to = (void *)(uintptr_t)find_pixel(r, line, i);

	if (groups == 2)
		isa_store_line_bf16(v, to, line->stream);
	else
		isa_store_bf16(v, to);
}

/* The next pixels of the pair of groups from g on. */
UNIT_INLINE struct run
next_run(const struct bn_walk *u, size_t most, size_t first, size_t g)
{
	const size_t left = u->vectors - first;

	return (struct run){ first, left < most ? left : most, g * LANES, u->groups - g < 2 ? 1 : 2 };
}

/* A unit of one or two groups has no others in between. */
UNIT_INLINE size_t
most_pixels(const struct bn_walk *u, size_t alone)
{
	return u->groups > 2 ? STEP : alone;
}

/* DO(groups) for each run and pair of groups.  It may use run_, the run, and pair_, the index of the pair. */
#define EACH_RUN(u, most, DO) \
	for (size_t i_ = 0; i_ < (u)->vectors; i_ += (most)) \
		for (size_t g_ = 0; g_ < (u)->groups; g_ += 2) { \
			const struct run run_ = next_run(u, most, i_, g_); \
			const size_t pair_ = g_ / 2; \
			\
			if (run_.groups == 2) \
				DO(2); \
			else \
				DO(1); \
		}

#define PAIRS (BN_GROUPS / 2)

UNIT_INLINE void
copy_channels(const struct bn_walk *u, const float *from, size_t g, struct pair *to)
{
	memcpy(to, from + g * LANES, (u->groups - g < 2 ? 1 : 2) * sizeof(*to->v));
}

/* w [pairs] */
UNIT_INLINE void
copy_coefficients(const struct bn_walk *u, const struct bn_lanes *c, struct coeffs *w)
{
	for (size_t g = 0; g < u->groups; g += 2, w++) {
		copy_channels(u, c->scale, g, &w->scale);
		copy_channels(u, c->shift, g, &w->shift);
		copy_channels(u, c->mean, g, &w->mean);
		copy_channels(u, c->k1, g, &w->k1);
		copy_channels(u, c->k0, g, &w->k0);
	}
}

UNIT_INLINE void
flush_sums(struct sums *s)
{
	float a[2 * LANES], b[2 * LANES];

	memcpy(a, &s->a, sizeof(a));
	memcpy(b, &s->b, sizeof(b));
	for (size_t j = 0; j < 2 * LANES; j++) {
		s->all_a[j] += (double)a[j];
		s->all_b[j] += (double)b[j];
	}
	s->a = s->b = (struct pair){ 0 };
}

/* to [groups, 2, LANES] */
UNIT_INLINE void
write_sums(const struct bn_walk *u, struct sums *s, float *to)
{
	for (size_t g = 0; g < u->groups; g += 2)
		flush_sums(&s[g / 2]);
	for (size_t g = 0; g < u->groups; g++, to += 2 * LANES)
		for (size_t l = 0; l < LANES; l++) {
			to[l] = (float)s[g / 2].all_a[g % 2 * LANES + l];
			to[LANES + l] = (float)s[g / 2].all_b[g % 2 * LANES + l];
		}
}

UNIT_INLINE void
measure_run(const struct run *r, size_t groups, const struct bn_line *x, const struct pair *first, struct sums *s)
{
	struct pair a, b, v;

	if (r->first % RUN == 0)
		flush_sums(s);
	a = s->a;
	b = s->b;
	for (size_t i = 0; i < r->count; i++) {
		load_pixel(r, x, i, groups, &v);
		EACH(k, groups) {
			const floats d = v.v[k] - first->v[k];

			a.v[k] += d;
			b.v[k] += d * d;
		}
	}
	s->a = a;
	s->b = b;
}

ISA_BF16 void
bn_bf16_moments(const struct bn_walk *u, const struct bn_line *x, float *s)
{
	const struct bn_line from = *x;
	struct sums sums[PAIRS];
	struct pair first[PAIRS];

	memset(sums, 0, (u->groups + 1) / 2 * sizeof(*sums));
	for (size_t g = 0; g < u->groups; g++)
		isa_load_bf16((const uint16_t *)x->p + g * LANES, &first[g / 2].v[g % 2]);
#define MEASURE(groups) measure_run(&run_, groups, &from, &first[pair_], &sums[pair_])
	EACH_RUN(u, most_pixels(u, RUN), MEASURE)
	write_sums(u, sums, s);
}

/* 1/2 + x p(x^2), as in bn_gelu.h. */
UNIT_INLINE void
add_odd_to_half(const floats *x, const float c[BN_GELU_TERMS], floats *to)
{
	const floats zero = { 0 }, half = zero + 0.5f;
	floats v = *x, z, p = zero + c[0];

	isa_clamp_bf16(-BN_GELU_MOST, BN_GELU_MOST, &v);
	z = v * v;
	#pragma GCC unroll 7
	for (int i = 1; i < BN_GELU_TERMS; i++) {
		const floats term = zero + c[i];

		isa_fma_bf16(&p, &z, &term, &p);
	}
	isa_fma_bf16(&v, &p, &half, to);
}

UNIT_INLINE void
activate(enum bn_act act, floats *v)
{
	static const float normal[] = BN_GELU_NORMAL;
	floats share;

	if (act == BN_RELU)
		isa_keep_bf16(v, true, v);
	if (act != BN_GELU)
		return;
	add_odd_to_half(v, normal, &share);
	isa_clamp_bf16(0, 1, &share);	/* it is a little outside at -4 and 4; gelu multiplies it by any v */
	*v *= share;
}

/* Turns the gradient of act(y) into that of y. */
UNIT_INLINE void
deactivate(enum bn_act act, const floats *y, floats *d)
{
	static const float slope[] = BN_GELU_SLOPE;
	floats by;

	if (act == BN_RELU)
		isa_keep_bf16(y, false, d);
	if (act != BN_GELU)
		return;
	add_odd_to_half(y, slope, &by);
	*d *= by;
}

UNIT_INLINE void
forward_run(const struct run *r, size_t groups, const struct bn_line *x, const struct bn_line *y,
    const struct coeffs *w, enum bn_act act)
{
	for (size_t i = 0; i < r->count; i++) {
		struct pair v;

		load_pixel(r, x, i, groups, &v);
		EACH(k, groups) {
			v.v[k] = w->scale.v[k] * v.v[k] + w->shift.v[k];
			activate(act, &v.v[k]);
		}
		store_pixel(&v, r, y, i, groups);
	}
}

ISA_BF16 void
bn_bf16_forward(const struct bn_walk *u, const struct bn_line *x, const struct bn_line *y, const struct bn_lanes *c,
    enum bn_act act)
{
	const struct bn_line from = *x, to = *y;
	struct coeffs w[PAIRS];

	copy_coefficients(u, c, w);
#define FORWARD(groups) forward_run(&run_, groups, &from, &to, &w[pair_], BN_PLAIN)
#define FORWARD_RELU(groups) forward_run(&run_, groups, &from, &to, &w[pair_], BN_RELU)
#define FORWARD_GELU(groups) forward_run(&run_, groups, &from, &to, &w[pair_], BN_GELU)
	if (act == BN_GELU)
		EACH_RUN(u, most_pixels(u, u->vectors), FORWARD_GELU)
	else if (act == BN_RELU)
		EACH_RUN(u, most_pixels(u, u->vectors), FORWARD_RELU)
	else
		EACH_RUN(u, most_pixels(u, u->vectors), FORWARD)
	if (y->stream)
		isa_streamed();
}

/* Loads x, and d: the sum of dy's parts, times the slope of the activation. */
UNIT_INLINE void
read_incoming(const struct run *r, size_t groups, const struct bn_incoming *in, size_t i, const struct coeffs *w,
    enum bn_act act, struct pair *x, struct pair *d)
{
	load_pixel(r, &in->x, i, groups, x);
	load_pixel(r, &in->d0, i, groups, d);
	if (in->d1.p != NULL) {
		struct pair more;

		load_pixel(r, &in->d1, i, groups, &more);
		EACH(k, groups)
			d->v[k] += more.v[k];
	}
	if (act != BN_PLAIN)
		EACH(k, groups) {
			const floats y = w->scale.v[k] * x->v[k] + w->shift.v[k];

			deactivate(act, &y, &d->v[k]);
		}
}

UNIT_INLINE void
reduce_run(const struct run *r, size_t groups, const struct bn_incoming *in, const struct coeffs *from, enum bn_act act,
    struct sums *s)
{
	const struct coeffs w = *from;
	struct pair a, b, x, d;

	if (r->first % RUN == 0)
		flush_sums(s);
	a = s->a;
	b = s->b;
	for (size_t i = 0; i < r->count; i++) {
		read_incoming(r, groups, in, i, &w, act, &x, &d);
		EACH(k, groups) {
			a.v[k] += d.v[k];
			b.v[k] += d.v[k] * (x.v[k] - w.mean.v[k]);
		}
	}
	s->a = a;
	s->b = b;
}

ISA_BF16 void
bn_bf16_reduce(const struct bn_walk *u, const struct bn_incoming *in, const struct bn_lanes *c, enum bn_act act,
    float *s)
{
	const struct bn_incoming from = *in;
	struct sums sums[PAIRS];
	struct coeffs w[PAIRS];

	memset(sums, 0, (u->groups + 1) / 2 * sizeof(*sums));
	copy_coefficients(u, c, w);
#define REDUCE(groups) reduce_run(&run_, groups, &from, &w[pair_], BN_PLAIN, &sums[pair_])
#define REDUCE_RELU(groups) reduce_run(&run_, groups, &from, &w[pair_], BN_RELU, &sums[pair_])
#define REDUCE_GELU(groups) reduce_run(&run_, groups, &from, &w[pair_], BN_GELU, &sums[pair_])
	if (act == BN_GELU)
		EACH_RUN(u, most_pixels(u, RUN), REDUCE_GELU)
	else if (act == BN_RELU)
		EACH_RUN(u, most_pixels(u, RUN), REDUCE_RELU)
	else
		EACH_RUN(u, most_pixels(u, RUN), REDUCE)
	write_sums(u, sums, s);
}

UNIT_INLINE void
backward_run(const struct run *r, size_t groups, const struct bn_incoming *in, const struct bn_line *dx,
    const struct coeffs *w, enum bn_act act)
{
	struct pair x, d, more;

	for (size_t i = 0; i < r->count; i++) {
		read_incoming(r, groups, in, i, w, act, &x, &d);
		EACH(k, groups)
			d.v[k] = w->scale.v[k] * d.v[k] +
			    (w->k1.v[k] * (x.v[k] - w->mean.v[k]) + w->k0.v[k]);
		if (in->plus.p != NULL) {
			load_pixel(r, &in->plus, i, groups, &more);
			EACH(k, groups)
				d.v[k] += more.v[k];
		}
		store_pixel(&d, r, dx, i, groups);
	}
}

ISA_BF16 void
bn_bf16_backward(const struct bn_walk *u, const struct bn_incoming *in, const struct bn_line *dx,
    const struct bn_lanes *c, enum bn_act act)
{
	const struct bn_incoming from = *in;
	const struct bn_line to = *dx;
	struct coeffs w[PAIRS];

	copy_coefficients(u, c, w);
#define BACKWARD(groups) backward_run(&run_, groups, &from, &to, &w[pair_], BN_PLAIN)
#define BACKWARD_RELU(groups) backward_run(&run_, groups, &from, &to, &w[pair_], BN_RELU)
#define BACKWARD_GELU(groups) backward_run(&run_, groups, &from, &to, &w[pair_], BN_GELU)
	if (act == BN_GELU)
		EACH_RUN(u, most_pixels(u, u->vectors), BACKWARD_GELU)
	else if (act == BN_RELU)
		EACH_RUN(u, most_pixels(u, u->vectors), BACKWARD_RELU)
	else
		EACH_RUN(u, most_pixels(u, u->vectors), BACKWARD)
	if (dx->stream)
		isa_streamed();
}
