/*
 * transcode_shape - a picture's size and the packer's options in, what is cut out and how large it becomes out: serves conv.
 */
#ifndef IMAGE_TRANSCODE_SHAPE_H
#define IMAGE_TRANSCODE_SHAPE_H

#include "image/transcode.h"
#include "image/orient.h"

/* Sizes as the picture is stored: it is turned last. */
struct transcode_shape {
	uint32_t		 h, w;		/* all of the picture, resized */
	struct orient_rect	 cut;		/* what is kept of that */
	unsigned		 turn;
	bool			 same;		/* neither resized nor cut */
};

/* Returns 0, or ERR_LIMIT when the result is too large. */
int	 transcode_shape(const struct transcode_opt *opt, const struct img_head *head, struct transcode_shape *s);
/*
 * The part of a plane of the picture that becomes one of the result.  The plane is the picture's, shrunk `shrink` times
 * and with a sample every sub_h by sub_w pixels; in the result there is one every step by step pixels, their number
 * rounded up.  Shrunk chroma is told to be means; luma is left as soft as the DCT's mean makes it, since next to twice
 * the size there is more above the middle of its band than the filter would take.
 */
struct resize_region transcode_shape_region(const struct transcode_shape *s, const struct img_head *head, unsigned shrink,
	    uint32_t sub_h, uint32_t sub_w, uint32_t step);

#endif
