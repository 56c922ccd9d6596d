/*
 * img_png - PNG bytes in, pixels out, and the reverse: serves img.
 *
 * Contracts are those of img.h; room grows to the picture's size.
 */
#ifndef DATA_IMG_PNG_H
#define DATA_IMG_PNG_H

#include "data/img.h"

int	 img_png_decode(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels,
	    struct buf *room, struct img *out);
int	 img_png_encode(const struct img *in, struct buf *out);

#endif
