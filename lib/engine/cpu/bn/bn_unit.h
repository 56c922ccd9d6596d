/*
 * bn_unit - batch norm of a unit, which is one sample's group of channels, or several adjacent groups whose pixels are
 * adjacent.
 *
 * lib/engine/cpu/bn has the inner loops of cpu_bn.c: bn_unit for all types and processors, bn_bf16 for bf16,
 * bn_join for the sums of all samples, and bn_gelu has the coefficients of gelu's polynomials.
 */
#ifndef ENGINE_CPU_BN_BN_UNIT_H
#define ENGINE_CPU_BN_BN_UNIT_H

#include <stdbool.h>
#include <stddef.h>

#define BN_GROUPS 32u	/* most groups of a unit */

/* The activation after the batch norm, which the same pass computes. */
enum bn_act {
	BN_PLAIN,	/* none */
	BN_RELU,
	BN_GELU,	/* bn_bf16 only */
};

/*
 * How a unit is walked.  Either pixel by pixel, where a pixel has `groups` vectors of CPU_VEC channels, the last of
 * which has `width`; `period` is CPU_VEC.  Or, if fewer channels than a vector has are adjacent to those of the next
 * pixel, in `groups` whole vectors of such pixels, after which the first channel comes first again; `period` is the
 * number of channels.
 */
struct bn_walk {
	size_t groups;
	size_t vectors, width, period;	/* vectors: of each group */
	size_t tail;			/* elements after the last vector of the last group */
	bool   bf16;
};

/* An operand: its first element, the elements from one vector to the next, and whether non-temporal stores write it. */
struct bn_line {
	void  *p;
	size_t stride;
	bool   stream;
};

/* The coefficients of a unit's channels, padded to whole vectors. */
struct bn_lanes {
	const float *scale, *shift, *mean, *k1, *k0;
};

/* What the backward pass reads: x, the one or two parts of dy, and what is added to dx. */
struct bn_incoming {
	struct bn_line x, d0, d1, plus;	/* d1.p NULL: one part; plus.p NULL: nothing */
};

/*
 * For each channel: sum (x - x[0]), and sum (x - x[0])^2.  s gets the first sums of a group's channels, and then the
 * second ones; from one group to the next are 2 CPU_VEC floats.
 */
void	 bn_unit_moments(const struct bn_walk *u, const struct bn_line *x, float *s);
void	 bn_unit_forward(const struct bn_walk *u, const struct bn_line *x, const struct bn_line *y,
	     const struct bn_lanes *c, enum bn_act act);
/* The same with sum dy, and sum dy (x - mean). */
void	 bn_unit_reduce(const struct bn_walk *u, const struct bn_incoming *in, const struct bn_lanes *c,
	     enum bn_act act, float *s);
/* dx may be x or plus. */
void	 bn_unit_backward(const struct bn_walk *u, const struct bn_incoming *in, const struct bn_line *dx,
	     const struct bn_lanes *c, enum bn_act act);

#endif
