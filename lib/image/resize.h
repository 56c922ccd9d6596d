/*
 * resize - pixels in, pixels of another size out.
 *
 * The filters are widened when they shrink, so that nothing aliases: as
 * Pillow's and PyTorch's antialiased ones, and unlike OpenCV's, whose bilinear,
 * cubic and Lanczos skip pixels beyond a factor of two.  Cubic is Keys' with
 * a = -1/2, Lanczos has three lobes, area is the exact mean, nearest takes the
 * pixel at the centre.  What lies beyond an edge does not count.  Where pixels are themselves means of smaller ones,
 * bilinear, cubic and Lanczos are sharpened by what the mean blurs.
 *
 * Results are the same on every machine; what is flat stays so, and nothing is
 * more than 1 from the exact sum, rounded.  Weights are kept from call to call, as sizes come again.
 */
#ifndef IMAGE_RESIZE_H
#define IMAGE_RESIZE_H

#include "image/img.h"

#define RESIZE_ALIGN	64u	/* of the rows of planes that are made here, bytes: a line of the cache */
#define RESIZE_STRIDE(w) (((size_t)(w) + RESIZE_ALIGN - 1) & ~(size_t)(RESIZE_ALIGN - 1))	/* the least for w pixels */

/* Codes as MXNet's inter_method. */
enum resize_inter {
	RESIZE_NEAREST, RESIZE_BILINEAR, RESIZE_CUBIC, RESIZE_AREA, RESIZE_LANCZOS,
	RESIZE_AUTO = 9		/* cubic to enlarge, area to shrink, bilinear for one of each */
};

/* One channel. */
struct resize_plane {
	uint8_t		*p;
	uint32_t	 h, w;
	size_t		 stride;
};

/* A part of a picture, pixels and fractions of them; it may reach beyond the edges. */
struct resize_region {
	double		 y, x, h, w;
	uint32_t	 mean;		/* pixels are means of so many, each way, of what the filter is meant for; 0: as 1 */
};

/* Threads: each its own. */
struct resize;

/* Returns 0 or ERR_NOMEM. */
int	 resize_new(struct resize **r);
void	 resize_free(struct resize *r);	/* NULL is fine */

/* Places a plane of its h and w in room, which lends it.  Returns 0 or ERR_NOMEM. */
int	 resize_room(struct buf *room, struct resize_plane *plane);
/* Fills `to` with the part of `from` (NULL: all of it).  Returns 0 or ERR_NOMEM. */
int	 resize_plane(struct resize *r, enum resize_inter inter, const struct resize_plane *from,
	    const struct resize_region *part, const struct resize_plane *to);
/*
 * The same for pixels [h,w,c]; *out is h by w, lent until the next call.
 * Returns 0, ERR_LIMIT (more than IMG_PIXELS) or ERR_NOMEM.
 */
int	 resize_img(struct resize *r, enum resize_inter inter, const struct img *from,
	    const struct resize_region *part, uint32_t h, uint32_t w, struct img *out);

#endif
