/*
 * cpu_pool - windows into their maximum or average.
 *
 * The window of output i begins at line i*stride - pad; what of it lies outside
 * the picture is cut off.  What the average divides by is told in ref_pool.c.  Of equal
 * values the first, row by row, is the maximum; its number in the window is kept
 * for the way back.  A unit is one picture's block of channels, which no other
 * writes.
 */
#include "engine/cpu.h"
#include "engine/cpu_isa.h"

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
	size_t step;		/* floats from a pixel to the next */
	enum graph_divide divide;
};

CPU_INLINE size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

CPU_INLINE struct window
window(const struct frame *f, size_t i, size_t j)
{
	size_t top = i * f->stride[0], left = j * f->stride[1], above = f->pad[0], before = f->pad[1];
	struct window v = { .r0 = top < above ? above - top : 0, .s0 = left < before ? before - left : 0 };

	v.h0 = top + v.r0 - above;
	v.w0 = left + v.s0 - before;
	v.h1 = least(top + f->r - above, f->h);
	v.w1 = least(left + f->s - before, f->w);
	return v;
}

/* One over what the average of window v, the (i,j)-th, divides by. */
CPU_INLINE float
share_of(const struct frame *f, size_t i, size_t j, const struct window *v)
{
	size_t r = f->r, s = f->s;

	if (f->divide == GRAPH_PADDED) {
		r = least(r, f->h + 2 * f->pad[0] - i * f->stride[0]);
		s = least(s, f->w + 2 * f->pad[1] - j * f->stride[1]);
	} else if (f->divide == GRAPH_INSIDE) {
		r = v->h1 - v->h0;
		s = v->w1 - v->w0;
	}
	return 1.0f / (float)(r * s);
}

typedef uint16_t wide16 __attribute__((vector_size(2 * CPU_WIDE), aligned(2), may_alias));

/* One pixel of `lanes` channels into a register and out of it; the compiler knows how many bytes. */
CPU_INLINE void
get(const float *from, size_t lanes, cpu_wide *to)
{
	memcpy(to, from, lanes * sizeof(*from));
}

CPU_INLINE void
put(const cpu_wide *from, size_t lanes, float *to)
{
	memcpy(to, from, lanes * sizeof(*to));
}

CPU_INLINE void
max_unit(const struct frame *f, const float *restrict x, size_t lanes, float *restrict y, uint16_t *restrict which)
{
	for (size_t i = 0; i < f->oh; i++)
		for (size_t j = 0; j < f->ow; j++, y += f->step, which += f->step) {
			struct window v = window(f, i, j);
			int32_t skipped = (int32_t)(f->s - (v.w1 - v.w0));
			cpu_wide top = { 0 }, p = { 0 };
			cpu_mask at = { 0 }, k, more;
			wide16 out;

			at += (int32_t)(v.r0 * f->s + v.s0);
			k = at;
			get(x + (v.h0 * f->w + v.w0) * f->step, lanes, &top);
			for (size_t h = v.h0; h < v.h1; h++, k += skipped)
				for (size_t w = v.w0; w < v.w1; w++, k += 1) {
					get(x + (h * f->w + w) * f->step, lanes, &p);
					more = p > top;
					top = (cpu_wide)(((cpu_mask)p & more) | ((cpu_mask)top & ~more));
					at = (k & more) | (at & ~more);
				}
			put(&top, lanes, y);
			out = __builtin_convertvector(at, wide16);
			memcpy(which, &out, lanes * sizeof(*which));
		}
}

CPU_INLINE void
avg_unit(const struct frame *f, const float *restrict x, size_t lanes, float *restrict y)
{
	for (size_t i = 0; i < f->oh; i++)
		for (size_t j = 0; j < f->ow; j++, y += f->step) {
			struct window v = window(f, i, j);
			cpu_wide sum = { 0 }, p = { 0 };

			for (size_t h = v.h0; h < v.h1; h++)
				for (size_t w = v.w0; w < v.w1; w++) {
					get(x + (h * f->w + w) * f->step, lanes, &p);
					sum += p;
				}
			sum *= share_of(f, i, j, &v);
			put(&sum, lanes, y);
		}
}

/* The gradient of the output at `at`, 0 in the first `done` lanes; d1 may be NULL. */
CPU_INLINE void
incoming(const float *restrict d0, const float *restrict d1, size_t at, size_t lanes, size_t done, cpu_wide *d)
{
	cpu_wide more = { 0 };

	get(d0 + at, lanes, d);
	if (d1 != NULL) {
		get(d1 + at, lanes, &more);
		*d += more;
	}
	for (size_t l = 0; l < done; l++)
		(*d)[l] = 0;
}

