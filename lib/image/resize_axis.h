/*
 * resize_axis - computes the weights that resize one axis.  For resize.
 *
 * Pixel i of the result is the weighted sum of `taps` pixels from first[i] on.  The weights of a sum add up to
 * RESIZE_AXIS_ONE but for rounding.  Pixels beyond an edge do not count.
 */
#ifndef IMAGE_RESIZE_AXIS_H
#define IMAGE_RESIZE_AXIS_H

#include "image/resize.h"

/* The weight that stands for 1: Pillow's, with which a sum of pixels is less than 2^31. */
#define RESIZE_AXIS_BITS	22
#define RESIZE_AXIS_ONE		(1 << RESIZE_AXIS_BITS)

/* Of `in` pixels, `size` pixels from `at` on become `out` pixels.  inter is not RESIZE_AUTO. */
struct resize_axis_key {
	enum resize_inter	 inter;
	uint32_t		 in, out;
	double			 at, size;
};

struct resize_axis {
	struct resize_axis_key	 key;
	uint32_t		 taps;
	uint32_t		*first;		/* [out], not decreasing; first + taps is at most `in` */
	int32_t			*weight;	/* [out,taps] */
	struct buf		 room;		/* memory of the arrays */
};

/* Computes the axis for a key.  a is zeros or an earlier axis.  Returns 0 or ERR_NOMEM. */
int	 resize_axis_make(struct resize_axis *a, const struct resize_axis_key *k);
void	 resize_axis_free(struct resize_axis *a);

#endif
