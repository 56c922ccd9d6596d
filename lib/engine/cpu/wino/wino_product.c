/*
 * wino_product - sums of products in registers, for rows and columns that need no packing.
 *
 * This file is compiled with fused multiply-adds, as the library's products have them.
 */
#include "engine/cpu/wino/wino_product.h"

#include "base/isa.h"

#define LANES	16u
#define ROWS	12u	/* rows and vectors of c that the registers hold */
#define VECTORS	2u
#define MOST	64u	/* columns of c and rows of the weights up to which the library is slower */

typedef float vec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

static bool
is_small(const struct dnnl_matrices *s)
{
	return s->n % LANES == 0 && s->n <= MOST && (s->transposed ? s->m : s->k) <= MOST;
}

/* rows and vectors are constants of the caller, so that the compiler keeps the sums in registers. */
ISA_INLINE void
multiply_block(const struct dnnl_matrices *s, size_t rows, size_t vectors, const float *a, const float *b, float *c)
{
	const size_t row = s->transposed ? 1 : s->a, column = s->transposed ? s->a : 1;
	vec sum[ROWS][VECTORS];

	#pragma GCC unroll 12
	for (size_t i = 0; i < rows; i++)
		#pragma GCC unroll 2
		for (size_t j = 0; j < vectors; j++)
			sum[i][j] = s->add ? *(const vec *)(c + i * s->c + j * LANES) : (vec){ 0 };
	for (size_t p = 0; p < s->k; p++, a += column, b += s->b) {
		#pragma GCC unroll 12
		for (size_t i = 0; i < rows; i++)
			#pragma GCC unroll 2
			for (size_t j = 0; j < vectors; j++)
				sum[i][j] += a[i * row] * *(const vec *)(b + j * LANES);
	}
	#pragma GCC unroll 12
	for (size_t i = 0; i < rows; i++)
		#pragma GCC unroll 2
		for (size_t j = 0; j < vectors; j++)
			*(vec *)(c + i * s->c + j * LANES) = sum[i][j];
}

/* All rows of some columns. */
ISA_INLINE void
multiply_columns(const struct dnnl_matrices *s, size_t vectors, const float *a, const float *b, float *c)
{
	const size_t row = s->transposed ? 1 : s->a;
	size_t i = 0;

	for (; i + ROWS <= s->m; i += ROWS)
		multiply_block(s, ROWS, vectors, a + i * row, b, c + i * s->c);
	if (i + 8 <= s->m) {
		multiply_block(s, 8, vectors, a + i * row, b, c + i * s->c);
		i += 8;
	}
	if (i + 4 <= s->m) {
		multiply_block(s, 4, vectors, a + i * row, b, c + i * s->c);
		i += 4;
	}
	for (; i < s->m; i++)
		multiply_block(s, 1, vectors, a + i * row, b, c + i * s->c);
}

ISA_CLONES(static, void, multiply_small, (const struct dnnl_matrices *s, const float *a, const float *b, float *c),
    (s, a, b, c))
{
	size_t j = 0;

	for (; j + VECTORS * LANES <= s->n; j += VECTORS * LANES)
		multiply_columns(s, VECTORS, a, b + j, c + j);
	if (j < s->n)
		multiply_columns(s, 1, a, b + j, c + j);
}

bool
wino_product_is_own(void)
{
	return isa_level() >= ISA_AVX512;
}

int
wino_product(const struct dnnl_matrices *s, const float *a, const float *b, float *c)
{
	if (!is_small(s) || !wino_product_is_own())
		return dnnl_product(s, a, b, c);
	multiply_small(s, a, b, c);
	return 0;
}
