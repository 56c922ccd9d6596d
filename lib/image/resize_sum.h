/*
 * resize_sum - resizes with any filter and size, in floats.  For resize.
 */
#ifndef IMAGE_RESIZE_SUM_H
#define IMAGE_RESIZE_SUM_H

#include "image/resize_lanes.h"

/* Returns 0 or ERR_NOMEM. */
int	 resize_sum(const struct resize_view *from, const struct resize_axis *y, const struct resize_axis *x,
	    const struct resize_view *to, struct buf *room);

#endif
