/*
 * point - a 1x1 (pointwise) convolution of f32 in its three directions, for few channels and AVX-512.
 *
 * lib/engine/cpu/point is point (the passes) and point_product (sums in registers).  The library packs or copies as
 * much as it multiplies where channels are few or fill no multiple of its blocks.  Here the pixels of x and dy are
 * read where they are: a thread multiplies some pixels of a sample, which its cache holds, by all weights.  For dw a
 * thread sums the pixels of a sample, and adds the samples of a slice; the slices are added at the end, in f64.  Their
 * number depends on the batch only, so any number of threads gives the same bits.
 *
 * On two cores of an EPYC 9005 these layers of inception take 0.8 of the library's time in a training step with oneDNN
 * 2.6.  Alone, as bench/conv measures them, they take 0.9.
 *
 * Layouts, ownership and threads: as in dnnl.h.  x and y have blocks of 16.
 */
#ifndef ENGINE_CPU_POINT_POINT_H
#define ENGINE_CPU_POINT_POINT_H

#include "engine/cpu/dnnl/dnnl.h"

struct point;

/*
 * 1x1, stride 1, no pad, one group, in f32, not channels last, on AVX-512; with at most 65,536 weights, and at least
 * 100 pixels.
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
