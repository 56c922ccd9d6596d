/*
 * resize_lanes - pixels resized by filters of a few taps, many pixels at a time: serves resize.
 *
 * All in whole numbers of 16 bits, so that each machine gives the same.  Columns are summed first, 32 of them side by
 * side; 32 rows of that are turned on their side, so that rows are summed by the same loop.
 */
#ifndef IMAGE_RESIZE_LANES_H
#define IMAGE_RESIZE_LANES_H

#include "image/resize_axis.h"

/* Pixels of c channels, rows `stride` bytes apart; how many there are is in the axes. */
struct resize_view {
	uint8_t		*p;
	size_t		 stride;
	uint32_t	 c;
};

/* Both axes have whole weights.  Returns 0 or ERR_NOMEM. */
int	 resize_lanes(const struct resize_view *from, const struct resize_axis *y, const struct resize_axis *x,
	    const struct resize_view *to, struct buf *room);

#endif
