/*
 * wino_product - sums of products in registers, for rows and columns that need no packing.
 *
 * This file is compiled with fused multiply-adds, as the library's products have them.
 */
#include "engine/cpu/wino/wino_product.h"

#include "base/isa.h"

#define BLOCK_INLINE ISA_INLINE
#define ELEMENT float
#define DOT(sum, a, b) ((sum) += (a) * *(const VEC *)(b))
#define SUM VEC

/* The 16 registers of AVX2 hold 6 rows of two vectors, the elements of b that they take, and one of a. */
#define BLOCK(name) name##_8
#define LANES 8
#define VECTORS 2
#define ROWS(vectors) ((vectors) == 1 ? 12u : 6u)
#include "engine/cpu/wino/wino_block.inc"
#undef BLOCK
#undef LANES
#undef VECTORS
#undef ROWS

/* The 32 registers of AVX-512. */
#define BLOCK(name) name##_16
#define LANES 16
#define VECTORS 3
#define ROWS(vectors) ((vectors) == 1 ? 16u : (vectors) == 2 ? 12u : 8u)
#include "engine/cpu/wino/wino_block.inc"

/* Columns of c and rows of the weights up to which the library is slower, and those of transposed products. */
#define MOST	160u
#define MOST_TRANSPOSED	96u
#define MOST_AVX2	32u	/* of both */

static bool
is_small(const struct dnnl_matrices *s)
{
	const bool wide = isa_level() >= ISA_AVX512;
	const size_t most = !wide ? MOST_AVX2 : s->transposed ? MOST_TRANSPOSED : MOST;

	return s->n % (wide ? 16 : 8) == 0 && s->n <= most && (s->transposed ? s->m : s->k) <= most;
}

ISA_AVX2_ONLY static void
multiply_small_avx2(const struct dnnl_matrices *s, const float *a, const float *b, float *c)
{
	multiply_matrices_8(s, a, b, c);
}

ISA_AVX512_ONLY static void
multiply_small_avx512(const struct dnnl_matrices *s, const float *a, const float *b, float *c)
{
	multiply_matrices_16(s, a, b, c);
}

bool
wino_product_is_own(void)
{
	return isa_level() >= ISA_AVX2;
}

int
wino_product(const struct dnnl_matrices *s, const float *a, const float *b, float *c)
{
	if (!wino_product_is_own() || !is_small(s))
		return dnnl_product(s, a, b, c);
	if (isa_level() >= ISA_AVX512)
		multiply_small_avx512(s, a, b, c);
	else
		multiply_small_avx2(s, a, b, c);
	return 0;
}
