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
#include <string.h>

/*
 * Sixteen floats in registers of ISA_BYTES: the compiler takes a vector that is longer than a register apart number by
 * number.  Only within a function or by address: how they are passed depends on the set.
 */
#define CPU_WIDE 16
#define CPU_REGS (4 * CPU_WIDE / ISA_BYTES)
typedef float cpu_floats __attribute__((vector_size(ISA_BYTES), aligned(4), may_alias));
typedef int32_t cpu_ints __attribute__((vector_size(ISA_BYTES), aligned(4), may_alias));
typedef uint32_t cpu_words __attribute__((vector_size(ISA_BYTES), aligned(4), may_alias));
typedef uint16_t cpu_halves __attribute__((vector_size(ISA_BYTES / 2), aligned(2), may_alias));

struct cpu_wide {
	cpu_floats v[CPU_REGS];
};

struct cpu_mask {
	cpu_ints v[CPU_REGS];
};

#define CPU_EACH(k) for (size_t k = 0; k < CPU_REGS; k++)

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
cpu_load(const void *p, size_t at, bool half, struct cpu_wide *to)
{
	const uint16_t *h = (const uint16_t *)p + at;
	const float *f = (const float *)p + at;

	CPU_EACH(k)
		to->v[k] = half ? (cpu_floats)(__builtin_convertvector(((const cpu_halves *)h)[k], cpu_words) << 16) :
		    ((const cpu_floats *)f)[k];
}

ISA_INLINE void
cpu_store(const struct cpu_wide *from, void *p, size_t at, bool half)
{
	uint16_t *h = (uint16_t *)p + at;
	float *f = (float *)p + at;

	CPU_EACH(k) {
		cpu_words u = (cpu_words)from->v[k], none = (cpu_words)(from->v[k] != from->v[k]);

		if (half) {
			u = (u + 0x7fff + (u >> 16 & 1)) >> 16;
			((cpu_halves *)h)[k] = __builtin_convertvector((u & ~none) | (0x7fc0 & none), cpu_halves);
		} else
			((cpu_floats *)f)[k] = from->v[k];
	}
}

/* The first `count` of them; the rest of *to stays as it was. */
ISA_INLINE void
cpu_load_part(const void *p, size_t at, bool half, size_t count, struct cpu_wide *to)
{
	float f[CPU_WIDE];

	memcpy(f, to, sizeof(f));
	for (size_t j = 0; j < count; j++)
		f[j] = cpu_number(p, at + j, half);
	memcpy(to, f, sizeof(f));
}

ISA_INLINE void
cpu_store_part(const struct cpu_wide *from, void *p, size_t at, bool half, size_t count)
{
	float f[CPU_WIDE];

	memcpy(f, from, sizeof(f));
	for (size_t j = 0; j < count; j++)
		cpu_put(p, at + j, half, f[j]);
}

/* All of them where count is CPU_WIDE. */
ISA_INLINE void
cpu_get(const void *p, size_t at, bool half, size_t count, struct cpu_wide *to)
{
	if (count == CPU_WIDE)
		cpu_load(p, at, half, to);
	else
		cpu_load_part(p, at, half, count, to);
}

ISA_INLINE void
cpu_set(const struct cpu_wide *from, void *p, size_t at, bool half, size_t count)
{
	if (count == CPU_WIDE)
		cpu_store(from, p, at, half);
	else
		cpu_store_part(from, p, at, half, count);
}

#endif
