/*
 * transcode_planes - resizes a JPEG by its planes, without conversion to RGB.  For transcode.
 *
 * Chroma is resized from its stored density directly to half of the new one.  A plane that shrinks much is decoded
 * smaller, dense chroma as soon as the image shrinks at all.
 */
#ifndef IMAGE_TRANSCODE_PLANES_H
#define IMAGE_TRANSCODE_PLANES_H

#include "image/transcode_shape.h"

struct transcode_planes;

/* Returns 0 or ERR_NOMEM. */
int	 transcode_planes_new(struct transcode_planes **p);
void	 transcode_planes_free(struct transcode_planes *p);	/* NULL is fine */
/* Whether the planes have less than IMG_LARGE pixels, after they are decoded smaller. */
bool	 transcode_planes_are_small(const struct transcode_shape *s, const struct img_head *head);
/*
 * Appends the image in that shape and with c channels.  Its header must have a sub_h.  Returns what
 * transcode_encoded() does.
 */
int	 transcode_planes_run(struct transcode_planes *p, const struct transcode_opt *opt,
	    const struct transcode_shape *s, uint32_t c, const uint8_t *data, size_t n, struct buf *out);
/* Appends the image made upright and otherwise unchanged, without loss.  Returns as img_jpeg_orient(). */
int	 transcode_planes_orient(struct transcode_planes *p, const struct transcode_opt *opt, const uint8_t *data,
	    size_t n, struct buf *out);

#endif
