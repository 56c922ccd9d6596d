/*
 * cpu_pool - windows into their maximum or average.
 *
 * The window of output i begins at line i*stride - pad; what of it lies outside
 * the picture is cut off.  What the average divides by is told in ref_pool.c.  Of equal
 * values the first, row by row, is the maximum; its number in the window is kept
 * for the way back, on which each pixel adds what the windows around it hand down,
 * in their order.  A unit is one picture's block of channels, which no other writes.
 *
 * A comparison passes over what is no number, and a sum does not: it tells such windows, and those of infinities of
 * both signs, whose maximum is no number either.
 */
#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_half.h"

#include <omp.h>
#include <string.h>

struct window {
	size_t h0, h1, w0, w1;	/* lines [h0, h1), columns [w0, w1) */
	size_t r0, s0;		/* how much was cut off above and to the left */
};

/* What all windows of a layer share. */
struct frame {
	size_t h, w, oh, ow;	/* pixels in and out */
	size_t r, s, stride[2], pad[2];
	size_t lanes;		/* channels in a unit */
	bool   half;
	enum graph_divide divide;
	enum graph_pool pool;
};

/* An operand: its first number, and from pixel to pixel. */
struct side {
	void  *p;
	size_t pitch;
};

ISA_INLINE size_t
min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

ISA_INLINE struct window
window_at(const struct frame *f, size_t i, size_t j)
{
	size_t top = i * f->stride[0], left = j * f->stride[1], above = f->pad[0], before = f->pad[1];
	struct window v = { .r0 = top < above ? above - top : 0, .s0 = left < before ? before - left : 0 };

	v.h0 = top + v.r0 - above;
	v.w0 = left + v.s0 - before;
	v.h1 = min_size(top + f->r - above, f->h);
	v.w1 = min_size(left + f->s - before, f->w);
	return v;
}

/* One over what the average of window v, the (i,j)-th, divides by. */
ISA_INLINE float
share_of(const struct frame *f, size_t i, size_t j, const struct window *v)
{
	size_t r = f->r, s = f->s;

	if (f->divide == GRAPH_PADDED) {
		r = min_size(r, f->h + 2 * f->pad[0] - i * f->stride[0]);
		s = min_size(s, f->w + 2 * f->pad[1] - j * f->stride[1]);
	} else if (f->divide == GRAPH_INSIDE) {
		r = v->h1 - v->h0;
		s = v->w1 - v->w0;
	}
	return 1.0f / (float)(r * s);
}

/* Numbers of windows, which lie as `lanes` channels do, f->lanes to a pixel. */
ISA_INLINE void
put_which(const struct cpu_mask *at, size_t lanes, uint16_t *to)
{
	cpu_halves out[CPU_REGS];

	CPU_EACH(k)
		out[k] = __builtin_convertvector(at->v[k], cpu_halves);
	memcpy(to, out, lanes * sizeof(*to));
}

ISA_INLINE void
get_which(const uint16_t *from, size_t lanes, struct cpu_mask *at)
{
	cpu_halves in[CPU_REGS] = { { 0 } };

	memcpy(in, from, lanes * sizeof(*from));
	CPU_EACH(k)
		at->v[k] = __builtin_convertvector(in[k], cpu_ints);
}

/* One more pixel of a window, which is number n of it. */
ISA_INLINE void
max_pixel(const struct cpu_wide *p, int32_t n, struct cpu_wide *top, struct cpu_mask *at, struct cpu_wide *sum)
{
	CPU_EACH(k) {
		cpu_ints more = p->v[k] > top->v[k];

		top->v[k] = (cpu_floats)(((cpu_ints)p->v[k] & more) | ((cpu_ints)top->v[k] & ~more));
		at->v[k] = (n & more) | (at->v[k] & ~more);
		sum->v[k] += p->v[k];
	}
}

