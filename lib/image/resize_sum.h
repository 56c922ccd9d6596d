/*
 * resize_sum - a plane resized by plain sums, any filter, any size: serves resize.
 */
#ifndef IMAGE_RESIZE_SUM_H
#define IMAGE_RESIZE_SUM_H

#include "image/resize.h"

/* inter is not RESIZE_AUTO; room is for weights.  Returns 0 or ERR_NOMEM. */
int	 resize_sum(enum resize_inter inter, const struct resize_plane *from,
	    const struct resize_part *part, const struct resize_plane *to, struct buf *room);

#endif
