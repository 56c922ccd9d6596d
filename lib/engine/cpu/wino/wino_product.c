/*
 * wino_product - sums of products in registers, for rows and columns that need no packing.
 *
 * This file is compiled with fused multiply-adds, as the library's products have them.
 */
#include "engine/cpu/wino/wino_product.h"

#include "base/isa.h"

#define BLOCK_INLINE ISA_INLINE
#define ELEMENT float
#define SUM vec
#define DOT(sum, a, b) ((sum) += (a) * *(const vec *)(b))
#include "engine/cpu/wino/wino_block.inc"

/* Columns of c and rows of the weights up to which the library is slower; of transposed products fewer. */
#define MOST	160u
#define MOST_TRANSPOSED	96u

static bool
is_small(const struct dnnl_matrices *s)
{
	const size_t most = s->transposed ? MOST_TRANSPOSED : MOST;

	return s->n % LANES == 0 && s->n <= most && (s->transposed ? s->m : s->k) <= most;
}

ISA_CLONES(static, void, multiply_small, (const struct dnnl_matrices *s, const float *a, const float *b, float *c),
    (s, a, b, c))
{
	multiply_matrices(s, a, b, c);
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
