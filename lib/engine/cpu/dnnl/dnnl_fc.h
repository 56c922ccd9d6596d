/*
 * dnnl_fc - the forward pass of a fully connected layer in f32, as y^T = w x^T.
 *
 * oneDNN multiplies x by w^T, where w has a row for each output.  On AVX-512 its product of x [128, 2048] and w
 * [2048, 2048] takes twice as long as the one here, in version 2.6 as in 3.7.  x and y are transposed on the way; they
 * are small beside w.
 */
#ifndef ENGINE_CPU_DNNL_DNNL_FC_H
#define ENGINE_CPU_DNNL_DNNL_FC_H

#include "engine/cpu/dnnl/dnnl.h"

/* f32 with AVX-512, at least 16 samples, and at least as many outputs as samples. */
bool	 dnnl_fc_fits(const struct dnnl_shape *s);
/* Bytes of scratch. */
size_t	 dnnl_fc_scratch(const struct dnnl_shape *s);
/* Needs canonical weights in place->packed, and x and y without blocks.  Returns what dnnl_product() does. */
int	 dnnl_fc_forward(const struct dnnl_shape *s, const struct dnnl_place *place);

#endif
