/*
 * cpu_conv - a convolution or fully connected layer at one batch size, by oneDNN (dnnl.h), by Winograd's algorithm
 * (wino.h), pixel by pixel (point.h), on small maps by a dense matrix (cpu_dense.h), or in bf16 on AMX (amx.h).
 *
 * The shape of a sample and the processor decide (wino_fits, point_fits, cpu_dense_fits, amx_fits), so that all batch
 * sizes of a convolution use the same algorithm.  Everything else is as in dnnl.h.
 */
#ifndef ENGINE_CPU_CPU_CONV_H
#define ENGINE_CPU_CPU_CONV_H

#include "engine/cpu/dnnl/dnnl.h"

struct cpu_conv;

/* like is NULL, or the same layer at another batch size.  Returns 0, ERR_NOTSUP or ERR_NOMEM. */
int	 cpu_conv_new(struct dnnl_dev *dev, const struct dnnl_shape *shape, const struct cpu_conv *like,
	     struct cpu_conv **conv);
void	 cpu_conv_free(struct cpu_conv *conv);	/* NULL is fine */
/* Can a kernel of this layer compute scale and shift, too?  stepped: with a y_step. */
bool	 cpu_conv_scales(const struct dnnl_shape *shape, bool stepped);
/* Can it add dnnl_place.plus? */
bool	 cpu_conv_adds(const struct dnnl_shape *shape);
/* Can it compute `pooled`? */
bool	 cpu_conv_pools(const struct dnnl_shape *shape);
/* Is the layer faster with its channels last? */
bool	 cpu_conv_last(const struct dnnl_shape *shape);
const struct dnnl_needs *cpu_conv_needs(const struct cpu_conv *conv);

/* These return 0 or ERR_NOTSUP. */
int	 cpu_conv_bind(struct cpu_conv *conv, const struct dnnl_place *place);
int	 cpu_conv_load(struct cpu_conv *conv, const float *w);
int	 cpu_conv_run(struct cpu_conv *conv, enum dnnl_direction dir, float *dw);

#endif
