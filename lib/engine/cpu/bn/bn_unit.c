/* bn_unit - batch norm of one sample's groups of channels. */
#include "engine/cpu/bn/bn_unit.h"
#include "engine/cpu/cpu_vec.h"

/* struct bn_lanes for the CPU_VEC elements of a vector. */
struct coeffs {
	struct cpu_vec scale, shift, mean, k1, k0;
};

#define RUN	32u	/* vectors whose sums are f32 */
#define STEP	8u	/* vectors of a group before those of the next, which are beside them; divides RUN */
#define AHEAD	32u	/* vectors from one that is loaded to one that is fetched */

/* Two sums for each element, at its cpu_place(): a and b of this run, all_a and all_b of the runs before. */
struct sums {
	struct cpu_vec a, b;
	double	 all_a[CPU_VEC], all_b[CPU_VEC];
};

/* The values of the channels of group g. */
ISA_INLINE void
widen_channels(const struct bn_walk *u, const float *from, size_t g, struct cpu_vec *to)
{
	float f[CPU_VEC];

	for (size_t j = 0, at = g * CPU_VEC; j < CPU_VEC; j++, at++)
		f[j] = from[u->period == CPU_VEC ? at : at % u->period];
	cpu_from_floats(f, u->bf16, to);
}

/* w [groups]. */
ISA_INLINE void
widen_all(const struct bn_walk *u, const struct bn_lanes *c, struct coeffs *w)
{
	for (size_t g = 0; g < u->groups; g++, w++) {
		widen_channels(u, c->scale, g, &w->scale);
		widen_channels(u, c->shift, g, &w->shift);
		widen_channels(u, c->mean, g, &w->mean);
		widen_channels(u, c->k1, g, &w->k1);
		widen_channels(u, c->k0, g, &w->k0);
	}
}

ISA_INLINE void
flush_sums(struct sums *s)
{
	float a[CPU_VEC], b[CPU_VEC];

	memcpy(a, &s->a, sizeof(a));
	memcpy(b, &s->b, sizeof(b));
	for (size_t j = 0; j < CPU_VEC; j++) {
		s->all_a[j] += (double)a[j];
		s->all_b[j] += (double)b[j];
	}
	s->a = s->b = (struct cpu_vec){ 0 };
}

/* The channels of a group. */
ISA_INLINE size_t
count_channels(const struct bn_walk *u, size_t g)
{
	return g + 1 < u->groups ? CPU_VEC : u->width;
}

/* Adds the sums of elements first, first + period, ... of these groups, which are `elements`. */
ISA_INLINE void
add_elements(const struct sums *s, size_t first, size_t period, size_t elements, bool bf16, float *to_a, float *to_b)
{
	double a = 0, b = 0;

	for (size_t e = first; e < elements; e += period) {
		const size_t at = cpu_place(e % CPU_VEC, bf16);

		a += s[e / CPU_VEC].all_a[at];
		b += s[e / CPU_VEC].all_b[at];
	}
	*to_a = (float)a;
	*to_b = (float)b;
}

/* Adds the sums of all elements of a channel. */
ISA_INLINE void
narrow_sums(const struct bn_walk *u, struct sums *s, float *to)
{
	for (size_t g = 0; g < u->groups; g++)
		flush_sums(&s[g]);
	if (u->period < CPU_VEC) {
		for (size_t l = 0; l < u->period; l++)
			add_elements(s, l, u->period, u->groups * CPU_VEC, u->bf16, &to[l], &to[u->period + l]);
		return;
	}
	for (size_t g = 0; g < u->groups; g++, s++, to += 2 * CPU_VEC) {
		const size_t width = count_channels(u, g);

		for (size_t l = 0; l < width; l++)
			add_elements(s, l, CPU_VEC, CPU_VEC, u->bf16, &to[l], &to[width + l]);
	}
}

/* Vectors [first, first + count) of group g, and with `tail` that many elements after them. */
struct run {
	size_t g, first, count, tail;
};

ISA_INLINE struct run
next_run(const struct bn_walk *u, size_t most, size_t first, size_t g)
{
	const size_t left = u->vectors - first, before = g * CPU_VEC, tail = u->tail > before ? u->tail - before : 0;

	return (struct run) { .g = g, .first = first, .count = left < most ? left : most,
	    .tail = left > most ? 0 : tail < CPU_VEC ? tail : CPU_VEC };
}

