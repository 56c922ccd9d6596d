/* wino_pairs - products of pairs of bf16, by the processor's dot product of two such numbers in 32 bits. */
#include "engine/cpu/wino/wino_product.h"

#include "base/isa.h"

#if ISA_X86

#include <immintrin.h>

#define BLOCK_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,bmi,bmi2")))
#define BLOCK_INLINE BLOCK_TARGET ISA_INLINE
#define ELEMENT uint32_t
#define SUM __m512
#define DOT(sum, a, b) ((sum) = _mm512_dpbf16_ps((sum), (__m512bh)_mm512_set1_epi32((int)(a)), \
	(__m512bh)_mm512_loadu_si512(b)))
#include "engine/cpu/wino/wino_block.inc"

BLOCK_TARGET void
wino_product_pairs(const struct dnnl_matrices *s, const uint32_t *a, const uint32_t *b, float *c)
{
	multiply_matrices(s, a, b, c);
}

#else

void
wino_product_pairs(const struct dnnl_matrices *s, const uint32_t *a, const uint32_t *b, float *c)
{
	(void)s;
	(void)a;
	(void)b;
	(void)c;
}

#endif
