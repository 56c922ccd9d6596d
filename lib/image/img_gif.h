/*
 * img_gif - decodes the first image of a GIF.  For img.
 *
 * The contracts are those of img.h.  The room buffer grows to the image's size.  The image has the size of the GIF's
 * screen, and the background's colour where the first frame does not reach.  Transparent pixels keep their colour.
 */
#ifndef IMAGE_IMG_GIF_H
#define IMAGE_IMG_GIF_H

#include "image/img.h"

int	 img_gif_head(const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head);
int	 img_gif_decode(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room, struct img *out);

#endif
