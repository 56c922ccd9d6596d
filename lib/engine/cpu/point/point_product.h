/* point_product - products of the pixels of blocked maps, summed in registers, which AVX-512 has enough of. */
#ifndef ENGINE_CPU_POINT_POINT_PRODUCT_H
#define ENGINE_CPU_POINT_POINT_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

#define POINT_LANES	16u	/* channels of a block */
#define POINT_PANEL	2u	/* blocks of a panel */
#define POINT_PIXELS	14u	/* pixels that are multiplied at once; sides of maps are often multiples of 7 */

/* Some pixels of a map whose blocks of channels are `apart` floats apart. */
struct point_map {
	const float *p;		/* the first pixel of the first block */
	const float *next;	/* the first pixel of the following call; point_sum_products() fetches it */
	size_t	     blocks, apart;
};

/*
 * Where w[row, column] of [rows, blocks 16] is in an array of panels.  A panel is [rows, 32], the last of an odd number
 * of blocks [rows, 16].
 */
size_t	 point_panel_at(size_t row, size_t column, size_t rows, size_t blocks);
/*
 * For each of `pixels`: y = x w + plus, where w is panels of [x->blocks 16, blocks 16].  Blocks of y are y_apart floats
 * apart.  plus is laid out as y, or NULL for zeros.  stream: by non-temporal stores.
 */
void	 point_multiply(const struct point_map *x, size_t pixels, const float *w, size_t blocks, const float *plus,
	     bool stream, float *y, size_t y_apart);
/*
 * The sums over the pixels of x[c] dy[k], [16, 16] for each pair of blocks.  Those of block j of dy are at sum + 256 j,
 * those of the next block of x at sum + sum_apart.  With `add` they are added to what is there.
 */
void	 point_sum_products(const struct point_map *x, const struct point_map *dy, size_t pixels, bool add, float *sum,
	     size_t sum_apart);

#endif