/* The most vectors of a run, if it has this many when there is one group. */
ISA_INLINE size_t
most_vectors(const struct bn_walk *u, size_t alone)
{
	return u->groups > 1 ? STEP : alone;
}

/* Element of vector i of a run's group, for a load or a store. */
ISA_INLINE size_t
run_at(const struct run *r, const struct bn_line *line, size_t i)
{
	return (r->first + i) * line->stride + r->g * CPU_VEC;
}

/*
 * Loads vector i and fetches a later one: the processor does not foresee which pixels of several groups come next, and
 * not enough of several operands.
 *
 * The public functions copy their operands.  A store of a vector may alias anything else, so that the compiler would
 * read the operands' addresses again after each.
 */
ISA_INLINE void
load_vector(const struct run *r, const struct bn_line *line, size_t i, bool bf16, size_t width, struct cpu_vec *v)
{
	const size_t at = run_at(r, line, i), ahead = at + AHEAD * line->stride;

	__builtin_prefetch((const char *)line->p + ahead * (bf16 ? sizeof(uint16_t) : sizeof(float)));
	cpu_load_some(line->p, at, bf16, width, v);
}

ISA_INLINE void
store_vector(const struct cpu_vec *v, const struct run *r, const struct bn_line *line, size_t i, bool bf16,
    size_t width)
{
	/* Only f32 is streamed (get_result()): the compiler leaves the branch out for bf16. */
	if (!bf16 && line->stream)
		cpu_stream(v, (float *)line->p + run_at(r, line, i));
	else
		cpu_store_some(v, line->p, run_at(r, line, i), bf16, width);
}

/* DO(run, bf16, width) for each run, of at most this many vectors, and group; whole vectors give constants. */
#define EACH_RUN(u, most, DO) \
	for (size_t i_ = 0; i_ == 0 || i_ < (u)->vectors; i_ += (most)) \
		for (size_t g_ = 0; g_ < (u)->groups; g_++) { \
			const struct run run_ = next_run(u, most, i_, g_); \
			const size_t width_ = count_channels(u, g_); \
			\
			if (width_ != CPU_VEC) \
				DO(&run_, (u)->bf16, width_); \
			else if ((u)->bf16) \
				DO(&run_, true, CPU_VEC); \
			else \
				DO(&run_, false, CPU_VEC); \
		}

ISA_INLINE void
add_moments(const struct cpu_vec *x, const struct cpu_vec *first, struct sums *s)
{
	CPU_EACH(k) {
		cpu_floats d = x->v[k] - first->v[k];

		s->a.v[k] += d;
		s->b.v[k] += d * d;
	}
}

ISA_INLINE void
measure_moments(const struct run *r, bool bf16, size_t width, const struct bn_line *x, const struct cpu_vec *first,
    struct sums *s)
{
	struct cpu_vec v = *first;

	if (r->first % RUN == 0)
		flush_sums(s);
	for (size_t i = 0; i < r->count; i++) {
		load_vector(r, x, i, bf16, width, &v);
		add_moments(&v, first, s);
	}
	if (r->tail > 0) {
		v = *first;
		cpu_load_part(x->p, run_at(r, x, r->count), bf16, r->tail, &v);
		add_moments(&v, first, s);
	}
}

/* The first pixel's channels in group g. */
ISA_INLINE void
load_first(const struct bn_walk *u, const struct bn_line *x, size_t g, struct cpu_vec *to)
{
	float f[CPU_VEC] = { 0 };

	for (size_t j = 0, at = g * CPU_VEC; j < count_channels(u, g); j++, at++)
		f[j] = cpu_read(x->p, u->period == CPU_VEC ? at : at % u->period, u->bf16);
	cpu_from_floats(f, u->bf16, to);
}

