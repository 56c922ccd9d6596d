/* cpu_bn_unit - batch norm of one picture's group of channels, in the walk that suits its layout: serves cpu_bn. */
#ifndef ENGINE_CPU_CPU_BN_UNIT_H
#define ENGINE_CPU_CPU_BN_UNIT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * How a unit, one picture's group of channels, is walked: vector by vector, which are CPU_WIDE numbers side by side,
 * the same channels again after `period`, or one pixel's `width` channels, while the views' next ones are elsewhere.
 */
struct bn_walk {
	size_t vectors, width, period;
	size_t tail;		/* numbers behind the last vector */
	bool   half;
};

/* An operand: its first number, and from vector to vector. */
struct bn_line {
	void  *p;
	size_t stride;
};

/* What the channels of one unit need; the arrays reach to a whole vector. */
struct bn_lanes {
	const float *scale, *shift, *mean, *k1, *k0;
};

/* What the way back reads: x and the one or two parts of dy. */
struct bn_incoming {
	struct bn_line x, d0, d1;	/* d1.p NULL: one part */
};

/* s1 = sum (x - x[0]), s2 = sum (x - x[0])^2, of each channel. */
void	 cpu_bn_unit_moments(const struct bn_walk *u, const struct bn_line *x, float *restrict s1, float *restrict s2);
void	 cpu_bn_unit_forward(const struct bn_walk *u, const struct bn_line *x, const struct bn_line *y,
	     const struct bn_lanes *c, bool relu);
/* s1 = sum dy, s2 = sum dy (x - mean). */
void	 cpu_bn_unit_reduce(const struct bn_walk *u, const struct bn_incoming *in, const struct bn_lanes *c,
	     bool relu, float *restrict s1, float *restrict s2);
/* dx may be x: each number is read before it is written. */
void	 cpu_bn_unit_backward(const struct bn_walk *u, const struct bn_incoming *in, const struct bn_line *dx,
	     const struct bn_lanes *c, bool relu);

#endif
