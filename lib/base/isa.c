/* isa - which instruction set this process may use. */
#include "base/isa.h"
#include "base/err.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE "TALLY_MAX_ISA"

/*
 * The result of isa_level(), or 0 before its first call.  Kernels call it for each image row, too often for getenv().
 */
static _Atomic int level;

int
isa_limit(enum isa *limit)
{
	static const char *const names[] = { [ISA_SSE41] = "sse41", [ISA_AVX2] = "avx2", [ISA_AVX512] = "avx512_core",
		[ISA_AVX512_BF16] = "avx512_core_bf16", [ISA_AMX] = "avx512_core_amx" };
	const char *named = getenv(VARIABLE);

	*limit = ISA_ANY;
	if (named == NULL || *named == '\0')
		return 0;
	for (int i = ISA_SSE41; i < ISA_ANY; i++)
		if (strcmp(named, names[i]) == 0) {
			*limit = (enum isa)i;
			return 0;
		}
	return err_fail(ERR_ARG, VARIABLE "=%s: none of sse41, avx2, avx512_core, avx512_core_bf16, avx512_core_amx",
	    named);
}

/* The largest set of the processor.  Functions of ISA_BF16 ask for the last one, ISA_CLONES has no body for it. */
static enum isa
find_best(void)
{
	if (!ISA_HAS("avx2") || !ISA_HAS("fma") || !ISA_HAS("bmi") || !ISA_HAS("bmi2"))
		return ISA_SSE41;
	if (!ISA_HAS("avx512f") || !ISA_HAS("avx512cd") || !ISA_HAS("avx512bw") || !ISA_HAS("avx512dq") ||
	    !ISA_HAS("avx512vl"))
		return ISA_AVX2;
	return ISA_HAS("avx512bf16") ? ISA_AVX512_BF16 : ISA_AVX512;
}

enum isa
isa_level(void)
{
	enum isa known = (enum isa)atomic_load_explicit(&level, memory_order_relaxed), limit;

	if (known == 0) {
		known = find_best();
		isa_limit(&limit);
		known = known < limit ? known : limit;
		atomic_store_explicit(&level, (int)known, memory_order_relaxed);
	}
	return known;
}
