/*
 * dnnl - a convolution or fully connected layer, in its three directions, on oneDNN.
 *
 *	y = x * w + b,  dx = dy * w^T,  dw = sum over the batch of x^T dy,  db = sum of dy
 *
 * All that tally asks of oneDNN stands behind this header, and what differs between its major versions 2 and 3 behind
 * dnnl_lib.h (github.com/oneapi-src/oneDNN, doc/).
 *
 * Layouts: f32 pictures are block 1 (plain [N,C,H,W]) or block B = 8 or 16:
 * [N, ceil(C/B), H, W, B], the channels past C zero.  The library is asked which
 * it likes (`any`) and the answer is kept where it is one of these; where the
 * caller says so it is block C, [N, H, W, C].  Where one
 * direction has a good kernel for another layout only, its operands are
 * reordered around it; `ref` kernels are taken when there is no other.
 * Weights are held as the forward kernel likes them; gradients leave canonical.
 *
 * bf16: pictures and their gradients are bf16 with their channels last, [N, H, W, C], which is what AMX's tiles take,
 * and so are the held weights; sums, biases and the gradients of both are f32, and y where it is wanted so.  A kernel
 * that writes bf16 rounds its sums, to nearest, ties to even.  Only where the instruction set has it.
 *
 * Ownership: memory is the caller's; dnnl_mul_bind lends it until the next bind.
 * Threads: one at a time; the library uses omp_get_max_threads() of the caller,
 * which must be the same when a layer is made and when it runs.
 */
#ifndef ENGINE_CPU_DNNL_H
#define ENGINE_CPU_DNNL_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dnnl_dev;	/* the library, opened */
struct dnnl_mul;	/* one layer at one batch size */

enum dnnl_way { DNNL_FORWARD, DNNL_DATA, DNNL_WEIGHT, DNNL_WAYS };

struct dnnl_shape {
	uint32_t n, c, h, w;	/* what comes in */
	uint32_t k, r, s;
	uint32_t stride[2], pad[2], dilate[2];	/* lines, columns; dilate 1: taps side by side */
	uint32_t groups;
	bool	 fc;		/* [n, c*h*w] by [k, c*h*w]; r and what follows it are not read */
	bool	 bias;
	bool	 relu;		/* y = max(y, 0) in the same pass, 0 of what is no number; dy is of the y before it */
	bool	 data;		/* dx is wanted */
	bool	 last;		/* f32 x and y have their channels last, [N, H, W, C]: blocks of all channels */
	bool	 bf16;
	bool	 wide;		/* y is f32 all the same, dy bf16 */
};

/* Where a layer's operands lie; pictures at multiples of 64 bytes. */
struct dnnl_place {
	void	*x, *y, *dx, *dy;
	void	*held;		/* [dnnl_mul_held bytes] the weights, as loaded */
	float	*bias, *dbias;	/* [k] */
	void	*scratch;	/* [dnnl_mul_scratch bytes] shared by all layers */
};

/* Limits it as isa.h says.  Returns 0, ERR_ARG (the limit is no name), ERR_NOTSUP or ERR_NOMEM. */
int	 dnnl_dev_open(struct dnnl_dev **dev);
void	 dnnl_dev_close(struct dnnl_dev *dev);	/* NULL is fine */
/* "oneDNN 2.6.3, avx512_core". */
int	 dnnl_dev_describe(const struct dnnl_dev *dev, struct buf *out);
/* Returns 0, or ERR_NOTSUP where the instruction set has no products of bf16. */
int	 dnnl_dev_bf16(const struct dnnl_dev *dev);
/* Channels side by side in the blocked layout this processor likes: 8 or 16. */
uint32_t dnnl_dev_block(const struct dnnl_dev *dev);

/*
 * Makes a layer ready.  like is NULL, or the same layer at another batch size, whose layouts are kept.
 * Returns 0, ERR_NOTSUP (the line has the library's word) or ERR_NOMEM.
 */
int	 dnnl_mul_new(struct dnnl_dev *dev, const struct dnnl_shape *shape, const struct dnnl_mul *like,
	     struct dnnl_mul **mul);
void	 dnnl_mul_free(struct dnnl_mul *mul);	/* NULL is fine */
/* Is the layer faster with its channels last, since it would fill less than four fifths of its blocks? */
bool	 dnnl_mul_last(const struct dnnl_dev *dev, const struct dnnl_shape *shape);
uint32_t dnnl_mul_x_block(const struct dnnl_mul *mul);	/* of x and dx */
uint32_t dnnl_mul_y_block(const struct dnnl_mul *mul);	/* of y and dy */
size_t	 dnnl_mul_held(const struct dnnl_mul *mul);	/* bytes */
size_t	 dnnl_mul_scratch(const struct dnnl_mul *mul);	/* bytes */
/* The kernel of one direction, with "+reorder" for each operand that is reordered; "-" where there is none. */
const char *dnnl_mul_kernel(const struct dnnl_mul *mul, enum dnnl_way way);

/* Returns 0 or ERR_NOTSUP, as do all below. */
int	 dnnl_mul_bind(struct dnnl_mul *mul, const struct dnnl_place *place);
/* Weights [K,C/groups,R,S] into held. */
int	 dnnl_mul_load(struct dnnl_mul *mul, const float *w);
int	 dnnl_mul_forward(struct dnnl_mul *mul);
int	 dnnl_mul_data(struct dnnl_mul *mul);
/* dw [K,C/groups,R,S] and, with a bias, dbias. */
int	 dnnl_mul_weight(struct dnnl_mul *mul, float *dw);

/* c [m, n] = a [m, k] b [k, n]; each is row by row, with so many floats from row to row. */
struct dnnl_matrices {
	size_t m, n, k;
	size_t a, b, c;
	bool   turned;		/* a lies as [k, m] */
	bool   add;		/* to what c holds */
};

/*
 * Within a parallel region the calling thread computes it alone, and the bits depend on the shape only.
 * Returns 0, ERR_NOTSUP or ERR_NOMEM.
 */
int	 dnnl_product(const struct dnnl_matrices *shape, const float *a, const float *b, float *c);

#endif
