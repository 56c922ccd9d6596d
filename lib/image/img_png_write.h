/*
 * img_png_write - pixels in, a PNG out: serves img.
 */
#ifndef IMAGE_IMG_PNG_WRITE_H
#define IMAGE_IMG_PNG_WRITE_H

#include "image/img.h"

/* The contract is that of img_encode_png(). */
int	 img_png_write(const struct img *in, struct buf *out);

#endif
