/*
 * wino_product - the products of Winograd's algorithm, of a chunk of tiles and the weights of one position.
 *
 * With few channels oneDNN spends half of the time on packing.  On AVX2 and AVX-512 these products are therefore
 * computed here, all others by dnnl_product().  Without it, steps of resnet-110, batch 128, take 1.11 times as long on
 * two cores of an EPYC 9004.  With AVX2 alone, on two of an EPYC 7003, they take 1.20 times as long, as then the
 * library also computes convolutions of 16 channels, by direct sums.
 */
#ifndef ENGINE_CPU_WINO_WINO_PRODUCT_H
#define ENGINE_CPU_WINO_WINO_PRODUCT_H

#include "engine/cpu/dnnl/dnnl.h"

/* Are products of few channels computed here? */
bool	 wino_product_is_own(void);

/* As dnnl_product(), on the calling thread alone. */
int	 wino_product(const struct dnnl_matrices *shape, const float *a, const float *b, float *c);

#endif
