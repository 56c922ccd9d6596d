/*
 * cpu_bn_unit - the inner loops of cpu_bn: batch norm of a unit, which is one sample's group of channels, or several
 * adjacent groups whose pixels are adjacent.
 */
#ifndef ENGINE_CPU_CPU_BN_UNIT_H
#define ENGINE_CPU_CPU_BN_UNIT_H

#include <stdbool.h>
#include <stddef.h>

#define BN_GROUPS 8u	/* most groups of a unit */

/*
 * How a unit is walked: in vectors of CPU_VEC adjacent elements, whose channels repeat after `period`, or pixel by
 * pixel.  A pixel has `groups` vectors, the last of which has `width` channels.  A run of pixels is walked group by
 * group, so that it is in the cache after the first one.
 */
struct bn_walk {
	size_t groups;
	size_t vectors, width, period;	/* vectors: of each group */
	size_t tail;			/* elements after the last vector */
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

/*
 * For each channel: sum (x - x[0]), and sum (x - x[0])^2.  s gets the first sums of a group's channels, and then the
 * second ones; from one group to the next are 2 CPU_VEC floats.
 */
void	 cpu_bn_unit_moments(const struct bn_walk *u, const struct bn_line *x, float *s);
void	 cpu_bn_unit_forward(const struct bn_walk *u, const struct bn_line *x, const struct bn_line *y,
	     const struct bn_lanes *c, bool relu);
/* The same with sum dy, and sum dy (x - mean). */
void	 cpu_bn_unit_reduce(const struct bn_walk *u, const struct bn_incoming *in, const struct bn_lanes *c, bool relu,
	     float *s);
/* dx may be x. */
void	 cpu_bn_unit_backward(const struct bn_walk *u, const struct bn_incoming *in, const struct bn_line *dx,
	     const struct bn_lanes *c, bool relu);

#endif
