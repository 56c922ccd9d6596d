/*
 * amx - a convolution of bf16 with whole blocks of 16 channels, for processors with AMX.
 *
 * lib/engine/cpu/amx is amx, and for dw amx_weight and amx_cells.  y comes from the library's kernel for forward
 * passes.  dx is a convolution, too: of dy by the weights with input and output channels exchanged and taps in reverse.
 * With a stride it is several, each of a part of the taps and for the pixels that are a stride apart.  The library
 * computes them by the same fast kernel.  Its own kernels for dx and dw are several times slower.
 *
 * Layouts, ownership and threads: as in dnnl.h.
 */
#ifndef ENGINE_CPU_AMX_AMX_H
#define ENGINE_CPU_AMX_AMX_H

#include "engine/cpu/dnnl/dnnl.h"

struct amx;

/*
 * On AMX, in bf16 with one group, adjacent taps, strides of at most 4, multiples of 16 channels, less padding than
 * taps, and y in bf16.
 */
bool	 amx_fits(const struct dnnl_shape *s);

/* like is NULL, or the same layer at another batch size.  Returns 0, ERR_NOTSUP or ERR_NOMEM. */
int	 amx_new(struct dnnl_dev *dev, const struct dnnl_shape *shape, const struct amx *like, struct amx **a);
void	 amx_free(struct amx *a);	/* NULL is fine */
const struct dnnl_needs *amx_needs(const struct amx *a);

/* As dnnl_layer_bind(), dnnl_layer_load() and dnnl_layer_run(); the last two use the scratch. */
int	 amx_bind(struct amx *a, const struct dnnl_place *place);
int	 amx_load(struct amx *a, const float *weights);
int	 amx_run(struct amx *a, enum dnnl_direction dir, float *dw);

#endif
