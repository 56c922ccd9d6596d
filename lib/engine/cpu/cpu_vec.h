/*
 * cpu_vec - loads and stores of f32 or bf16 elements, one or 16 at a time.  Kernels compute in f32.
 *
 * bf16 is the upper half of an f32.  Stores round to nearest, ties to even; a NaN stays a NaN.  If `bf16` is a
 * constant of the caller, the compiler removes the branches on it.  `at` counts elements.
 */
#ifndef ENGINE_CPU_CPU_VEC_H
#define ENGINE_CPU_CPU_VEC_H

#include "base/isa.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Sixteen floats in registers of ISA_BYTES; the compiler would split a longer vector into single elements.  Functions
 * take them by address only, because the calling convention of vectors depends on the instruction set.
 *
 * Elements of f32 are in order.  Each ISA_BYTES of bf16 fill two registers: the even elements the first one, the odd
 * elements the second.  They are the low and the high halves of little-endian words, so that no shuffle is needed.
 * cpu_place() tells where an element is.  Vectors of the two kinds do not fit together.
 */
#define CPU_VEC 16
#define CPU_REGS (4 * CPU_VEC / ISA_BYTES)
typedef isa_floats cpu_floats;
typedef int32_t cpu_ints __attribute__((vector_size(ISA_BYTES), aligned(4), may_alias));
typedef uint32_t cpu_words __attribute__((vector_size(ISA_BYTES), aligned(4), may_alias));
typedef uint16_t cpu_shorts __attribute__((vector_size(ISA_BYTES), aligned(2), may_alias));

struct cpu_vec {
	cpu_floats v[CPU_REGS];
};

struct cpu_mask {
	cpu_ints v[CPU_REGS];
};

#define CPU_EACH(k) for (size_t k = 0; k < CPU_REGS; k++)

ISA_INLINE float
cpu_read(const void *p, size_t at, bool bf16)
{
	union { uint32_t u; float f; } v;

	if (!bf16)
		return ((const float *)p)[at];
	v.u = (uint32_t)((const uint16_t *)p)[at] << 16;
	return v.f;
}

ISA_INLINE void
cpu_write(void *p, size_t at, bool bf16, float f)
{
	union { float f; uint32_t u; } v = { f };

	if (bf16)
		((uint16_t *)p)[at] = f != f ? 0x7fc0 : (uint16_t)((v.u + 0x7fff + (v.u >> 16 & 1)) >> 16);
	else
		((float *)p)[at] = f;
}

ISA_INLINE void
cpu_load(const void *p, size_t at, bool bf16, struct cpu_vec *to)
{
	const uint16_t *h = (const uint16_t *)p + at;
	const float *f = (const float *)p + at;

	if (!bf16) {
		CPU_EACH(k)
			to->v[k] = ((const cpu_floats *)f)[k];
		return;
	}
	for (size_t k = 0; k < CPU_REGS; k += 2) {
		const cpu_words both = (cpu_words)((const cpu_shorts *)h)[k / 2];

		to->v[k] = (cpu_floats)(both << 16);
		to->v[k + 1] = (cpu_floats)(both & 0xffff0000);
	}
}

/* Rounds to bf16, in the upper halves of *to. */
ISA_INLINE void
cpu_round_bf16(const cpu_floats *f, cpu_words *to)
{
	const cpu_words u = (cpu_words)*f, nan = (cpu_words)(*f != *f);

	*to = ((u + 0x7fff + (u >> 16 & 1)) & ~nan) | (0x7fc00000 & nan);
}

ISA_INLINE void
cpu_store(const struct cpu_vec *from, void *p, size_t at, bool bf16)
{
	uint16_t *h = (uint16_t *)p + at;
	float *f = (float *)p + at;

	if (!bf16) {
		CPU_EACH(k)
			((cpu_floats *)f)[k] = from->v[k];
		return;
	}
	for (size_t k = 0; k < CPU_REGS; k += 2) {
		cpu_words a, b;

		cpu_round_bf16(&from->v[k], &a);
		cpu_round_bf16(&from->v[k + 1], &b);
		((cpu_shorts *)h)[k / 2] = (cpu_shorts)(a >> 16 | (b & 0xffff0000));
	}
}

/* A map of this size has left the caches before it is read, so that non-temporal stores lose nothing. */
#define CPU_STREAM_BYTES (1u << 25)

/* Stores f32 with isa_stream(); p is at a multiple of 64 bytes, so that whole lines are written. */
ISA_INLINE void
cpu_stream(const struct cpu_vec *from, float *p)
{
	CPU_EACH(k)
		isa_stream(&from->v[k], (cpu_floats *)p + k);
}

/* Where element e of CPU_VEC is in the registers. */
ISA_INLINE size_t
cpu_place(size_t e, bool bf16)
{
	const size_t half = ISA_BYTES / 4;	/* elements of a register */

	return bf16 ? e / (2 * half) * (2 * half) + e % 2 * half + e / 2 % half : e;
}

/* The elements f [CPU_VEC] in registers. */
ISA_INLINE void
cpu_from_floats(const float *f, bool bf16, struct cpu_vec *to)
{
	float placed[CPU_VEC];

	for (size_t e = 0; e < CPU_VEC; e++)
		placed[cpu_place(e, bf16)] = f[e];
	memcpy(to, placed, sizeof(placed));
}

/* Loads only `count` elements; the others of *to stay unchanged. */
ISA_INLINE void
cpu_load_part(const void *p, size_t at, bool bf16, size_t count, struct cpu_vec *to)
{
	float f[CPU_VEC];

	memcpy(f, to, sizeof(f));
	for (size_t j = 0; j < count; j++)
		f[cpu_place(j, bf16)] = cpu_read(p, at + j, bf16);
	memcpy(to, f, sizeof(f));
}

ISA_INLINE void
cpu_store_part(const struct cpu_vec *from, void *p, size_t at, bool bf16, size_t count)
{
	float f[CPU_VEC];

	memcpy(f, from, sizeof(f));
	for (size_t j = 0; j < count; j++)
		cpu_write(p, at + j, bf16, f[cpu_place(j, bf16)]);
}

/* count is CPU_VEC or less. */
ISA_INLINE void
cpu_load_some(const void *p, size_t at, bool bf16, size_t count, struct cpu_vec *to)
{
	if (count == CPU_VEC)
		cpu_load(p, at, bf16, to);
	else
		cpu_load_part(p, at, bf16, count, to);
}

ISA_INLINE void
cpu_store_some(const struct cpu_vec *from, void *p, size_t at, bool bf16, size_t count)
{
	if (count == CPU_VEC)
		cpu_store(from, p, at, bf16);
	else
		cpu_store_part(from, p, at, bf16, count);
}

#endif
