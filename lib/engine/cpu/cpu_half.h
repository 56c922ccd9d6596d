/*
 * cpu_half - numbers out of memory and back, f32 or bf16 as `half` says, computed in f32 either way.
 *
 * bf16 is the upper half of an f32.  It is rounded to nearest, ties to even; a NaN stays a NaN.  Where `half`
 * is a constant of the function that calls, nothing of the choice is left.  at counts numbers.
 */
#ifndef ENGINE_CPU_CPU_HALF_H
#define ENGINE_CPU_CPU_HALF_H

#include "base/isa.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Sixteen floats: one register or several, as the instruction set has them.  Only within a function or by address: how
 * they are passed depends on the set.
 */
#define CPU_WIDE 16
typedef float cpu_wide __attribute__((vector_size(4 * CPU_WIDE), aligned(4), may_alias));
typedef int32_t cpu_mask __attribute__((vector_size(4 * CPU_WIDE), aligned(4), may_alias));
typedef uint16_t cpu_halves __attribute__((vector_size(2 * CPU_WIDE), aligned(2), may_alias));
typedef uint32_t cpu_words __attribute__((vector_size(4 * CPU_WIDE), aligned(4), may_alias));

/* One number. */
ISA_INLINE float
cpu_number(const void *p, size_t at, bool half)
{
	union { uint32_t u; float f; } v;

	if (!half)
		return ((const float *)p)[at];
	v.u = (uint32_t)((const uint16_t *)p)[at] << 16;
	return v.f;
}

ISA_INLINE void
cpu_put(void *p, size_t at, bool half, float f)
{
	union { float f; uint32_t u; } v = { f };

	if (half)
		((uint16_t *)p)[at] = f != f ? 0x7fc0 : (uint16_t)((v.u + 0x7fff + (v.u >> 16 & 1)) >> 16);
	else
		((float *)p)[at] = f;
}

/* CPU_WIDE numbers. */
ISA_INLINE void
cpu_load(const void *p, size_t at, bool half, cpu_wide *to)
{
	if (half)
		*to = (cpu_wide)(__builtin_convertvector(*(const cpu_halves *)((const uint16_t *)p + at), cpu_words) << 16);
	else
		*to = *(const cpu_wide *)((const float *)p + at);
}

ISA_INLINE void
cpu_store(const cpu_wide *from, void *p, size_t at, bool half)
{
	cpu_words u = (cpu_words)*from, none = (cpu_words)(*from != *from);

	if (half) {
		u = (u + 0x7fff + (u >> 16 & 1)) >> 16;
		*(cpu_halves *)((uint16_t *)p + at) = __builtin_convertvector((u & ~none) | (0x7fc0 & none), cpu_halves);
	} else
		*(cpu_wide *)((float *)p + at) = *from;
}

/* The first `count` of them; the rest of *to stays as it was. */
ISA_INLINE void
cpu_load_part(const void *p, size_t at, bool half, size_t count, cpu_wide *to)
{
	for (size_t j = 0; j < count; j++)
		(*to)[j] = cpu_number(p, at + j, half);
}

ISA_INLINE void
cpu_store_part(const cpu_wide *from, void *p, size_t at, bool half, size_t count)
{
	for (size_t j = 0; j < count; j++)
		cpu_put(p, at + j, half, (*from)[j]);
}

/* All of them where count is CPU_WIDE. */
ISA_INLINE void
cpu_get(const void *p, size_t at, bool half, size_t count, cpu_wide *to)
{
	if (count == CPU_WIDE)
		cpu_load(p, at, half, to);
	else
		cpu_load_part(p, at, half, count, to);
}

ISA_INLINE void
cpu_set(const cpu_wide *from, void *p, size_t at, bool half, size_t count)
{
	if (count == CPU_WIDE)
		cpu_store(from, p, at, half);
	else
		cpu_store_part(from, p, at, half, count);
}

#endif
