/*
 * bn_join - joins the sums of all samples for one group of channels, in f64.
 */
#ifndef ENGINE_CPU_BN_BN_JOIN_H
#define ENGINE_CPU_BN_BN_JOIN_H

#include <stdbool.h>
#include <stddef.h>

#define BN_LANES 16u	/* most channels of a group */

/* The sums of a group. */
struct bn_sums {
	const float *s;		/* [samples, 2, width] */
	size_t	     s_step;	/* floats from one sample to the next */
	size_t	     samples, width;
	double	     pixels;	/* in a sample */
	const void  *x;		/* the group's first pixel in the first sample */
	size_t	     x_step;	/* elements to that of the next sample */
	bool	     bf16;	/* the type of x */
};

/* Mean and variance [width] from sum (x - x[0]) and sum (x - x[0])^2, where x[0] is the sample's first pixel. */
void	bn_join_moments(const struct bn_sums *g, float *mean, float *var);
/* to [2, width]: the sums of the samples' sums; does not read x. */
void	bn_join_sums(const struct bn_sums *g, double *to);

#endif
