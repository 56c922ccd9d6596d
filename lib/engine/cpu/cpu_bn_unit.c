/* cpu_bn_unit - batch norm of one picture's group of channels, in the walk that suits its layout: serves cpu_bn. */
#include "engine/cpu/cpu_bn_unit.h"
#include "engine/cpu/cpu_half.h"

/* The same for CPU_WIDE floats side by side. */
struct wide {
	struct cpu_wide scale, shift, mean, k1, k0;
};

#define RUN	32u	/* vectors, a power of 2 */

/* Two sums a float side by side: of this run, and of those before. */
struct sums {
	struct cpu_wide a, b;
	double	 all_a[CPU_WIDE], all_b[CPU_WIDE];
};

ISA_INLINE void
widen_channels(const float *from, size_t period, struct cpu_wide *to)
{
	float f[CPU_WIDE];

	for (size_t j = 0; j < CPU_WIDE; j++)
		f[j] = from[period == CPU_WIDE ? j : j % period];
	memcpy(to, f, sizeof(f));
}

ISA_INLINE void
widen_all(const struct bn_lanes *c, size_t period, struct wide *w)
{
	widen_channels(c->scale, period, &w->scale);
	widen_channels(c->shift, period, &w->shift);
	widen_channels(c->mean, period, &w->mean);
	widen_channels(c->k1, period, &w->k1);
	widen_channels(c->k0, period, &w->k0);
}

/* A run ends. */
ISA_INLINE void
settle_sums(struct sums *s)
{
	float a[CPU_WIDE], b[CPU_WIDE];

	memcpy(a, &s->a, sizeof(a));
	memcpy(b, &s->b, sizeof(b));
	for (size_t j = 0; j < CPU_WIDE; j++) {
		s->all_a[j] += (double)a[j];
		s->all_b[j] += (double)b[j];
	}
	s->a = s->b = (struct cpu_wide){ 0 };
}

