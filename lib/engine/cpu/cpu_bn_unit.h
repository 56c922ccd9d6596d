/* cpu_bn_unit - the inner loops of cpu_bn: batch norm of one sample's group of channels. */
#ifndef ENGINE_CPU_CPU_BN_UNIT_H
#define ENGINE_CPU_CPU_BN_UNIT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * How a unit, here one sample's group of channels, is walked: in vectors of CPU_VEC adjacent elements, whose channels
 * repeat after `period`, or pixel by pixel with `width` channels each.
 */
struct bn_walk {
	size_t vectors, width, period;
	size_t tail;		/* elements after the last vector */
	bool   bf16;
};

/* An operand: its first element, and the elements from one vector to the next. */
struct bn_line {
	void  *p;
	size_t stride;
};

/* The coefficients of a unit's channels, padded to whole vectors. */
struct bn_lanes {
	const float *scale, *shift, *mean, *k1, *k0;
};

/* What the backward pass reads: x and the one or two parts of dy. */
struct bn_incoming {
	struct bn_line x, d0, d1;	/* d1.p NULL: one part */
};

/* For each channel: s1 = sum (x - x[0]), s2 = sum (x - x[0])^2. */
void	 cpu_bn_unit_moments(const struct bn_walk *u, const struct bn_line *x, float *restrict s1, float *restrict s2);
void	 cpu_bn_unit_forward(const struct bn_walk *u, const struct bn_line *x, const struct bn_line *y,
	     const struct bn_lanes *c, bool relu);
/* s1 = sum dy, s2 = sum dy (x - mean). */
void	 cpu_bn_unit_reduce(const struct bn_walk *u, const struct bn_incoming *in, const struct bn_lanes *c,
	     bool relu, float *restrict s1, float *restrict s2);
/* dx may be x. */
void	 cpu_bn_unit_backward(const struct bn_walk *u, const struct bn_incoming *in, const struct bn_line *dx,
	     const struct bn_lanes *c, bool relu);

#endif
