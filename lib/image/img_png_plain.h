/*
 * img_png_plain - decodes common PNGs fast, with libdeflate.  For img_png.
 *
 * A plain PNG is grey or colour, with or without alpha, of 8 bits, not interlaced and without a palette, as data sets
 * have them.  libspng decodes or refuses all others, and damaged ones.  A build with PNGPLAIN=0 leaves all to libspng
 * (img_png_plain_none.c).
 */
#ifndef IMAGE_IMG_PNG_PLAIN_H
#define IMAGE_IMG_PNG_PLAIN_H

#include "base/buf.h"
#include "image/img_png_chunk.h"

#include <libdeflate.h>

/*
 * Inflates all rows, each after its filter byte, into room, which lends them.  Returns 1; 0 if the file is not plain,
 * is damaged or has more than that many pixels, so that libspng must decode it; or ERR_NOMEM.
 */
int	 img_png_plain(struct libdeflate_decompressor *z, const uint8_t *p, size_t n, uint32_t pixels,
	    struct buf *room, struct img_png_ihdr *h, uint8_t **rows);
/* Channels of a plain PNG. */
uint32_t img_png_plain_channels(const struct img_png_ihdr *h);
/* Undoes the filters of the rows of img_png_plain(), and writes the pixels to p. */
void	 img_png_plain_unfilter(const struct img_png_ihdr *h, uint8_t *rows, uint8_t *p);

#endif