/* Channels [c, c + lanes) of a unit. */
ISA_INLINE void
max_unit(const struct frame *f, const struct side *x, size_t c, size_t lanes, bool half, const struct side *y,
    uint16_t *restrict which)
{
	for (size_t o = 0; o < f->oh * f->ow; o++) {
		struct window v = window_at(f, o / f->ow, o % f->ow);
		int32_t skipped = (int32_t)(f->s - (v.w1 - v.w0));
		int32_t n = (int32_t)(v.r0 * f->s + v.s0);
		struct cpu_wide top = { 0 }, p = { 0 }, sum = { 0 };
		struct cpu_mask at = { 0 };

		CPU_EACH(k)
			at.v[k] += n;
		cpu_get(x->p, (v.h0 * f->w + v.w0) * x->pitch + c, half, lanes, &top);
		for (size_t h = v.h0; h < v.h1; h++, n += skipped)
			for (size_t w = v.w0; w < v.w1; w++, n++) {
				cpu_get(x->p, (h * f->w + w) * x->pitch + c, half, lanes, &p);
				max_pixel(&p, n, &top, &at, &sum);
			}
		CPU_EACH(k) {
			cpu_ints none = sum.v[k] != sum.v[k];

			top.v[k] = (cpu_floats)(((cpu_ints)sum.v[k] & none) | ((cpu_ints)top.v[k] & ~none));
		}
		cpu_set(&top, y->p, o * y->pitch + c, half, lanes);
		put_which(&at, lanes, which + o * f->lanes + c);
	}
}

ISA_INLINE void
avg_unit(const struct frame *f, const struct side *x, size_t c, size_t lanes, bool half, const struct side *y)
{
	for (size_t i = 0; i < f->oh; i++)
		for (size_t j = 0; j < f->ow; j++) {
			struct window v = window_at(f, i, j);
			struct cpu_wide sum = { 0 }, p = { 0 };
			float share = share_of(f, i, j, &v);

			for (size_t h = v.h0; h < v.h1; h++)
				for (size_t w = v.w0; w < v.w1; w++) {
					cpu_get(x->p, (h * f->w + w) * x->pitch + c, half, lanes, &p);
					CPU_EACH(k)
						sum.v[k] += p.v[k];
				}
			CPU_EACH(k)
				sum.v[k] *= share;
			cpu_set(&sum, y->p, (i * f->ow + j) * y->pitch + c, half, lanes);
		}
}

/* Windows [first, last) of a side reach its place i. */
ISA_INLINE size_t
first_over(size_t i, size_t pad, size_t side, size_t stride)
{
	return i + pad < side ? 0 : (i + pad - side) / stride + 1;
}

ISA_INLINE size_t
behind_over(size_t i, size_t pad, size_t stride, size_t windows)
{
	return min_size((i + pad) / stride + 1, windows);
}

/* What window (i, j) hands down to pixel (h, w). */
ISA_INLINE void
window_gradient(const struct frame *f, enum graph_pool pool, const struct side *d0, const struct side *d1, size_t c,
    size_t lanes,
    bool half, const uint16_t *restrict which, size_t i, size_t j, size_t h, size_t w, struct cpu_wide *d)
{
	size_t o = i * f->ow + j;
	struct cpu_wide more = { 0 };
	struct cpu_mask at;

	cpu_get(d0->p, o * d0->pitch + c, half, lanes, d);
	if (d1->p != NULL) {
		cpu_get(d1->p, o * d1->pitch + c, half, lanes, &more);
		CPU_EACH(k)
			d->v[k] += more.v[k];
	}
	if (pool == GRAPH_MAX) {
		int32_t n = (int32_t)((h + f->pad[0] - i * f->stride[0]) * f->s + w + f->pad[1] - j * f->stride[1]);

		get_which(which + o * f->lanes + c, lanes, &at);
		CPU_EACH(k)
			d->v[k] = (cpu_floats)((cpu_ints)d->v[k] & (at.v[k] == n));
	} else {
		struct window v = window_at(f, i, j);
		float share = share_of(f, i, j, &v);

		CPU_EACH(k)
			d->v[k] *= share;
	}
}

ISA_INLINE void
back_unit(const struct frame *f, enum graph_pool pool, const struct side *d0, const struct side *d1, size_t c,
    size_t lanes, bool half, const struct side *dx, const uint16_t *restrict which)
{
	for (size_t h = 0; h < f->h; h++)
		for (size_t w = 0; w < f->w; w++) {
			size_t i1 = behind_over(h, f->pad[0], f->stride[0], f->oh);
			size_t j0 = first_over(w, f->pad[1], f->s, f->stride[1]);
			size_t j1 = behind_over(w, f->pad[1], f->stride[1], f->ow);
			struct cpu_wide sum = { 0 }, d = { 0 };

			for (size_t i = first_over(h, f->pad[0], f->r, f->stride[0]); i < i1; i++)
				for (size_t j = j0; j < j1; j++) {
					window_gradient(f, pool, d0, d1, c, lanes, half, which, i, j, h, w, &d);
					CPU_EACH(k)
						sum.v[k] += d.v[k];
				}
			cpu_set(&sum, dx->p, (h * f->w + w) * dx->pitch + c, half, lanes);
		}
}

