/*
 * cpu_pool_bf16 - max pooling of bf16 in integers, which order as the numbers do: serves cpu_pool.
 *
 * Both passes take whole vectors of channels.  They give the bits of cpu_pool.c, except that a maximum of -0 becomes 0,
 * and that a gradient of -0 stays -0.
 */
#ifndef ENGINE_CPU_CPU_POOL_BF16_H
#define ENGINE_CPU_CPU_POOL_BF16_H

#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_vec.h"

struct pool_window {
	size_t h0, h1, w0, w1;	/* lines [h0, h1), columns [w0, w1) */
	size_t r0, s0;		/* lines and columns clipped at the top and the left */
};

/* The layer. */
struct pool_frame {
	size_t h, w, oh, ow;	/* pixels in and out */
	size_t r, s, stride[2], pad[2];
	size_t lanes;		/* channels in a unit */
	bool   bf16;
	enum graph_divide divide;
	enum graph_pool pool;
	bool   stream;		/* the gradient is written by non-temporal stores, of which f32 takes whole lines */
};

ISA_INLINE size_t
pool_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

ISA_INLINE struct pool_window
pool_clip(const struct pool_frame *f, size_t i, size_t j)
{
	size_t top = i * f->stride[0], left = j * f->stride[1], above = f->pad[0], before = f->pad[1];
	struct pool_window v = { .r0 = top < above ? above - top : 0, .s0 = left < before ? before - left : 0 };

	v.h0 = top + v.r0 - above;
	v.w0 = left + v.s0 - before;
	v.h1 = pool_min(top + f->r - above, f->h);
	v.w1 = pool_min(left + f->s - before, f->w);
	return v;
}

/* Windows [pool_first, pool_end) of a side contain its index i. */
ISA_INLINE size_t
pool_first(size_t i, size_t pad, size_t side, size_t stride)
{
	return i + pad < side ? 0 : (i + pad - side) / stride + 1;
}

ISA_INLINE size_t
pool_end(size_t i, size_t pad, size_t stride, size_t windows)
{
	return pool_min((i + pad) / stride + 1, windows);
}

/* Does this layer have whole vectors of bf16?  A frame of another pooling than the maximum does not. */
bool	 cpu_pool_bf16_fits(const struct pool_frame *f);

/* Returns false, with y undefined, if a number is not finite. */
bool	 cpu_pool_bf16_forward(const struct pool_frame *f, const struct cpu_ptr *x, const struct cpu_ptr *y,
	     uint16_t *argmax);

/* Windows of two by two pixels that do not overlap. */
bool	 cpu_pool_bf16_has_pairs(const struct pool_frame *f);
void	 cpu_pool_bf16_backward(const struct pool_frame *f, const struct cpu_ptr *dy, const struct cpu_ptr *dx,
	     const uint16_t *argmax);

#endif