ISA_CLONES(extern, void, bn_unit_moments, (const struct bn_walk *u, const struct bn_line *x, float *s),
    (u, x, s))
{
	const struct bn_line from = *x;
	struct sums sums[BN_GROUPS];
	struct cpu_vec first[BN_GROUPS];

	for (size_t g = 0; g < u->groups; g++) {
		load_first(u, x, g, &first[g]);
		sums[g] = (struct sums){ 0 };
	}
#define MOMENTS(run, bf16, width) measure_moments(run, bf16, width, &from, &first[g_], &sums[g_])
	EACH_RUN(u, most_vectors(u, RUN), MOMENTS)
	narrow_sums(u, sums, s);
}

ISA_INLINE void
bn_forward_wide(const struct cpu_vec *x, struct cpu_vec *y, const struct coeffs *w, bool relu)
{
	CPU_EACH(k) {
		cpu_floats v = w->scale.v[k] * x->v[k] + w->shift.v[k];

		y->v[k] = relu ? (cpu_floats)((cpu_ints)v & ~(v <= 0)) : v;
	}
}

ISA_INLINE void
forward_run(const struct run *r, bool bf16, size_t width, const struct bn_line *x, const struct bn_line *y,
    const struct coeffs *w, bool relu)
{
	struct cpu_vec v = { 0 };

	for (size_t i = 0; i < r->count; i++) {
		load_vector(r, x, i, bf16, width, &v);
		bn_forward_wide(&v, &v, w, relu);
		store_vector(&v, r, y, i, bf16, width);
	}
	if (r->tail > 0) {
		cpu_load_part(x->p, run_at(r, x, r->count), bf16, r->tail, &v);
		bn_forward_wide(&v, &v, w, relu);
		cpu_store_part(&v, y->p, run_at(r, y, r->count), bf16, r->tail);
	}
}

ISA_CLONES(extern, void, bn_unit_forward, (const struct bn_walk *u, const struct bn_line *x,
    const struct bn_line *y, const struct bn_lanes *c, enum bn_act act),
    (u, x, y, c, act))
{
	const struct bn_line from = *x, to = *y;
	struct coeffs w[BN_GROUPS];

	widen_all(u, c, w);
#define FORWARD(run, bf16, width) forward_run(run, bf16, width, &from, &to, &w[g_], false)
#define FORWARD_RELU(run, bf16, width) forward_run(run, bf16, width, &from, &to, &w[g_], true)
	if (act == BN_RELU)
		EACH_RUN(u, most_vectors(u, u->vectors + 1), FORWARD_RELU)
	else
		EACH_RUN(u, most_vectors(u, u->vectors + 1), FORWARD)
	if (y->stream)
		isa_streamed();
}

/* Loads x, and d, the sum of the gradient's parts; 0 where ReLU zeroed the output.  i is a vector of the run. */
ISA_INLINE void
read_incoming(const struct bn_incoming *in, const struct run *r, size_t i, bool bf16, size_t width, bool two,
    const struct coeffs *w, bool relu, struct cpu_vec *x, struct cpu_vec *d)
{
	struct cpu_vec more = { 0 };

	load_vector(r, &in->x, i, bf16, width, x);
	load_vector(r, &in->d0, i, bf16, width, d);
	if (two) {
		load_vector(r, &in->d1, i, bf16, width, &more);
		CPU_EACH(k)
			d->v[k] += more.v[k];
	}
	if (relu)
		CPU_EACH(k)
			d->v[k] = (cpu_floats)((cpu_ints)d->v[k] & (w->scale.v[k] * x->v[k] + w->shift.v[k] > 0));
}

ISA_INLINE void
reduce_wide(const struct cpu_vec *x, const struct cpu_vec *d, const struct coeffs *w, struct sums *s)
{
	CPU_EACH(k) {
		s->a.v[k] += d->v[k];
		s->b.v[k] += d->v[k] * (x->v[k] - w->mean.v[k]);
	}
}

ISA_INLINE void
reduce_run(const struct run *r, bool bf16, size_t width, const struct bn_incoming *in, bool two,
    const struct coeffs *w, bool relu, struct sums *s)
{
	struct cpu_vec x = { 0 }, d = { 0 }, none = { 0 };

	if (r->first % RUN == 0)
		flush_sums(s);
	for (size_t i = 0; i < r->count; i++) {
		read_incoming(in, r, i, bf16, width, two, w, relu, &x, &d);
		reduce_wide(&x, &d, w, s);
	}
	if (r->tail > 0) {
		x = d = none;
		read_incoming(in, r, r->count, bf16, r->tail, two, w, relu, &x, &d);
		reduce_wide(&x, &d, w, s);
	}
}

