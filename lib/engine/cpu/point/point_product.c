/*
 * point_product - 12 pixels and two blocks, or 16 and one, whose sums the registers hold.
 *
 * This file is compiled with fused multiply-adds, as the library's products have them.
 */
#include "engine/cpu/point/point_product.h"

#include "base/isa.h"

#define LANES	POINT_LANES
#define AHEAD	24u	/* pixels from one that is read to one that is fetched */
#define PIXELS	16u	/* most pixels: 12 of two blocks, or 16 of one */

typedef float vec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* pixels and blocks are constants of the caller, so that the compiler keeps the sums in registers. */
ISA_INLINE void
multiply_pixels(const struct point_map *x, size_t first, size_t pixels, const float *w, size_t w_line, size_t blocks,
    float *y, size_t y_apart)
{
	vec sum[PIXELS][2];

	#pragma GCC unroll 16
	for (size_t i = 0; i < pixels; i++)
		#pragma GCC unroll 2
		for (size_t j = 0; j < blocks; j++)
			sum[i][j] = (vec){ 0 };
	for (size_t b = 0; b < x->blocks; b++) {
		const float *from = x->p + b * x->apart + first * LANES;

		for (size_t i = 0; i < pixels; i++)
			__builtin_prefetch(from + (AHEAD + i) * LANES);
		for (size_t l = 0; l < LANES; l++, w += w_line) {
			#pragma GCC unroll 16
			for (size_t i = 0; i < pixels; i++)
				#pragma GCC unroll 2
				for (size_t j = 0; j < blocks; j++)
					sum[i][j] += from[i * LANES + l] * *(const vec *)(w + j * LANES);
		}
	}
	#pragma GCC unroll 16
	for (size_t i = 0; i < pixels; i++)
		#pragma GCC unroll 2
		for (size_t j = 0; j < blocks; j++)
			*(vec *)(y + j * y_apart + (first + i) * LANES) = sum[i][j];
}

/* All pixels of some blocks of y. */
ISA_INLINE void
multiply_blocks(const struct point_map *x, size_t pixels, const float *w, size_t w_line, size_t blocks, float *y,
    size_t y_apart)
{
	const size_t most = blocks == 1 ? PIXELS : 12;
	size_t i = 0;

	for (; i + most <= pixels; i += most)
		multiply_pixels(x, i, most, w, w_line, blocks, y, y_apart);
	for (; i + 4 <= pixels; i += 4)
		multiply_pixels(x, i, 4, w, w_line, blocks, y, y_apart);
	for (; i < pixels; i++)
		multiply_pixels(x, i, 1, w, w_line, blocks, y, y_apart);
}

ISA_CLONES(extern, void, point_multiply, (const struct point_map *x, size_t pixels, const float *w, size_t w_line,
    size_t blocks, float *y, size_t y_apart),
    (x, pixels, w, w_line, blocks, y, y_apart))
{
	size_t j = 0;

	for (; j + 2 <= blocks; j += 2)
		multiply_blocks(x, pixels, w + j * LANES, w_line, 2, y + j * y_apart, y_apart);
	if (j < blocks)
		multiply_blocks(x, pixels, w + j * LANES, w_line, 1, y + j * y_apart, y_apart);
}

/* Of one block of each. */
ISA_INLINE void
sum_blocks(const float *x, const float *dy, size_t pixels, bool add, float *sum)
{
	vec each[LANES];

	#pragma GCC unroll 16
	for (size_t l = 0; l < LANES; l++)
		each[l] = (vec){ 0 };
	for (size_t i = 0; i < pixels; i++, x += LANES, dy += LANES) {
		#pragma GCC unroll 16
		for (size_t l = 0; l < LANES; l++)
			each[l] += x[l] * *(const vec *)dy;
	}
	for (size_t l = 0; l < LANES; l++, sum += LANES) {
		if (add)
			each[l] += *(vec *)sum;
		*(vec *)sum = each[l];
	}
}

/* The larger map is read once, as the other one stays in the cache. */
ISA_CLONES(extern, void, point_sum_products, (const struct point_map *x, const struct point_map *dy, size_t pixels,
    bool add, float *sum),
    (x, dy, pixels, add, sum))
{
	const size_t both = x->blocks * dy->blocks;

	for (size_t at = 0; at < both; at++) {
		const size_t i = dy->blocks > x->blocks ? at % x->blocks : at / dy->blocks;
		const size_t j = dy->blocks > x->blocks ? at / x->blocks : at % dy->blocks;

		sum_blocks(x->p + i * x->apart, dy->p + j * dy->apart, pixels, add,
		    sum + (i * dy->blocks + j) * LANES * LANES);
	}
}