/* Adds the gradient of each window to where its maximum was. */
CPU_INLINE void
max_back(const struct frame *f, const float *restrict d0, const float *restrict d1, size_t lanes, size_t done,
    float *restrict dx, const uint16_t *restrict which)
{
	for (size_t o = 0; o < f->oh * f->ow; o++, which += f->step) {
		struct window v = window(f, o / f->ow, o % f->ow);
		int32_t skipped = (int32_t)(f->s - (v.w1 - v.w0));
		cpu_wide d = { 0 }, p = { 0 };
		cpu_mask at, k = { 0 };
		wide16 from = { 0 };

		incoming(d0, d1, o * f->step, lanes, done, &d);
		memcpy(&from, which, lanes * sizeof(*which));
		at = __builtin_convertvector(from, cpu_mask);
		k += (int32_t)(v.r0 * f->s + v.s0);
		for (size_t h = v.h0; h < v.h1; h++, k += skipped)
			for (size_t w = v.w0; w < v.w1; w++, k += 1) {
				get(dx + (h * f->w + w) * f->step, lanes, &p);
				p += (cpu_wide)((cpu_mask)d & (k == at));
				put(&p, lanes, dx + (h * f->w + w) * f->step);
			}
	}
}

CPU_INLINE void
avg_back(const struct frame *f, const float *restrict d0, const float *restrict d1, size_t lanes, size_t done,
    float *restrict dx)
{
	for (size_t o = 0; o < f->oh * f->ow; o++) {
		struct window v = window(f, o / f->ow, o % f->ow);
		cpu_wide d = { 0 }, p = { 0 };

		incoming(d0, d1, o * f->step, lanes, done, &d);
		d *= share_of(f, o / f->ow, o % f->ow, &v);
		for (size_t h = v.h0; h < v.h1; h++)
			for (size_t w = v.w0; w < v.w1; w++) {
				get(dx + (h * f->w + w) * f->step, lanes, &p);
				p += d;
				put(&p, lanes, dx + (h * f->w + w) * f->step);
			}
	}
}

CPU_INLINE void
forward(enum graph_pool pool, const struct frame *f, const float *restrict x, size_t lanes, float *restrict y,
    uint16_t *restrict which)
{
	if (pool == GRAPH_MAX)
		max_unit(f, x, lanes, y, which);
	else
		avg_unit(f, x, lanes, y);
}

CPU_CLONES static void
unit_forward(enum graph_pool pool, const struct frame *f, const float *restrict x, size_t lanes, float *restrict y,
    uint16_t *restrict which)
{
	if (lanes == 16)
		forward(pool, f, x, 16, y, which);
	else if (lanes == 8)
		forward(pool, f, x, 8, y, which);
	else if (lanes == 1)
		forward(pool, f, x, 1, y, which);
	else
		for (size_t c = 0; c < lanes; c += CPU_WIDE) {
			size_t at = c + CPU_WIDE <= lanes ? c : lanes - CPU_WIDE;

			forward(pool, f, x + at, CPU_WIDE, y + at, which + at);
		}
}

/* Not of the first `done` lanes. */
CPU_INLINE void
backward(enum graph_pool pool, const struct frame *f, const float *restrict d0, const float *restrict d1, size_t lanes,
    size_t done, float *restrict dx, const uint16_t *restrict which)
{
	if (pool == GRAPH_MAX)
		max_back(f, d0, d1, lanes, done, dx, which);
	else
		avg_back(f, d0, d1, lanes, done, dx);
}

CPU_CLONES static void
unit_backward(enum graph_pool pool, const struct frame *f, const float *restrict d0, const float *restrict d1,
    size_t lanes, float *restrict dx, const uint16_t *restrict which)
{
	memset(dx, 0, f->h * f->w * lanes * sizeof(*dx));
	if (lanes == 16)
		backward(pool, f, d0, d1, 16, 0, dx, which);
	else if (lanes == 8)
		backward(pool, f, d0, d1, 8, 0, dx, which);
	else if (lanes == 1)
		backward(pool, f, d0, d1, 1, 0, dx, which);
	else
		for (size_t c = 0; c < lanes; c += CPU_WIDE) {
			size_t at = c + CPU_WIDE <= lanes ? c : lanes - CPU_WIDE;

			backward(pool, f, d0 + at, d1 != NULL ? d1 + at : NULL, CPU_WIDE, c - at, dx + at, which + at);
		}
}

static struct frame
frame_of(const struct graph_node *node, const struct cpu_view *in)
{
	return (struct frame) { in->h, in->w, node->h, node->w, node->r, node->s, { node->stride[0], node->stride[1] },
	    { node->pad[0], node->pad[1] }, in->block, node->divide };
}

void
cpu_pool_forward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *y, uint16_t *which,
    uint32_t n)
{
	struct frame f = frame_of(node, x);
	size_t blocks = cpu_blocks(x), outs = cpu_unit(y);

	#pragma omp parallel for
	for (size_t u = 0; u < n * blocks; u++)
		unit_forward(node->pool, &f, cpu_at(x, u / blocks, u % blocks), x->block,
		    cpu_at(y, u / blocks, u % blocks), which + u * outs);
}

void
cpu_pool_backward(const struct graph_node *node, const struct cpu_view *dy, uint32_t ndy, const struct cpu_view *dx,
    const uint16_t *which, uint32_t n)
{
	struct frame f = frame_of(node, dx);
	size_t blocks = cpu_blocks(dx), outs = cpu_unit(&dy[0]);

	#pragma omp parallel for
	for (size_t u = 0; u < n * blocks; u++) {
		size_t i = u / blocks, b = u % blocks;

		unit_backward(node->pool, &f, cpu_at(&dy[0], i, b), ndy > 1 ? cpu_at(&dy[1], i, b) : NULL, dx->block,
		    cpu_at(dx, i, b), which + u * outs);
	}
}
