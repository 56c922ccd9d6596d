/*
 * wino - a 3x3 convolution in its three directions by Winograd's algorithm F(4x4, 3x3), in f32 or bf16.
 *
 * lib/engine/cpu/wino is wino (the passes), wino_tile (the formulas for a tile), wino_product, and wino_bf16 (both for
 * bf16, and max pooling).  The algorithm works on chunks of tiles: it transforms a chunk of x (B^T x B), multiplies it
 * by the transformed weights in 36 products, and transforms the results back.  A thread takes a chunk at a time, whose
 * memory fits its cache.  For dw a thread sums the products of a slice of the tiles, or of some of a slice's 36
 * positions, and the slices are added at the end.  The threads therefore wait for each other once a pass; waiting is
 * expensive when other programs run.  The sizes of chunks and slices depend on the layer's shape only, so any number of
 * threads gives the same bits.
 *
 * Where 4 does not divide a side, the tiles at its end have fewer than 4 pixels of y, and fewer points
 * (wino_lines.inc).  Maps of 14x14 take 484 products a channel instead of 576, maps of 7x7 121 instead of 144.
 *
 * Another algorithm gives other bits, so a fixed rule of the shape and the processor selects the layers.
 *
 * In bf16 the transforms compute in f32 and round once, and products are summed in f32.  Rounding before the products
 * is amplified: relative L2 errors of y, dx and dw are 1.1e-2, where a direct sum whose result is rounded has 1.7e-3.
 * tally-training(7) says what training loses by it.  Two cores of an EPYC 9005 compute direct sums at 500 to 1,000
 * GFLOP/s and this at 1,000 to 2,300, counted as direct sums.  AMX computes direct sums faster still.
 *
 * Layouts, ownership and threads: as in dnnl.h.  In f32 x and y have the processor's preferred block.
 */
#ifndef ENGINE_CPU_WINO_WINO_H
#define ENGINE_CPU_WINO_WINO_H

#include "engine/cpu/dnnl/dnnl.h"

struct wino;

/*
 * 3x3, stride 1, pad 1, one group, at least 32 channels in and out, 16 with AVX2, maps of at least 3x3, and not
 * channels last.  In bf16 without AMX alone, with a multiple of 8 channels in and out, and y is bf16.
 */
bool	 wino_fits(const struct dnnl_shape *s);

/*
 * Can this layer compute `pooled`?  The maxima are those of the sums before rounding.  If one of a window is
 * NaN, so is its maximum.  An infinity is a number as others.
 */
bool	 wino_pools(const struct dnnl_shape *s);

/* For the calling thread's omp_get_max_threads(); block 8 or 16.  Returns 0 or ERR_NOMEM. */
int	 wino_new(const struct dnnl_shape *shape, uint32_t block, struct wino **w);
void	 wino_free(struct wino *w);	/* NULL is fine */
const struct dnnl_needs *wino_needs(const struct wino *w);

void	 wino_bind(struct wino *w, const struct dnnl_place *place);
/* Packs weights [K,C,3,3]. */
void	 wino_load(struct wino *w, const float *weights);
/* As dnnl_layer_run(); returns what dnnl_product() does. */
int	 wino_run(struct wino *w, enum dnnl_direction dir, float *dw);

#endif