ISA_CLONES(extern, void, bn_unit_reduce, (const struct bn_walk *u, const struct bn_incoming *in,
    const struct bn_lanes *c, enum bn_act act, float *s),
    (u, in, c, act, s))
{
	const bool relu = act == BN_RELU;
	const struct bn_incoming from = *in;
	struct sums sums[BN_GROUPS];
	struct coeffs w[BN_GROUPS];

	for (size_t g = 0; g < u->groups; g++)
		sums[g] = (struct sums){ 0 };
	widen_all(u, c, w);
#define REDUCE(run, bf16, width) reduce_run(run, bf16, width, &from, false, &w[g_], relu, &sums[g_])
#define REDUCE_TWO(run, bf16, width) reduce_run(run, bf16, width, &from, true, &w[g_], relu, &sums[g_])
	if (in->d1.p != NULL)
		EACH_RUN(u, most_vectors(u, RUN), REDUCE_TWO)
	else
		EACH_RUN(u, most_vectors(u, RUN), REDUCE)
	narrow_sums(u, sums, s);
}

ISA_INLINE void
bn_backward_wide(const struct bn_incoming *in, const struct run *r, size_t i, bool bf16, size_t width, bool two,
    const struct coeffs *w, bool relu, bool plus, struct cpu_vec *dx)
{
	struct cpu_vec x = { 0 }, d = { 0 }, more = { 0 };

	read_incoming(in, r, i, bf16, width, two, w, relu, &x, &d);
	CPU_EACH(k)
		dx->v[k] = w->scale.v[k] * d.v[k] + (w->k1.v[k] * (x.v[k] - w->mean.v[k]) + w->k0.v[k]);
	if (!plus)
		return;
	load_vector(r, &in->plus, i, bf16, width, &more);
	CPU_EACH(k)
		dx->v[k] += more.v[k];
}

/* plus is a constant of the caller, as bf16, width and two are. */
ISA_INLINE void
backward_vectors(const struct run *r, bool bf16, size_t width, const struct bn_incoming *in, bool two,
    const struct bn_line *dx, const struct coeffs *w, bool relu, bool plus)
{
	struct cpu_vec v;

	for (size_t i = 0; i < r->count; i++) {
		bn_backward_wide(in, r, i, bf16, width, two, w, relu, plus, &v);
		store_vector(&v, r, dx, i, bf16, width);
	}
	if (r->tail > 0) {
		bn_backward_wide(in, r, r->count, bf16, r->tail, two, w, relu, plus, &v);
		cpu_store_part(&v, dx->p, run_at(r, dx, r->count), bf16, r->tail);
	}
}

ISA_INLINE void
backward_run(const struct run *r, bool bf16, size_t width, const struct bn_incoming *in, bool two,
    const struct bn_line *dx, const struct coeffs *w, bool relu)
{
	if (in->plus.p != NULL)
		backward_vectors(r, bf16, width, in, two, dx, w, relu, true);
	else
		backward_vectors(r, bf16, width, in, two, dx, w, relu, false);
}

ISA_CLONES(extern, void, bn_unit_backward, (const struct bn_walk *u, const struct bn_incoming *in,
    const struct bn_line *dx, const struct bn_lanes *c, enum bn_act act),
    (u, in, dx, c, act))
{
	const bool relu = act == BN_RELU;
	const struct bn_incoming from = *in;
	const struct bn_line to = *dx;
	struct coeffs w[BN_GROUPS];

	widen_all(u, c, w);
#define BACKWARD(run, bf16, width) backward_run(run, bf16, width, &from, false, &to, &w[g_], relu)
#define BACKWARD_TWO(run, bf16, width) backward_run(run, bf16, width, &from, true, &to, &w[g_], relu)
	if (in->d1.p != NULL)
		EACH_RUN(u, most_vectors(u, u->vectors + 1), BACKWARD_TWO)
	else
		EACH_RUN(u, most_vectors(u, u->vectors + 1), BACKWARD)
	if (dx->stream)
		isa_streamed();
}