/*
 * DO(c, lanes, half) for a unit's channels: constants where there are whole vectors of them, of which the last may
 * begin within the one before it.
 */
#define EACH_LANES(f, DO) \
	if ((f)->lanes >= CPU_WIDE) \
		for (size_t c_ = 0; c_ < (f)->lanes; c_ += CPU_WIDE) { \
			size_t at_ = c_ + CPU_WIDE <= (f)->lanes ? c_ : (f)->lanes - CPU_WIDE; \
			if ((f)->half) \
				DO(at_, CPU_WIDE, true); \
			else \
				DO(at_, CPU_WIDE, false); \
		} \
	else if ((f)->lanes == 8 && !(f)->half) \
		DO(0, 8, false); \
	else if ((f)->lanes == 1 && !(f)->half) \
		DO(0, 1, false); \
	else \
		DO(0, (f)->lanes, (f)->half)

ISA_CLONES(static, void, unit_forward, (const struct frame *f, const struct side *x, const struct side *y,
    uint16_t *restrict which),
    (f, x, y, which))
{
#define MAX(c, lanes, half) max_unit(f, x, c, lanes, half, y, which)
#define AVG(c, lanes, half) avg_unit(f, x, c, lanes, half, y)
	if (f->pool == GRAPH_MAX)
		EACH_LANES(f, MAX);
	else
		EACH_LANES(f, AVG);
}

ISA_CLONES(static, void, unit_backward, (const struct frame *f, const struct side *d0, const struct side *d1,
    const struct side *dx, const uint16_t *restrict which),
    (f, d0, d1, dx, which))
{
#define MAX_BACK(c, lanes, half) back_unit(f, GRAPH_MAX, d0, d1, c, lanes, half, dx, which)
#define AVG_BACK(c, lanes, half) back_unit(f, GRAPH_AVG, d0, d1, c, lanes, half, dx, which)
	if (f->pool == GRAPH_MAX)
		EACH_LANES(f, MAX_BACK);
	else
		EACH_LANES(f, AVG_BACK);
}

static struct frame
frame_of(const struct graph_node *node, const struct cpu_view *in)
{
	return (struct frame) { in->h, in->w, node->h, node->w, node->r, node->s, { node->stride[0], node->stride[1] },
	    { node->pad[0], node->pad[1] }, in->block, in->half, node->divide, node->pool };
}

/* Numbers of a block's windows. */
static size_t
count_windows(const struct cpu_view *y)
{
	return (size_t)y->h * y->w * y->block;
}

void
cpu_pool_forward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *y, uint16_t *which,
    uint32_t n)
{
	struct frame f = frame_of(node, x);
	size_t blocks = cpu_blocks(x), outs = count_windows(y);

	#pragma omp parallel for
	for (size_t u = 0; u < n * blocks; u++) {
		struct side from = { cpu_at(x, u / blocks, u % blocks), x->pitch };
		struct side to = { cpu_at(y, u / blocks, u % blocks), y->pitch };

		unit_forward(&f, &from, &to, which + u * outs);
	}
}

void
cpu_pool_backward(const struct graph_node *node, const struct cpu_view *dy, uint32_t ndy, const struct cpu_view *dx,
    const uint16_t *which, uint32_t n)
{
	struct frame f = frame_of(node, dx);
	size_t blocks = cpu_blocks(dx), outs = count_windows(&dy[0]);

	#pragma omp parallel for
	for (size_t u = 0; u < n * blocks; u++) {
		size_t i = u / blocks, b = u % blocks;
		struct side d0 = { cpu_at(&dy[0], i, b), dy[0].pitch }, d1 = { NULL, 0 },
		    to = { cpu_at(dx, i, b), dx->pitch };

		if (ndy > 1)
			d1 = (struct side) { cpu_at(&dy[1], i, b), dy[1].pitch };
		unit_backward(&f, &d0, &d1, &to, which + u * outs);
	}
}
