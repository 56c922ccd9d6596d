/*
 * wino_bf16 - the transforms of bf16 in 16 lanes, and products of pairs of it.  All need a processor with avx512_bf16.
 */
#ifndef ENGINE_CPU_WINO_WINO_BF16_H
#define ENGINE_CPU_WINO_WINO_BF16_H

#include "engine/cpu/dnnl/dnnl.h"
#include "engine/cpu/wino/wino_tile.h"

/*
 * As dnnl_product(), on the calling thread alone.  An element of a and b is a pair of numbers: c gets the sums of both
 * products.  n is a multiple of 16.
 */
void	 wino_bf16_product(const struct dnnl_matrices *shape, const uint32_t *a, const uint32_t *b, float *c);

/* As in wino_tile.h.  v is WINO_HALVES or WINO_PAIRS, that of dy WINO_PAIRS, and that of y WINO_FLOATS. */
void	 wino_bf16_x(const struct wino_map *m, const struct wino_grid *g, const struct wino_run *r, const void *x,
	     const struct wino_tiles *v);
void	 wino_bf16_dy(const struct wino_map *m, const struct wino_grid *g, const struct wino_run *r, const void *dy,
	     const struct wino_tiles *v, float *sums);
void	 wino_bf16_y(const struct wino_map *m, const struct wino_grid *g, const struct wino_run *r,
	     const struct wino_tiles *v, const struct wino_after *after, void *y);
/* u gets WINO_PAIRS of rows.  Row 2 i comes before row 2 i + 1. */
void	 wino_bf16_w(const struct wino_weights *w, size_t row, size_t column, size_t position, float *u);

#endif
