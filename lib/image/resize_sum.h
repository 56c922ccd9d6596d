/*
 * resize_sum - pixels resized by plain sums, any filter, any size: serves resize.
 */
#ifndef IMAGE_RESIZE_SUM_H
#define IMAGE_RESIZE_SUM_H

#include "image/resize_lanes.h"

/* Returns 0 or ERR_NOMEM. */
int	 resize_sum(const struct resize_view *from, const struct resize_axis *y, const struct resize_axis *x,
	    const struct resize_view *to, struct buf *room);

#endif
