/*
 * conv_planes - a JPEG in, a JPEG of another size out, by its own planes and never by RGB: serves conv.
 *
 * Colours need no conversion, chroma is resized from its stored density straight to half of the new one, and a plane
 * that becomes much smaller is decoded smaller: dense chroma already where its picture shrinks at all.
 */
#ifndef IMAGE_CONV_PLANES_H
#define IMAGE_CONV_PLANES_H

#include "image/conv_shape.h"

struct conv_planes;

/* Returns 0 or ERR_NOMEM. */
int	 conv_planes_new(struct conv_planes **p);
void	 conv_planes_free(struct conv_planes *p);	/* NULL is fine */
/* Appends the picture, whose head has a sub_h, in its shape and of c channels.  Returns what conv_encoded() does. */
int	 conv_planes_run(struct conv_planes *p, const struct conv_opt *opt, const struct conv_shape *s, uint32_t c,
	    const uint8_t *data, size_t n, struct buf *out);
/* Appends a picture that is the wrong way up, and nothing else, without loss.  Returns as img_jpeg_turn() does. */
int	 conv_planes_turn(struct conv_planes *p, const struct conv_opt *opt, const uint8_t *data, size_t n, struct buf *out);

#endif
