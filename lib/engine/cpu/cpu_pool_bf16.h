/*
 * cpu_pool_bf16 - max pooling of bf16 in integers, which order as the numbers do: serves cpu_pool.
 *
 * The bits are those of cpu_pool.c, with two exceptions: a maximum of -0 becomes 0, and a gradient that is -0 or NaN
 * keeps all its bits.
 */
#ifndef ENGINE_CPU_CPU_POOL_BF16_H
#define ENGINE_CPU_CPU_POOL_BF16_H

#include "engine/cpu/cpu_pool_in.h"

/* Is this max pooling of bf16, with enough channels for a vector? */
bool	 cpu_pool_bf16_fits(const struct pool_frame *f);
/* Computes a sample, if that fits.  Returns false, with y undefined, if a number is not finite. */
bool	 cpu_pool_bf16_forward(const struct pool_frame *f, const struct cpu_ptr *x, const struct cpu_ptr *y,
	     uint16_t *argmax);

/* Does it fit, and are the windows 2x2 without overlap? */
bool	 cpu_pool_bf16_is_2x2(const struct pool_frame *f);
/* Computes a sample's gradient, of one part, if the windows are so. */
void	 cpu_pool_bf16_backward(const struct pool_frame *f, const struct cpu_ptr *dy, const struct cpu_ptr *dx,
	     const uint16_t *argmax);

#endif
