/*
 * resize - resizes images.
 *
 * The filters widen when they shrink an image, so that nothing aliases: as in Pillow and PyTorch (antialias), unlike
 * OpenCV, whose bilinear, cubic and Lanczos skip pixels beyond a factor of two.  Cubic is Keys' with a = -1/2,
 * Lanczos has three lobes, area is the exact mean, nearest takes the pixel at the centre.  Pixels beyond an edge do
 * not count.
 *
 * Results are the same on every machine.  Those of bilinear, cubic and Lanczos equal Pillow's if the whole image is
 * resized in proportion.  This is not so for images that are more than twice as tall as wide from Pillow 13 on, which
 * first shrinks their height, and rounds between.  A flat image stays flat.  Weights are kept from call to call,
 * because sizes recur.
 */
#ifndef IMAGE_RESIZE_H
#define IMAGE_RESIZE_H

#include "image/img.h"

#define RESIZE_ALIGN	64u	/* alignment of rows of planes made here, bytes: a cache line */
/* least stride of w pixels */
#define RESIZE_STRIDE(w) (((size_t)(w) + RESIZE_ALIGN - 1) & ~(size_t)(RESIZE_ALIGN - 1))

/* The codes of MXNet's inter_method. */
enum resize_inter {
	RESIZE_NEAREST, RESIZE_BILINEAR, RESIZE_CUBIC, RESIZE_AREA, RESIZE_LANCZOS,
	RESIZE_AUTO = 9		/* cubic to enlarge, area to shrink, bilinear if one axis grows and one shrinks */
};

/* One channel. */
struct resize_plane {
	uint8_t		*p;
	uint32_t	 h, w;
	size_t		 stride;
};

/* A rectangle of an image, in pixels and fractions; it may reach beyond the edges. */
struct resize_region {
	double		 y, x, h, w;
};

/* Threads: one struct for each. */
struct resize;

/* Returns 0 or ERR_NOMEM. */
int	 resize_new(struct resize **r);
void	 resize_free(struct resize *r);	/* NULL is fine */

/* Allocates a plane of its h and w in room, which lends it.  Returns 0 or ERR_NOMEM. */
int	 resize_room(struct buf *room, struct resize_plane *plane);
/* Resizes a region of `from` (NULL: all of it) to the size of `to`.  Returns 0 or ERR_NOMEM. */
int	 resize_plane(struct resize *r, enum resize_inter inter, const struct resize_plane *from,
	    const struct resize_region *region, const struct resize_plane *to);
/*
 * Resizes a region of an image to h by w.  *out is lent until the next call.  Returns 0 or ERR_NOMEM.
 */
int	 resize_img(struct resize *r, enum resize_inter inter, const struct img *from,
	    const struct resize_region *region, uint32_t h, uint32_t w, struct img *out);
/*
 * The same, with the same result, for an image that comes row by row: resize_rows_start(), which does not read from->p,
 * then resize_rows_put() for each row from the top down.  Only the rows that the next rows of the result need are kept.
 * *out is complete after the last row.  Each returns 0 or ERR_NOMEM.
 */
int	 resize_rows_start(struct resize *r, enum resize_inter inter, const struct img *from,
	    const struct resize_region *region, uint32_t h, uint32_t w, struct img *out);
int	 resize_rows_put(struct resize *r, const uint8_t *row);

#endif
