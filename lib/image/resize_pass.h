/*
 * resize_pass - resizes rows of pixels along one axis.  For resize.
 *
 * Sums are integers, and each is rounded to a pixel from 0 to 255.
 */
#ifndef IMAGE_RESIZE_PASS_H
#define IMAGE_RESIZE_PASS_H

#include "image/resize_axis.h"

#define RESIZE_PASS_ROWS	16u	/* rows that resize_pass_across() makes at a time */

/* Rows of interleaved pixels. */
struct resize_view {
	uint8_t		*p;
	size_t		 stride;	/* bytes */
	uint32_t	 c;
};

/* Makes n rows as wide as the axis's result.  room is for scratch.  Returns 0 or ERR_NOMEM. */
int	 resize_pass_across(const struct resize_view *from, uint32_t n, const struct resize_axis *x,
	    const struct resize_view *to, struct buf *room);
/* Makes rows y to end of the axis's result, `row` bytes each.  from starts with row `base` of the source. */
void	 resize_pass_down(const struct resize_view *from, uint32_t base, size_t row, const struct resize_axis *a,
	    uint32_t y, uint32_t end, const struct resize_view *to);

#endif
