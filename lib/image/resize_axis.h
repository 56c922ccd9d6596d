/*
 * resize_axis - computes the weights that resize one axis.  For resize.
 *
 * Pixel i of the result is the weighted sum of `taps` pixels from first[i] on.  The weights of a sum add up to
 * 1.  Pixels beyond an edge do not count.
 */
#ifndef IMAGE_RESIZE_AXIS_H
#define IMAGE_RESIZE_AXIS_H

#include "image/resize.h"

#define RESIZE_AXIS_FEW	20u	/* most taps with integer weights: with more, rounding errors could reach 1 */
#define RESIZE_AXIS_ONE	16384	/* the integer weight that stands for 1 */

/* Of `in` pixels, `size` pixels from `at` on become `out` pixels.  inter is not RESIZE_AUTO. */
struct resize_axis_key {
	enum resize_inter	 inter;
	uint32_t		 in, out;
	double			 at, size;
	uint32_t		 mean;		/* as in struct resize_region */
};

struct resize_axis {
	struct resize_axis_key	 key;
	uint32_t		 taps;
	uint32_t		*first;		/* [out], not decreasing; first + taps is at most `in` */
	float			*weight;	/* [out,taps] */
	int16_t			*whole;		/* [out,taps] as integers; NULL above RESIZE_AXIS_FEW taps */
	struct buf		 room;		/* memory of the arrays */
};

/* Computes the axis for a key.  a is zeros or an earlier axis.  Returns 0 or ERR_NOMEM. */
int	 resize_axis_make(struct resize_axis *a, const struct resize_axis_key *k);
void	 resize_axis_free(struct resize_axis *a);

#endif
