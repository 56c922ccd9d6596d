/*
 * cpu_isa - one source, several instruction sets, chosen when the program starts.
 *
 * CPU_CLONES in front of a function gives it a body for each set that is worth
 * one; CPU_INLINE is for what such a function calls, so that it is compiled with
 * it.  No OpenMP inside: the compiler outlines parallel regions without clones.
 * Sanitized builds have one body (their checks do not run before main, where the
 * choice is made), and so do other processors.
 */
#ifndef ENGINE_CPU_ISA_H
#define ENGINE_CPU_ISA_H

#include <stdint.h>

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define CPU_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CPU_CLONES
#endif

#define CPU_INLINE static inline __attribute__((always_inline))

/*
 * Sixteen floats: one register or several, as the instruction set has them.  Only
 * within a function or by address: how they are passed depends on the set.
 */
#define CPU_WIDE 16
typedef float cpu_wide __attribute__((vector_size(4 * CPU_WIDE), aligned(4), may_alias));
typedef int32_t cpu_mask __attribute__((vector_size(4 * CPU_WIDE), aligned(4), may_alias));

#endif
