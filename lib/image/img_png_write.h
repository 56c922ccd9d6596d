/*
 * img_png_write - encodes PNG.  For img.
 */
#ifndef IMAGE_IMG_PNG_WRITE_H
#define IMAGE_IMG_PNG_WRITE_H

#include "image/img.h"

/* As img_encode_png(). */
int	 img_png_write(const struct img *in, struct buf *out);

#endif
