/*
 * bn_bf16 - the inner loops of cpu_bn for bf16 in whole groups of 16 channels, for ISA_AVX512_BF16.
 *
 * The functions are those of bn_unit.h, and give the same bits, except that numbers below the normal ones become 0,
 * and that NaN keeps its sign.  They take registers of 64 bytes and the processor's rounding: the arithmetic of bf16
 * otherwise takes longer than memory.  Only they compute gelu.
 */
#ifndef ENGINE_CPU_BN_BN_BF16_H
#define ENGINE_CPU_BN_BN_BF16_H

#include "engine/cpu/bn/bn_unit.h"

/* Does this processor have the instructions, and the walk whole groups? */
bool	 bn_bf16_fits(const struct bn_walk *u);
/* Does every walk over so many channels in bf16 fit? */
bool	 bn_bf16_fits_channels(size_t c);

void	 bn_bf16_moments(const struct bn_walk *u, const struct bn_line *x, float *s);
void	 bn_bf16_forward(const struct bn_walk *u, const struct bn_line *x, const struct bn_line *y,
	     const struct bn_lanes *c, enum bn_act act);
void	 bn_bf16_reduce(const struct bn_walk *u, const struct bn_incoming *in, const struct bn_lanes *c,
	     enum bn_act act, float *s);
void	 bn_bf16_backward(const struct bn_walk *u, const struct bn_incoming *in, const struct bn_line *dx,
	     const struct bn_lanes *c, enum bn_act act);

#endif
