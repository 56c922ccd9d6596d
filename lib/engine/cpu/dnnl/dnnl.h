/*
 * dnnl - a convolution or fully connected layer, in its three directions, on oneDNN.
 *
 *	y = x * w + b,  dx = dy * w^T,  dw = sum over the batch of x^T dy,  db = sum of dy
 *
 * lib/engine/cpu/dnnl hides oneDNN from the rest of tally.  dnnl_pick chooses kernels and layouts, dnnl_product
 * multiplies matrices, dnnl_fc has a faster forward pass in f32, and dnnl_dev has the library's engine and stream.
 * dnnl_lib.h hides the differences between its major versions 2 and 3 (github.com/oneapi-src/oneDNN, doc/).
 *
 * Layouts: f32 activations have block 1 (plain [N,C,H,W]) or block B = 8 or 16: [N, ceil(C/B), H, W, B], where the
 * channels past C are zero.  With channels_last they have block C, [N, H, W, C].  The library is asked for its
 * preferred layout (`any`), which is used if it is one of these.  If a direction has a good kernel for another layout
 * only, the layer reorders the operands around it.  Kernels named `ref` are used only if there is no other.  Weights
 * are packed in the layout of the forward kernel.  Gradients of weights are canonical.
 *
 * bf16: activations and their gradients are bf16, [N, H, W, C], as AMX's tiles need them, and so are the packed
 * weights.  Sums, biases and the gradients of weights and biases are f32.  A kernel rounds its sums to bf16, to
 * nearest, ties to even.
 *
 * Ownership: the caller owns all memory; that of dnnl_layer_bind() is lent until the next bind.
 * Threads: one at a time.  The library uses the caller's omp_get_max_threads(), which must be the same when a layer is
 * made and when it runs.
 */
#ifndef ENGINE_CPU_DNNL_DNNL_H
#define ENGINE_CPU_DNNL_DNNL_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dnnl_dev;	/* the library, opened */
struct dnnl_layer;	/* one layer at one batch size */

enum dnnl_direction { DNNL_FORWARD, DNNL_DATA, DNNL_WEIGHT, DNNL_DIRECTIONS };

struct dnnl_shape {
	uint32_t n, c, h, w;	/* dimensions of x */
	uint32_t k, r, s;
	uint32_t stride[2], pad[2], dilate[2];	/* vertical, horizontal; dilate 1: adjacent taps */
	uint32_t groups;
	bool	 fc;		/* operands are [n, c*h*w] and [k, c*h*w]; members from r to groups are ignored */
	bool	 bias;
	/* After the bias y = scale y + shift, by channel.  The layer is a convolution with the forward pass only. */
	bool	 scaled;
	bool	 plus;		/* y += place.plus, before ReLU; not scaled, and only if cpu_conv_adds() */
	bool	 relu;		/* y = max(y, 0), and 0 for NaN; dy is the gradient before ReLU */
	/*
	 * The operand y is [n, k, h / 2, w / 2]: the maxima of windows of 2x2 pixels without overlap.  dy still has
	 * all pixels, and is 0 in an odd last line or column, which no window has.  Only if cpu_conv_pools(), and
	 * with neither scaled, plus nor relu.
	 */
	bool	 pooled;
	bool	 data;		/* the layer must compute dx */
	bool	 no_dw;		/* it need not compute dw */
	bool	 channels_last;	/* f32 x and y are [N, H, W, C] */
	bool	 bf16;
	bool	 y_f32;		/* y is f32 despite bf16; dy is bf16 */
	/* scaled: elements from one sample of y to the next; 0: no gap, which only wino.h and point.h can have */
	size_t	 y_step;
};

/* Memory of a layer's operands; activations at multiples of 64 bytes. */
struct dnnl_place {
	void	*x, *y, *dx, *dy;
	void	*packed;	/* [needs.packed bytes] the weights, as loaded */
	float	*bias, *dbias;	/* [k] */
	const void *plus;	/* laid out as y */
	uint16_t *argmax;	/* pooled: of each maximum 2 line + column in its window, laid out as y; not NULL */
	const float *scale, *shift;	/* [k], zeros up to a multiple of 16 */
	void	*scratch;	/* [needs.scratch bytes] shared by all layers */
};

/* What a layer requires of the caller. */
struct dnnl_needs {
	uint32_t x_block, y_block;	/* layouts of x and dx, and of y and dy */
	size_t	 packed, scratch;	/* bytes */
	bool	 canonical;		/* packed weights are canonical: the caller may write them in place of load() */
	/* The name of each direction's kernel, with "+reorder" for each reordered operand; "-": no such kernel. */
	const char *kernel[DNNL_DIRECTIONS];
};

/* Limits the instruction set as isa.h says.  Returns 0, ERR_ARG (unknown limit), ERR_NOTSUP or ERR_NOMEM. */
int	 dnnl_dev_open(struct dnnl_dev **dev);
void	 dnnl_dev_close(struct dnnl_dev *dev);	/* NULL is fine */
/* Appends "oneDNN 2.6.3, avx512_core". */
int	 dnnl_dev_describe(struct buf *out);
/* Returns 0, or ERR_NOTSUP if the instruction set has no bf16 products. */
int	 dnnl_dev_bf16(void);
/* Does it have them in vectors alone, and not in the larger units of AMX? */
bool	 dnnl_dev_bf16_pairs(void);
/* Does it have AMX? */
bool	 dnnl_dev_tiles(void);
/* The block of this processor's preferred blocked layout: 8 or 16. */
uint32_t dnnl_dev_block(void);

/*
 * Makes a layer.  like is NULL, or the same layer at another batch size, whose layouts are reused.
 * Returns 0, ERR_NOTSUP (the line has the library's status) or ERR_NOMEM.
 */
int	 dnnl_layer_new(struct dnnl_dev *dev, const struct dnnl_shape *shape, const struct dnnl_layer *like,
	     struct dnnl_layer **layer);
void	 dnnl_layer_free(struct dnnl_layer *layer);	/* NULL is fine */
/* The output's lines (axis 0) or columns (1). */
uint32_t dnnl_layer_side(const struct dnnl_shape *shape, int axis);
/* Is the layer faster with its channels last, because it would fill less than four fifths of its blocks? */
bool	 dnnl_layer_last(const struct dnnl_shape *shape);
const struct dnnl_needs *dnnl_layer_needs(const struct dnnl_layer *layer);

/* The following return 0 or ERR_NOTSUP. */
int	 dnnl_layer_bind(struct dnnl_layer *layer, const struct dnnl_place *place);
/* Packs weights [K,C/groups,R,S]. */
int	 dnnl_layer_load(struct dnnl_layer *layer, const float *w);
/* Computes one direction.  DNNL_WEIGHT writes dw [K,C/groups,R,S] and, with a bias, dbias; the others ignore dw. */
int	 dnnl_layer_run(struct dnnl_layer *layer, enum dnnl_direction dir, float *dw);

/* c [m, n] = a [m, k] b [k, n], each row-major. */
struct dnnl_matrices {
	size_t m, n, k;
	size_t a, b, c;		/* floats from one row to the next */
	bool   transposed;	/* a is [k, m] in memory */
	bool   add;		/* c += a b */
};

/*
 * Within a parallel region the calling thread computes the product alone, and the bits depend on the shape only.
 * Returns 0, ERR_NOTSUP or ERR_NOMEM.
 */
int	 dnnl_product(const struct dnnl_matrices *shape, const float *a, const float *b, float *c);

#endif
