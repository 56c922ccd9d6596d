/*
 * img_webp - decodes WebP, of animations the first frame.  For img.
 *
 * The contracts are those of img.h.  The room buffer grows to the image's size.  Pixels outside the first frame are
 * black.
 */
#ifndef IMAGE_IMG_WEBP_H
#define IMAGE_IMG_WEBP_H

#include "image/img.h"

int	 img_webp_head(const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head);
int	 img_webp_decode(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room, struct img *out);

#endif
