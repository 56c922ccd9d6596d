/*
 * cpu_pool - windows into their maximum or average.
 *
 * The window of output i begins at line i*stride - pad; what of it lies outside
 * the picture is cut off.  The average divides by r*s all the same.  Of equal
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

#define LANES 1
#include "engine/cpu_pool_lanes.h"
#define LANES 8
#include "engine/cpu_pool_lanes.h"
#define LANES 16
#include "engine/cpu_pool_lanes.h"

typedef void forward_fn(enum graph_pool pool, const struct frame *f, const float *x, float *y, uint16_t *which);
typedef void backward_fn(enum graph_pool pool, const struct frame *f, const float *d0, const float *d1, float *dx,
    const uint16_t *which);

static struct frame
frame_of(const struct graph_node *node, const struct cpu_view *in)
{
	return (struct frame) { in->h, in->w, node->h, node->w, node->r, node->s, node->stride, node->pad };
}

void
cpu_pool_forward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *y, uint16_t *which,
    uint32_t n)
{
	forward_fn *unit = x->block == 16 ? unit_forward_16 : x->block == 8 ? unit_forward_8 : unit_forward_1;
	struct frame f = frame_of(node, x);
	size_t blocks = cpu_blocks(x), outs = cpu_unit(y);

	#pragma omp parallel for
	for (size_t u = 0; u < n * blocks; u++)
		unit(node->pool, &f, cpu_at(x, u / blocks, u % blocks), cpu_at(y, u / blocks, u % blocks),
		    which + u * outs);
}

void
cpu_pool_backward(const struct graph_node *node, const struct cpu_view *dy, uint32_t ndy, const struct cpu_view *dx,
    const uint16_t *which, uint32_t n)
{
	backward_fn *unit = dx->block == 16 ? unit_backward_16 : dx->block == 8 ? unit_backward_8 : unit_backward_1;
	struct frame f = frame_of(node, dx);
	size_t blocks = cpu_blocks(dx), outs = cpu_unit(&dy[0]);

	#pragma omp parallel for
	for (size_t u = 0; u < n * blocks; u++) {
		size_t i = u / blocks, b = u % blocks;
		float *to = cpu_at(dx, i, b);

		memset(to, 0, cpu_unit(dx) * sizeof(*to));
		unit(node->pool, &f, cpu_at(&dy[0], i, b), ndy > 1 ? cpu_at(&dy[1], i, b) : NULL, to, which + u * outs);
	}
}
