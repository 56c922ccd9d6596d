/*
 * cpu_dense - a convolution of small maps, as one product with a dense matrix.
 *
 * If a map has no more pixels than half of the kernel's taps, most taps of a direct convolution read padding.  A dense
 * matrix maps all numbers of a sample to all of its outputs: each pair of pixels has its tap, or 0.  For 3x3 taps on
 * maps of 2x2 that is 16 multiply-adds for each pair of channels, and not 36.  The product is a fully connected layer
 * of oneDNN, in f32 or bf16.  The matrix is filled when the weights are loaded, and its gradient is added up into
 * theirs.
 *
 * Layouts, ownership and threads: as in dnnl.h.  Maps have the processor's preferred block in f32, and their channels
 * last in bf16.
 */
#ifndef ENGINE_CPU_CPU_DENSE_H
#define ENGINE_CPU_CPU_DENSE_H

#include "engine/cpu/dnnl/dnnl.h"

struct cpu_dense;

/* One group, whole blocks of channels, at most half as many pixels as taps, a matrix of at most twice the weights. */
bool	 cpu_dense_fits(const struct dnnl_shape *s);

/* like is NULL, or the same layer at another batch size.  Returns 0, ERR_NOTSUP or ERR_NOMEM. */
int	 cpu_dense_new(struct dnnl_dev *dev, const struct dnnl_shape *shape, const struct cpu_dense *like,
	     struct cpu_dense **dense);
void	 cpu_dense_free(struct cpu_dense *d);	/* NULL is fine */
const struct dnnl_needs *cpu_dense_needs(const struct cpu_dense *d);

/* As dnnl_layer_bind(), dnnl_layer_load() and dnnl_layer_run(); the last two use the scratch. */
int	 cpu_dense_bind(struct cpu_dense *d, const struct dnnl_place *place);
int	 cpu_dense_load(struct cpu_dense *d, const float *w);
int	 cpu_dense_run(struct cpu_dense *d, enum dnnl_direction dir, float *dw);

#endif
