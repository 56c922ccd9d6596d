/*
 * aug - a picture in, a sample out: cropped, the mean subtracted, mirrored.
 *
 *	x = (pixel - mean) * scale, then mirrored
 *
 * in this order, so that the mean is not mirrored with the picture.
 * Source: MXNet, src/io/iter_normalize.h.  Where the crop lies and whether it
 * is mirrored are functions of (seed, epoch, id) alone.
 */
#ifndef DATA_AUG_H
#define DATA_AUG_H

#include "data/img.h"

#include <stdbool.h>

struct aug {
	uint32_t	 c, h, w;	/* of the sample */
	uint64_t	 seed;
	bool		 rand_crop;	/* else the centre */
	bool		 rand_mirror;	/* else not mirrored */
	const float	*mean;		/* f32 [c,h,w], or NULL: none */
	float		 scale;		/* of pixels 0..255 */
};

/* Where a sample lies in its picture. */
struct aug_crop {
	uint32_t	 y, x;		/* its upper left corner */
	bool		 mirror;
};

/* Chooses.  Returns 0, or ERR_ITEM when the picture is smaller than the sample. */
int	 aug_choose(const struct aug *a, uint64_t epoch, uint64_t id, const struct img *pic,
	    struct aug_crop *crop);
/* Makes the sample x f32 [c,h,w] of a picture of c channels. */
void	 aug_apply(const struct aug *a, const struct aug_crop *crop, const struct img *pic, float *x);

#endif
