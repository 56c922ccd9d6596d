/* wino_pairs - products of pairs of bf16, by the processor's dot product of two such numbers in 32 bits. */
#include "engine/cpu/wino/wino_product.h"

#include "base/isa.h"

#define BLOCK_INLINE ISA_BF16 ISA_INLINE
#define ELEMENT uint32_t
#define SUM isa_bf16_sums
#define DOT(sum, a, b) isa_dot_bf16(&(sum), a, b)
#include "engine/cpu/wino/wino_block.inc"

ISA_BF16 void
wino_product_pairs(const struct dnnl_matrices *s, const uint32_t *a, const uint32_t *b, float *c)
{
	multiply_matrices(s, a, b, c);
}