/* The sums of each channel. */
ISA_INLINE void
narrow_sums(struct sums *s, const struct bn_walk *u, float *s1, float *s2)
{
	settle_sums(s);
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

ISA_INLINE void
add_moments(const struct cpu_wide *x, const struct cpu_wide *first, struct sums *s)
{
	CPU_EACH(k) {
		cpu_floats d = x->v[k] - first->v[k];

		s->a.v[k] += d;
		s->b.v[k] += d * d;
	}
}

ISA_INLINE void
moments_all(const struct bn_walk *u, bool half, size_t width, const struct bn_line *x, const struct cpu_wide *first,
    struct sums *s)
{
	struct cpu_wide v = *first;
	size_t i = 0;

	for (; i < u->vectors; i++) {
		if (i % RUN == 0)
			settle_sums(s);
		cpu_get(x->p, i * x->stride, half, width, &v);
		add_moments(&v, first, s);
	}
	if (u->tail > 0) {
		v = *first;
		cpu_load_part(x->p, i * x->stride, half, u->tail, &v);
		add_moments(&v, first, s);
	}
}

ISA_CLONES(extern, void, cpu_bn_unit_moments, (const struct bn_walk *u, const struct bn_line *x, float *restrict s1,
    float *restrict s2),
    (u, x, s1, s2))
{
	struct sums s = { 0 };
	float from[CPU_WIDE] = { 0 };
	struct cpu_wide first;

	for (size_t l = 0; l < u->width && l < u->period; l++)
		from[l] = cpu_number(x->p, l, u->half);
	widen_channels(from, u->period, &first);
#define MOMENTS(half, width) moments_all(u, half, width, x, &first, &s)
	EACH_KIND(u, MOMENTS);
	narrow_sums(&s, u, s1, s2);
}

ISA_INLINE void
bn_forward_wide(const struct cpu_wide *x, struct cpu_wide *y, const struct wide *w, bool relu)
{
	CPU_EACH(k) {
		cpu_floats v = w->scale.v[k] * x->v[k] + w->shift.v[k];

		y->v[k] = relu ? (cpu_floats)((cpu_ints)v & ~(v <= 0)) : v;
	}
}

ISA_INLINE void
forward_all(const struct bn_walk *u, bool half, size_t width, const struct bn_line *x, const struct bn_line *y,
    const struct wide *w, bool relu)
{
	struct cpu_wide v = { 0 };
	size_t i = 0;

	for (; i < u->vectors; i++) {
		cpu_get(x->p, i * x->stride, half, width, &v);
		bn_forward_wide(&v, &v, w, relu);
		cpu_set(&v, y->p, i * y->stride, half, width);
	}
	if (u->tail > 0) {
		cpu_load_part(x->p, i * x->stride, half, u->tail, &v);
		bn_forward_wide(&v, &v, w, relu);
		cpu_store_part(&v, y->p, i * y->stride, half, u->tail);
	}
}

ISA_CLONES(extern, void, cpu_bn_unit_forward, (const struct bn_walk *u, const struct bn_line *x,
    const struct bn_line *y, const struct bn_lanes *c, bool relu),
    (u, x, y, c, relu))
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

/* x, and the gradient that comes in: the sum of its parts, where ReLU let the output through. */
ISA_INLINE void
read_incoming(const struct bn_incoming *in, size_t i, bool half, size_t width, bool two, const struct wide *w,
    bool relu,
    struct cpu_wide *x, struct cpu_wide *d)
{
	struct cpu_wide more = { 0 };

	cpu_get(in->x.p, i * in->x.stride, half, width, x);
	cpu_get(in->d0.p, i * in->d0.stride, half, width, d);
	if (two) {
		cpu_get(in->d1.p, i * in->d1.stride, half, width, &more);
		CPU_EACH(k)
			d->v[k] += more.v[k];
	}
	if (relu)
		CPU_EACH(k)
			d->v[k] = (cpu_floats)((cpu_ints)d->v[k] & (w->scale.v[k] * x->v[k] + w->shift.v[k] > 0));
}

ISA_INLINE void
reduce_wide(const struct cpu_wide *x, const struct cpu_wide *d, const struct wide *w, struct sums *s)
{
	CPU_EACH(k) {
		s->a.v[k] += d->v[k];
		s->b.v[k] += d->v[k] * (x->v[k] - w->mean.v[k]);
	}
}

ISA_INLINE void
reduce_all(const struct bn_walk *u, bool half, size_t width, const struct bn_incoming *in, bool two,
    const struct wide *w, bool relu, struct sums *s)
{
	struct cpu_wide x = { 0 }, d = { 0 }, none = { 0 };
	size_t i = 0;

	for (; i < u->vectors; i++) {
		if (i % RUN == 0)
			settle_sums(s);
		read_incoming(in, i, half, width, two, w, relu, &x, &d);
		reduce_wide(&x, &d, w, s);
	}
	if (u->tail > 0) {
		x = d = none;
		read_incoming(in, i, half, u->tail, two, w, relu, &x, &d);
		reduce_wide(&x, &d, w, s);
	}
}

ISA_CLONES(extern, void, cpu_bn_unit_reduce, (const struct bn_walk *u, const struct bn_incoming *in,
    const struct bn_lanes *c, bool relu, float *restrict s1, float *restrict s2),
    (u, in, c, relu, s1, s2))
{
	struct sums s = { 0 };
	struct wide w;

	widen_all(c, u->period, &w);
#define REDUCE(half, width) reduce_all(u, half, width, in, false, &w, relu, &s)
#define REDUCE_TWO(half, width) reduce_all(u, half, width, in, true, &w, relu, &s)
	if (in->d1.p != NULL)
		EACH_KIND(u, REDUCE_TWO);
	else
		EACH_KIND(u, REDUCE);
	narrow_sums(&s, u, s1, s2);
}

ISA_INLINE void
bn_backward_wide(const struct bn_incoming *in, size_t i, bool half, size_t width, bool two, const struct wide *w,
    bool relu,
    struct cpu_wide *dx)
{
	struct cpu_wide x = { 0 }, d = { 0 };

	read_incoming(in, i, half, width, two, w, relu, &x, &d);
	CPU_EACH(k)
		dx->v[k] = w->scale.v[k] * d.v[k] + (w->k1.v[k] * (x.v[k] - w->mean.v[k]) + w->k0.v[k]);
}

ISA_INLINE void
backward_all(const struct bn_walk *u, bool half, size_t width, const struct bn_incoming *in, bool two,
    const struct bn_line *dx, const struct wide *w, bool relu)
{
	struct cpu_wide v;
	size_t i = 0;

	for (; i < u->vectors; i++) {
		bn_backward_wide(in, i, half, width, two, w, relu, &v);
		cpu_set(&v, dx->p, i * dx->stride, half, width);
	}
	if (u->tail > 0) {
		bn_backward_wide(in, i, half, u->tail, two, w, relu, &v);
		cpu_store_part(&v, dx->p, i * dx->stride, half, u->tail);
	}
}

ISA_CLONES(extern, void, cpu_bn_unit_backward, (const struct bn_walk *u, const struct bn_incoming *in,
    const struct bn_line *dx, const struct bn_lanes *c, bool relu),
    (u, in, dx, c, relu))
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
