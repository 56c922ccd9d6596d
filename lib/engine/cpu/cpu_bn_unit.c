/* cpu_bn_unit - batch norm of one sample's group of channels. */
#include "engine/cpu/cpu_bn_unit.h"
#include "engine/cpu/cpu_vec.h"

/* struct bn_lanes for the CPU_VEC elements of a vector. */
struct coeffs {
	struct cpu_vec scale, shift, mean, k1, k0;
};

#define RUN	32u	/* vectors, a power of 2 */

/* Two sums for each element of a vector: a and b of this run, all_a and all_b of the runs before. */
struct sums {
	struct cpu_vec a, b;
	double	 all_a[CPU_VEC], all_b[CPU_VEC];
};

ISA_INLINE void
widen_channels(const float *from, size_t period, struct cpu_vec *to)
{
	float f[CPU_VEC];

	for (size_t j = 0; j < CPU_VEC; j++)
		f[j] = from[period == CPU_VEC ? j : j % period];
	memcpy(to, f, sizeof(f));
}

ISA_INLINE void
widen_all(const struct bn_lanes *c, size_t period, struct coeffs *w)
{
	widen_channels(c->scale, period, &w->scale);
	widen_channels(c->shift, period, &w->shift);
	widen_channels(c->mean, period, &w->mean);
	widen_channels(c->k1, period, &w->k1);
	widen_channels(c->k0, period, &w->k0);
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

/* Adds the sums of all elements of a channel. */
ISA_INLINE void
narrow_sums(struct sums *s, const struct bn_walk *u, float *s1, float *s2)
{
	flush_sums(s);
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

/* DO(bf16, width), with constants if the walk is in whole vectors. */
#define EACH_KIND(u, DO) \
	do { \
		if ((u)->width != CPU_VEC) \
			DO((u)->bf16, (u)->width); \
		else if ((u)->bf16) \
			DO(true, CPU_VEC); \
		else \
			DO(false, CPU_VEC); \
	} while (0)

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
measure_moments(const struct bn_walk *u, bool bf16, size_t width, const struct bn_line *x, const struct cpu_vec *first,
    struct sums *s)
{
	struct cpu_vec v = *first;
	size_t i = 0;

	for (; i < u->vectors; i++) {
		if (i % RUN == 0)
			flush_sums(s);
		cpu_load_some(x->p, i * x->stride, bf16, width, &v);
		add_moments(&v, first, s);
	}
	if (u->tail > 0) {
		v = *first;
		cpu_load_part(x->p, i * x->stride, bf16, u->tail, &v);
		add_moments(&v, first, s);
	}
}

ISA_CLONES(extern, void, cpu_bn_unit_moments, (const struct bn_walk *u, const struct bn_line *x, float *restrict s1,
    float *restrict s2),
    (u, x, s1, s2))
{
	struct sums s = { 0 };
	float from[CPU_VEC] = { 0 };
	struct cpu_vec first;

	for (size_t l = 0; l < u->width && l < u->period; l++)
		from[l] = cpu_read(x->p, l, u->bf16);
	widen_channels(from, u->period, &first);
#define MOMENTS(bf16, width) measure_moments(u, bf16, width, x, &first, &s)
	EACH_KIND(u, MOMENTS);
	narrow_sums(&s, u, s1, s2);
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
forward_all(const struct bn_walk *u, bool bf16, size_t width, const struct bn_line *x, const struct bn_line *y,
    const struct coeffs *w, bool relu)
{
	struct cpu_vec v = { 0 };
	size_t i = 0;

	for (; i < u->vectors; i++) {
		cpu_load_some(x->p, i * x->stride, bf16, width, &v);
		bn_forward_wide(&v, &v, w, relu);
		cpu_store_some(&v, y->p, i * y->stride, bf16, width);
	}
	if (u->tail > 0) {
		cpu_load_part(x->p, i * x->stride, bf16, u->tail, &v);
		bn_forward_wide(&v, &v, w, relu);
		cpu_store_part(&v, y->p, i * y->stride, bf16, u->tail);
	}
}

ISA_CLONES(extern, void, cpu_bn_unit_forward, (const struct bn_walk *u, const struct bn_line *x,
    const struct bn_line *y, const struct bn_lanes *c, bool relu),
    (u, x, y, c, relu))
{
	struct coeffs w;

	widen_all(c, u->period, &w);
#define FORWARD(bf16, width) forward_all(u, bf16, width, x, y, &w, false)
#define FORWARD_RELU(bf16, width) forward_all(u, bf16, width, x, y, &w, true)
	if (relu)
		EACH_KIND(u, FORWARD_RELU);
	else
		EACH_KIND(u, FORWARD);
}

/* Loads x, and d, the sum of the gradient's parts; 0 where ReLU zeroed the output. */
ISA_INLINE void
read_incoming(const struct bn_incoming *in, size_t i, bool bf16, size_t width, bool two, const struct coeffs *w,
    bool relu, struct cpu_vec *x, struct cpu_vec *d)
{
	struct cpu_vec more = { 0 };

	cpu_load_some(in->x.p, i * in->x.stride, bf16, width, x);
	cpu_load_some(in->d0.p, i * in->d0.stride, bf16, width, d);
	if (two) {
		cpu_load_some(in->d1.p, i * in->d1.stride, bf16, width, &more);
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
reduce_all(const struct bn_walk *u, bool bf16, size_t width, const struct bn_incoming *in, bool two,
    const struct coeffs *w, bool relu, struct sums *s)
{
	struct cpu_vec x = { 0 }, d = { 0 }, none = { 0 };
	size_t i = 0;

	for (; i < u->vectors; i++) {
		if (i % RUN == 0)
			flush_sums(s);
		read_incoming(in, i, bf16, width, two, w, relu, &x, &d);
		reduce_wide(&x, &d, w, s);
	}
	if (u->tail > 0) {
		x = d = none;
		read_incoming(in, i, bf16, u->tail, two, w, relu, &x, &d);
		reduce_wide(&x, &d, w, s);
	}
}

ISA_CLONES(extern, void, cpu_bn_unit_reduce, (const struct bn_walk *u, const struct bn_incoming *in,
    const struct bn_lanes *c, bool relu, float *restrict s1, float *restrict s2),
    (u, in, c, relu, s1, s2))
{
	struct sums s = { 0 };
	struct coeffs w;

	widen_all(c, u->period, &w);
#define REDUCE(bf16, width) reduce_all(u, bf16, width, in, false, &w, relu, &s)
#define REDUCE_TWO(bf16, width) reduce_all(u, bf16, width, in, true, &w, relu, &s)
	if (in->d1.p != NULL)
		EACH_KIND(u, REDUCE_TWO);
	else
		EACH_KIND(u, REDUCE);
	narrow_sums(&s, u, s1, s2);
}

ISA_INLINE void
bn_backward_wide(const struct bn_incoming *in, size_t i, bool bf16, size_t width, bool two, const struct coeffs *w,
    bool relu, struct cpu_vec *dx)
{
	struct cpu_vec x = { 0 }, d = { 0 };

	read_incoming(in, i, bf16, width, two, w, relu, &x, &d);
	CPU_EACH(k)
		dx->v[k] = w->scale.v[k] * d.v[k] + (w->k1.v[k] * (x.v[k] - w->mean.v[k]) + w->k0.v[k]);
}

ISA_INLINE void
backward_all(const struct bn_walk *u, bool bf16, size_t width, const struct bn_incoming *in, bool two,
    const struct bn_line *dx, const struct coeffs *w, bool relu)
{
	struct cpu_vec v;
	size_t i = 0;

	for (; i < u->vectors; i++) {
		bn_backward_wide(in, i, bf16, width, two, w, relu, &v);
		cpu_store_some(&v, dx->p, i * dx->stride, bf16, width);
	}
	if (u->tail > 0) {
		bn_backward_wide(in, i, bf16, u->tail, two, w, relu, &v);
		cpu_store_part(&v, dx->p, i * dx->stride, bf16, u->tail);
	}
}

ISA_CLONES(extern, void, cpu_bn_unit_backward, (const struct bn_walk *u, const struct bn_incoming *in,
    const struct bn_line *dx, const struct bn_lanes *c, bool relu),
    (u, in, dx, c, relu))
{
	struct coeffs w;

	widen_all(c, u->period, &w);
#define BACKWARD(bf16, width) backward_all(u, bf16, width, in, false, dx, &w, relu)
#define BACKWARD_TWO(bf16, width) backward_all(u, bf16, width, in, true, dx, &w, relu)
	if (in->d1.p != NULL)
		EACH_KIND(u, BACKWARD_TWO);
	else
		EACH_KIND(u, BACKWARD);
}
