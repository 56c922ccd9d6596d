/*
 * orient - makes pixels upright that a camera stored in another orientation.
 *
 * EXIF numbers orientations by what makes the image upright:
 *
 *	1	nothing
 *	2	mirror left to right
 *	3	rotate by 180 degrees
 *	4	mirror top to bottom
 *	5	transpose
 *	6	rotate by 90 degrees clockwise
 *	7	transpose along the other diagonal
 *	8	rotate by 90 degrees anticlockwise
 *
 * From 5 on, height and width are exchanged.
 */
#ifndef IMAGE_ORIENT_H
#define IMAGE_ORIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A rectangle of an image, in pixels. */
struct orient_rect {
	uint32_t	 y, x, h, w;
};

static inline bool
orient_swaps(unsigned orientation)
{
	return orientation >= 5;
}

/* Whether rows, or columns, are reversed before the image is transposed. */
static inline bool
orient_flips_rows(unsigned orientation)
{
	return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

static inline bool
orient_flips_columns(unsigned orientation)
{
	return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}

/* The rectangle of the stored h by w image that becomes rectangle r of the upright one. */
struct orient_rect orient_back(unsigned orientation, struct orient_rect r, uint32_t h, uint32_t w);
/* Writes h rows of w pixels of c bytes upright; `to` has rows of to_stride bytes. */
void	 orient_pixels(unsigned orientation, const uint8_t *from, uint32_t h, uint32_t w, uint32_t c, size_t stride,
	    uint8_t *to, size_t to_stride);

#endif
