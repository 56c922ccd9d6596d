/*
 * img_png - decodes PNG.  For img.
 *
 * The contracts are those of img.h.  The room buffers grow to the image's size.
 */
#ifndef IMAGE_IMG_PNG_H
#define IMAGE_IMG_PNG_H

#include "image/img.h"

struct img_png;

int	 img_png_new(struct img_png **g);
void	 img_png_free(struct img_png *g);	/* NULL is fine */
int	 img_png_head(struct img_png *g, const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head);
int	 img_png_check(struct img_png *g, const uint8_t *data, size_t n, uint32_t pixels, struct buf *room);
int	 img_png_decode(struct img_png *g, const uint8_t *data, size_t n, uint32_t c, uint32_t pixels,
	    struct buf *room, struct img *out);
/* Of a PNG that is not interlaced. */
int	 img_png_decode_rows(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room, img_row *fn,
	    void *ctx);

#endif
