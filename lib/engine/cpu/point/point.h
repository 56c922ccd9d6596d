/*
 * point - a 1x1 (pointwise) convolution of f32 in its three directions, for AVX-512.
 *
 * lib/engine/cpu/point is point (the passes) and point_product (sums in registers).  The pixels of x and dy are read
 * where they are, and not packed as the library does: a thread multiplies some pixels of a sample, which its cache
 * holds, by panels of the weights.  y may be a sum with another map, which is added while the sums are in registers.
 *
 * For dw a thread sums the pixels of a slice of the batch for a part of the weights; the slices are added at the end,
 * in f64.  Slices and parts depend on the shape only, so any number of threads gives the same bits.
 *
 * On two cores of an EPYC 9005, y, dx and dw take 0.84, 0.94 and 0.73 of the library's time in inception, and 0.99,
 * 0.96 and 0.82 in ResNet-50 (bench/conv, oneDNN 2.6).  The sums of ResNet-50 take 10 ms within y, and 46 ms alone.
 *
 * Layouts, ownership and threads: as in dnnl.h.  x and y have blocks of 16.
 */
#ifndef ENGINE_CPU_POINT_POINT_H
#define ENGINE_CPU_POINT_POINT_H

#include "engine/cpu/dnnl/dnnl.h"

struct point;

/*
 * 1x1, stride 1, no pad, one group, in f32, not channels last, on AVX-512; with at most 1,048,576 weights, and at least
 * 49 pixels.
 */
bool	 point_fits(const struct dnnl_shape *s);

/* Returns 0 or ERR_NOMEM. */
int	 point_new(const struct dnnl_shape *shape, struct point **p);
void	 point_free(struct point *p);	/* NULL is fine */
const struct dnnl_needs *point_needs(const struct point *p);

void	 point_bind(struct point *p, const struct dnnl_place *place);
/* Packs weights [K,C,1,1]. */
void	 point_load(struct point *p, const float *weights);
/* As dnnl_layer_run(). */
void	 point_run(struct point *p, enum dnnl_direction dir, float *dw);

#endif
