/*
 * img_jxl - decodes JPEG XL with libjxl, if that is installed.  For img.
 *
 * The contracts are those of img.h.  The room buffer grows to the image's size.  Of an animation the first frame is
 * read.  libjxl turns and mirrors the image as the file says, so that its orientation is 1.  It is loaded with the
 * first image, and img_apart runs it.
 */
#ifndef IMAGE_LOADED_IMG_JXL_H
#define IMAGE_LOADED_IMG_JXL_H

#include "image/img.h"

int	 img_jxl_head(const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head);
int	 img_jxl_decode(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room, struct img *out);

#endif
