/*
 * img_bmp - decodes BMP.  For img.
 *
 * The contracts are those of img.h.  The room buffer grows to the image's size.  All kinds are read that Windows and
 * OS/2 1.x write: 1 to 32 bits a pixel, colours by a palette or by masks, and run lengths.  Alpha is dropped.
 */
#ifndef IMAGE_IMG_BMP_H
#define IMAGE_IMG_BMP_H

#include "image/img.h"

int	 img_bmp_head(const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head);
int	 img_bmp_decode(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room, struct img *out);

#endif
