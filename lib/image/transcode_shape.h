/*
 * transcode_shape - computes the crop and the size of a transcoded image.  For transcode.
 */
#ifndef IMAGE_TRANSCODE_SHAPE_H
#define IMAGE_TRANSCODE_SHAPE_H

#include "image/transcode.h"
#include "image/orient.h"

/* Sizes before the image is made upright, which comes last. */
struct transcode_shape {
	uint32_t		 h, w;		/* size of the whole image, resized */
	struct orient_rect	 cut;		/* the rectangle of it that is kept */
	unsigned		 orientation;
	bool			 same;		/* neither resized nor cropped */
};

/* Returns 0, or ERR_PIXELS if the result is too large. */
int	 transcode_shape(const struct transcode_opt *opt, const struct img_head *head, struct transcode_shape *s);
/*
 * The region of a source plane that becomes a plane of the result.  The source plane is decoded smaller by shrink,
 * and has a sample for every sub_h by sub_w pixels; the result has one for every step by step pixels, their number
 * rounded up.
 */
struct resize_region transcode_shape_region(const struct transcode_shape *s, const struct img_head *head,
    unsigned shrink,
	    uint32_t sub_h, uint32_t sub_w, uint32_t step);

#endif
