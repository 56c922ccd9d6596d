/*
 * cpu_pool - windows into their maximum or average.
 *
 * The window of output i begins at line i*stride - pad; what of it lies outside
 * the picture is cut off.  The average divides by r*s all the same.  Of equal
 * values the first, row by row, is the maximum; its number in the window is kept
 * for the way back.  A unit is one
 * picture's block of channels, which no other writes.
 */
#include "engine/cpu.h"
#include "engine/cpu_isa.h"

#include <omp.h>
#include <string.h>

#define LANES 16

struct window {
	size_t h0, h1, w0, w1;	/* lines [h0, h1), columns [w0, w1) */
	size_t r0, s0;		/* how much was cut off above and to the left */
};

/* What all windows of a layer share. */
struct frame {
	size_t h, w, oh, ow;	/* pixels in and out */
	size_t r, s, stride, pad;
};

CPU_INLINE size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

CPU_INLINE struct window
window(const struct frame *f, size_t i, size_t j)
{
	size_t top = i * f->stride, left = j * f->stride;
	struct window v = { .r0 = top < f->pad ? f->pad - top : 0, .s0 = left < f->pad ? f->pad - left : 0 };

	v.h0 = top + v.r0 - f->pad;
	v.w0 = left + v.s0 - f->pad;
	v.h1 = least(top + f->r - f->pad, f->h);
	v.w1 = least(left + f->s - f->pad, f->w);
	return v;
}

CPU_INLINE void
max_window(const struct frame *f, struct window v, const float *restrict x, size_t lanes, float *restrict y,
    uint16_t *restrict which)
{
	float top[LANES];
	int32_t at[LANES];

	for (size_t l = 0; l < lanes; l++) {
		top[l] = x[(v.h0 * f->w + v.w0) * lanes + l];
		at[l] = (int32_t)(v.r0 * f->s + v.s0);
	}
	for (size_t h = v.h0; h < v.h1; h++)
		for (size_t w = v.w0; w < v.w1; w++) {
			const float *p = x + (h * f->w + w) * lanes;
			int32_t k = (int32_t)((h - v.h0 + v.r0) * f->s + (w - v.w0 + v.s0));

			for (size_t l = 0; l < lanes; l++) {
				bool more = p[l] > top[l];

				top[l] = more ? p[l] : top[l];
				at[l] = more ? k : at[l];
			}
		}
	for (size_t l = 0; l < lanes; l++) {
		y[l] = top[l];
		which[l] = (uint16_t)at[l];
	}
}

CPU_INLINE void
max_unit(const struct frame *f, const float *restrict x, size_t lanes, float *restrict y, uint16_t *restrict which)
{
	for (size_t i = 0; i < f->oh; i++)
		for (size_t j = 0; j < f->ow; j++, y += lanes, which += lanes)
			max_window(f, window(f, i, j), x, lanes, y, which);
}

CPU_INLINE void
avg_unit(const struct frame *f, const float *restrict x, size_t lanes, float *restrict y)
{
	float share = 1.0f / (float)(f->r * f->s);

	for (size_t i = 0; i < f->oh; i++)
		for (size_t j = 0; j < f->ow; j++, y += lanes) {
			struct window v = window(f, i, j);
			float sum[LANES] = { 0 };

			for (size_t h = v.h0; h < v.h1; h++)
				for (size_t w = v.w0; w < v.w1; w++)
					for (size_t l = 0; l < lanes; l++)
						sum[l] += x[(h * f->w + w) * lanes + l];
			for (size_t l = 0; l < lanes; l++)
				y[l] = sum[l] * share;
		}
}

/* Adds the gradient of each window to where its maximum was. */
CPU_INLINE void
max_back_unit(const struct frame *f, const float *restrict d0, const float *restrict d1, size_t lanes,
    float *restrict dx, const uint16_t *restrict which)
{
	for (size_t o = 0; o < f->oh * f->ow; o++) {
		struct window v = window(f, o / f->ow, o % f->ow);
		float d[LANES];
		int32_t at[LANES];

		for (size_t l = 0; l < lanes; l++) {
			d[l] = d1 != NULL ? d0[o * lanes + l] + d1[o * lanes + l] : d0[o * lanes + l];
			at[l] = which[o * lanes + l];
		}
		for (size_t h = v.h0; h < v.h1; h++)
			for (size_t w = v.w0; w < v.w1; w++) {
				float *p = dx + (h * f->w + w) * lanes;
				int32_t k = (int32_t)((h - v.h0 + v.r0) * f->s + (w - v.w0 + v.s0));

				for (size_t l = 0; l < lanes; l++)
					p[l] += at[l] == k ? d[l] : 0;
			}
	}
}

CPU_INLINE void
avg_back_unit(const struct frame *f, const float *restrict d0, const float *restrict d1, size_t lanes,
    float *restrict dx)
{
	float share = 1.0f / (float)(f->r * f->s);

	for (size_t o = 0; o < f->oh * f->ow; o++) {
		struct window v = window(f, o / f->ow, o % f->ow);
		float d[LANES];

		for (size_t l = 0; l < lanes; l++)
			d[l] = share * (d1 != NULL ? d0[o * lanes + l] + d1[o * lanes + l] : d0[o * lanes + l]);
		for (size_t h = v.h0; h < v.h1; h++)
			for (size_t w = v.w0; w < v.w1; w++)
				for (size_t l = 0; l < lanes; l++)
					dx[(h * f->w + w) * lanes + l] += d[l];
	}
}

CPU_CLONES static void
unit_forward(enum graph_pool pool, const struct frame *f, const float *restrict x, size_t lanes, float *restrict y,
    uint16_t *restrict which)
{
	if (pool == GRAPH_AVG && lanes == 16)
		avg_unit(f, x, 16, y);
	else if (pool == GRAPH_AVG)
		avg_unit(f, x, lanes, y);
	else if (lanes == 16)
		max_unit(f, x, 16, y, which);
	else if (lanes == 8)
		max_unit(f, x, 8, y, which);
	else
		max_unit(f, x, 1, y, which);
}

CPU_CLONES static void
unit_backward(enum graph_pool pool, const struct frame *f, const float *restrict d0, const float *restrict d1,
    size_t lanes, float *restrict dx, const uint16_t *restrict which)
{
	memset(dx, 0, f->h * f->w * lanes * sizeof(*dx));
	if (pool == GRAPH_AVG && lanes == 16)
		avg_back_unit(f, d0, d1, 16, dx);
	else if (pool == GRAPH_AVG)
		avg_back_unit(f, d0, d1, lanes, dx);
	else if (lanes == 16)
		max_back_unit(f, d0, d1, 16, dx, which);
	else if (lanes == 8)
		max_back_unit(f, d0, d1, 8, dx, which);
	else
		max_back_unit(f, d0, d1, 1, dx, which);
}

static struct frame
frame_of(const struct graph_node *node, const struct cpu_view *in)
{
	return (struct frame) { in->h, in->w, node->h, node->w, node->r, node->s, node->stride, node->pad };
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
