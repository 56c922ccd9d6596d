/*
 * isa - one source, several instruction sets, chosen when the program starts.
 *
 * ISA_CLONES in front of a function gives it a body for each set that is worth one; ISA_INLINE is for what such a
 * function calls, so that it is compiled with it.  The bits are the same in all: no sum changes its order, and
 * -std=c11 forbids to fuse a product with a sum.  No OpenMP inside: the compiler outlines parallel regions without
 * clones.  Sanitized builds have one body (their checks do not run before main, where the choice is made), and so do
 * other processors.
 */
#ifndef BASE_ISA_H
#define BASE_ISA_H

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define ISA_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ISA_CLONES
#endif

#define ISA_INLINE static inline __attribute__((always_inline))

#endif
