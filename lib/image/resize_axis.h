/*
 * resize_axis - a filter and the sizes of one axis in, how each pixel of it is made out: serves resize.
 *
 * Pixel i of the result is the sum of `taps` pixels from first[i] on, each by its weight; the weights of a sum are 1
 * together.  What lies beyond an edge does not count.
 */
#ifndef IMAGE_RESIZE_AXIS_H
#define IMAGE_RESIZE_AXIS_H

#include "image/resize.h"

#define RESIZE_AXIS_FEW	20u	/* taps, for which there are whole weights, too: with more, rounding adds up to a step */
#define RESIZE_AXIS_ONE	16384	/* a whole weight of 1 */

/* What an axis is made for: `size` of `in` pixels, from `at` on, become `out`; inter is not RESIZE_AUTO. */
struct resize_axis_key {
	enum resize_inter	 inter;
	uint32_t		 in, out;
	double			 at, size;
	uint32_t		 mean;		/* as struct resize_region has it */
};

struct resize_axis {
	struct resize_axis_key	 key;
	uint32_t		 taps;
	uint32_t		*first;		/* [out], never falling; first + taps is at most `in` */
	float			*weight;	/* [out,taps] */
	int16_t			*whole;		/* the same as whole numbers, -2 to 2 times RESIZE_AXIS_ONE; NULL beyond a few taps */
	struct buf		 room;		/* for all of it */
};

/* Makes a, which was made before or is zeros, for k.  Returns 0 or ERR_NOMEM. */
int	 resize_axis_make(struct resize_axis *a, const struct resize_axis_key *k);
void	 resize_axis_free(struct resize_axis *a);

#endif
