/*
 * img_heif - decodes HEIC and AVIF with libheif, if that is installed.  For img.
 *
 * The contracts are those of img.h.  The room buffer grows to the image's size.  libheif turns and mirrors the image as
 * the file says, so that its orientation is 1.  It is loaded with the first image, and img_apart runs it.
 */
#ifndef IMAGE_LOADED_IMG_HEIF_H
#define IMAGE_LOADED_IMG_HEIF_H

#include "image/img.h"

int	 img_heif_head(const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head);
int	 img_heif_decode(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room, struct img *out);

#endif
