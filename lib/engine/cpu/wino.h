/*
 * wino - a 3x3 convolution in its three directions by Winograd's algorithm F(4x4, 3x3), in f32.
 *
 * wino_tile.h has the formulas.  Tiles are worked on in chunks: B^T x B of a chunk, 36 products with the weights by the
 * library, and back.  A thread takes a chunk at a time, in memory that stays in its cache.  For dw it adds the products
 * of a slice of the tiles, or of some of the 36 positions of one, and the slices are added at the end: threads wait for
 * each other once a pass, since waiting costs most where other programs run.  The sizes of chunks and slices depend on
 * the layer's shape only, and so do the bits: any number of threads gives the same.
 *
 * Which layers: a fixed rule of the shape, since another algorithm is other bits.
 *
 * Layouts, ownership and threads: as in dnnl.h; x and y are of the block that the processor likes.
 */
#ifndef ENGINE_CPU_WINO_H
#define ENGINE_CPU_WINO_H

#include "engine/cpu/dnnl.h"

struct wino;

/*
 * 3x3, stride 1, pad 1, one group, f32, at least 32 channels in and out, maps of at least 4x4, and
 * not channels last.
 */
bool	 wino_fits(const struct dnnl_shape *s);

/* For the calling thread's omp_get_max_threads(); block 8 or 16.  Returns 0 or ERR_NOMEM. */
int	 wino_new(const struct dnnl_shape *shape, uint32_t block, struct wino **w);
void	 wino_free(struct wino *w);	/* NULL is fine */
uint32_t wino_block(const struct wino *w);
size_t	 wino_held(const struct wino *w);	/* bytes */
size_t	 wino_scratch(const struct wino *w);	/* bytes */

void	 wino_bind(struct wino *w, const struct dnnl_place *place);
/* Weights [K,C,3,3] into held. */
void	 wino_load(struct wino *w, const float *weights);
/* These return 0, or what dnnl_product does. */
int	 wino_forward(struct wino *w);
int	 wino_data(struct wino *w);
/* dw [K,C,3,3] and, with a bias, dbias. */
int	 wino_weight(struct wino *w, float *dw);

#endif
