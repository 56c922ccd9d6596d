/*
 * img_tiff - decodes the first page of a TIFF.  For img.
 *
 * The contracts are those of img.h.  The room buffer grows to the image's size.  libtiff reads all files that it can
 * turn into RGB of 8 bits; it multiplies colours by their alpha, if there is one.
 */
#ifndef IMAGE_IMG_TIFF_H
#define IMAGE_IMG_TIFF_H

#include "image/img.h"

int	 img_tiff_head(const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head);
int	 img_tiff_decode(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room, struct img *out);

#endif
