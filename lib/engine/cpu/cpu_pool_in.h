/* cpu_pool_in - the windows of a pooling layer, for the files of cpu_pool. */
#ifndef ENGINE_CPU_CPU_POOL_IN_H
#define ENGINE_CPU_CPU_POOL_IN_H

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
	bool   stream;		/* the gradient is written by non-temporal stores of whole lines of the cache */
};

ISA_INLINE size_t
pool_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

ISA_INLINE struct pool_window
pool_clip_window(const struct pool_frame *f, size_t i, size_t j)
{
	size_t top = i * f->stride[0], left = j * f->stride[1], above = f->pad[0], before = f->pad[1];
	struct pool_window v = { .r0 = top < above ? above - top : 0, .s0 = left < before ? before - left : 0 };

	v.h0 = top + v.r0 - above;
	v.w0 = left + v.s0 - before;
	v.h1 = pool_min(top + f->r - above, f->h);
	v.w1 = pool_min(left + f->s - before, f->w);
	return v;
}

/* Windows [pool_first_window, pool_end_window) of a side contain its index i. */
ISA_INLINE size_t
pool_first_window(size_t i, size_t pad, size_t side, size_t stride)
{
	return i + pad < side ? 0 : (i + pad - side) / stride + 1;
}

ISA_INLINE size_t
pool_end_window(size_t i, size_t pad, size_t stride, size_t windows)
{
	return pool_min((i + pad) / stride + 1, windows);
}

#endif
