/*
 * resize_lanes - resizes with filters of a few taps, many pixels at a time.  For resize.
 *
 * All arithmetic is in 16-bit integers, so that every machine gives the same result.  It sums 32 columns side by
 * side, transposes 32 rows of the result, and sums the rows with the same loop.
 */
#ifndef IMAGE_RESIZE_LANES_H
#define IMAGE_RESIZE_LANES_H

#include "image/resize_axis.h"

/* Pixels of c channels, with rows `stride` bytes apart.  The axes hold the size. */
struct resize_view {
	uint8_t		*p;
	size_t		 stride;
	uint32_t	 c;
};

/* Both axes must have integer weights.  Returns 0 or ERR_NOMEM. */
int	 resize_lanes(const struct resize_view *from, const struct resize_axis *y, const struct resize_axis *x,
	    const struct resize_view *to, struct buf *room);

#endif
