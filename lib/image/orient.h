/*
 * orient - pixels as a camera was held in, pixels upright out.
 *
 * EXIF's numbers, by what shows the picture upright: 1 nothing, 2 mirror left
 * to right, 3 turn by 180 degrees, 4 mirror top to bottom, 5 transpose, 6 turn
 * by 90 degrees clockwise, 7 transpose along the other diagonal, 8 turn by 90
 * degrees anticlockwise.  From 5 on, height and width change places.
 */
#ifndef IMAGE_ORIENT_H
#define IMAGE_ORIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A rectangle of a picture, pixels. */
struct orient_rect {
	uint32_t	 y, x, h, w;
};

static inline bool
orient_swaps(unsigned turn)
{
	return turn >= 5;
}

/* Whether rows, or columns, are counted from the other end before the picture is transposed. */
static inline bool
orient_flips_rows(unsigned turn)
{
	return turn == 3 || turn == 4 || turn == 6 || turn == 7;
}

static inline bool
orient_flips_columns(unsigned turn)
{
	return turn == 2 || turn == 3 || turn == 7 || turn == 8;
}

/* Where a rectangle of the upright picture lies in the one that is to be turned, which is h by w. */
struct orient_rect orient_back(unsigned turn, struct orient_rect r, uint32_t h, uint32_t w);
/* Turns h rows of w pixels of c bytes; `to` has rows of to_stride bytes. */
void	 orient_pixels(unsigned turn, const uint8_t *from, uint32_t h, uint32_t w, uint32_t c, size_t stride,
	    uint8_t *to, size_t to_stride);

#endif
