/*
 * transcode_planes - a JPEG in, a JPEG of another size out, by its own planes and never by RGB: serves conv.
 *
 * Colours need no conversion, chroma is resized from its stored density straight to half of the new one, and a plane
 * that becomes much smaller is decoded smaller: dense chroma already where its picture shrinks at all.
 */
#ifndef IMAGE_TRANSCODE_PLANES_H
#define IMAGE_TRANSCODE_PLANES_H

#include "image/transcode_shape.h"

struct transcode_planes;

/* Returns 0 or ERR_NOMEM. */
int	 transcode_planes_new(struct transcode_planes **p);
void	 transcode_planes_free(struct transcode_planes *p);	/* NULL is fine */
/* Appends the picture, whose head has a sub_h, in its shape and of c channels.  Returns what transcode_encoded() does. */
int	 transcode_planes_run(struct transcode_planes *p, const struct transcode_opt *opt, const struct transcode_shape *s, uint32_t c,
	    const uint8_t *data, size_t n, struct buf *out);
/* Appends a picture that is the wrong way up, and nothing else, without loss.  Returns as img_jpeg_orient() does. */
int	 transcode_planes_orient(struct transcode_planes *p, const struct transcode_opt *opt, const uint8_t *data, size_t n,
	    struct buf *out);

#endif
