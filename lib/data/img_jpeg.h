/*
 * img_jpeg - JPEG bytes in, pixels out, and the reverse: serves img.
 *
 * Contracts are those of img.h; room grows to the picture's size.
 */
#ifndef DATA_IMG_JPEG_H
#define DATA_IMG_JPEG_H

#include "data/img.h"

struct img_jpeg;

int	 img_jpeg_new(struct img_jpeg **j);
void	 img_jpeg_free(struct img_jpeg *j);	/* NULL is fine */
int	 img_jpeg_decode(struct img_jpeg *j, const uint8_t *data, size_t n, uint32_t c, uint32_t pixels,
	    struct buf *room, struct img *out);
int	 img_jpeg_encode(struct img_jpeg *j, const struct img *in, int quality, struct buf *out);

#endif
