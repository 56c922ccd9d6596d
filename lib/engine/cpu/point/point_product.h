/* point_product - products of the pixels of blocked maps, summed in registers, which AVX-512 has enough of. */
#ifndef ENGINE_CPU_POINT_POINT_PRODUCT_H
#define ENGINE_CPU_POINT_POINT_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

#define POINT_LANES	16u	/* channels of a block */

/* Some pixels of a map whose blocks of channels are `apart` floats apart. */
struct point_map {
	const float *p;		/* the first pixel of the first block */
	size_t	     blocks, apart;
};

/*
 * For each of `pixels`: the first `blocks` blocks of y = x w, where w [x->blocks 16, w_line] has a row for each channel
 * of x.  Blocks of y are y_apart floats apart.
 */
void	 point_multiply(const struct point_map *x, size_t pixels, const float *w, size_t w_line, size_t blocks,
	     float *y, size_t y_apart);
/*
 * sum [x->blocks, dy->blocks, 16, 16] = sum over the pixels of x[c] dy[k]; with `add` it is added to what is there.
 */
void	 point_sum_products(const struct point_map *x, const struct point_map *dy, size_t pixels, bool add, float *sum);

#endif
