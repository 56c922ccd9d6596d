/*
 * aug - a picture in, a sample out: resized, turned, cropped, recoloured, the mean subtracted, mirrored.
 *
 * Two steps.  aug_choose() draws: all that chance decides about a sample is one
 * plan of plain numbers, a function of (seed, epoch, id) and of the picture's
 * size.  aug_apply() carries the plan out and draws nothing.  In this order:
 *
 *	resize	the shorter side to so many pixels
 *	warp	rotated, sheared, stretched, scaled
 *	pad	a border of the fill value
 *	crop	of the sample's size; or of another, then resized to it
 *	colour	brightness, contrast, saturation in an order of chance; hue, saturation, lightness; PCA noise
 *	x = ((pixel - mean) * contrast + illumination) * scale / std, then mirrored
 *	cut	a square of zeros
 *	mix	with another sample: all of both by their shares, or a rectangle of the other pasted in
 *
 * The mean is not mirrored with the picture.  Sources: MXNet 1.x,
 * src/io/image_aug_default.cc and iter_normalize.h (hue goes round here, where it is cut off there, and resizing does
 * not alias); PCA noise: Krizhevsky et al., NIPS 2012; resized crops: Szegedy et al., CVPR 2015; cut-out: DeVries and
 * Taylor, arXiv:1708.04552; mix-up: Zhang et al., ICLR 2018; cut-mix: Yun et al., ICCV 2019; mirroring by turns: Jordan, arXiv:2404.00498.
 */
#ifndef BATCH_AUG_H
#define BATCH_AUG_H

#include "image/img.h"
#include "batch/planes.h"
#include "batch/samples.h"

#include <stdbool.h>

#define AUG_ANGLES 16u

struct aug_range {
	float		 lo, hi;
};

/* What is asked for.  Zeros ask for the centre of the picture as it is; a range of zeros is not looked at. */
struct aug {
	uint32_t	 c, h, w;	/* of the sample */
	uint64_t	 seed;

	uint32_t	 resize;	/* the shorter side, the longer in proportion; not where there are resized crops */
	float		 angle[AUG_ANGLES];	/* degrees; one of the first `angles` is taken */
	uint32_t	 angles;
	struct aug_range turn;		/* whole degrees, where angles is 0 */
	struct aug_range shear;
	struct aug_range scale_by;	/* of both sides */
	struct aug_range aspect;	/* width by height; of a resized crop where there is one, else of the warp */
	struct aug_range side;		/* bounds of both sides behind the warp, pixels */
	uint32_t	 pad;
	uint8_t		 fill;		/* beyond the picture's edges */
	bool		 rand_crop;	/* else the centre */
	struct aug_range crop_size;	/* whole pixels of a square that is resized to the sample */
	bool		 resized_crop;	/* a part of random area, aspect and place, resized to the sample */
	struct aug_range area;		/* of such a part, of the picture's; zeros: 0.08 to 1 */

	float		 brightness, contrast, saturation;	/* factors from 1 - b to 1 + b */
	float		 hsl[3];	/* from -h to h: degrees by two, and of 255 */
	float		 pca;		/* sigma */

	bool		 mirror;	/* each picture */
	bool		 rand_mirror;	/* every other one, by chance */
	bool		 alt_mirror;	/* each in every other epoch, half of them in the first */
	const float	*mean;		/* f32 [c,h,w], or NULL: mean_of.  Lent as long as it is used. */
	float		 mean_of[3], std_of[3];	/* of the channels; a std of 0 counts as 1 */
	float		 scale;		/* of pixels 0..255; 0 counts as 1 */
	float		 rand_contrast;	/* from 1 - c to 1 + c */
	float		 rand_illumination;	/* from -i to i */
	uint32_t	 cutout;	/* the square's side; its centre lies anywhere in the sample */
	float		 mixup, cutmix;	/* the alpha of Beta(alpha, alpha), which shares follow; where both are set, each by chance */
};

/* What was drawn for a sample. */
struct aug_plan {
	uint32_t	 resized_h, resized_w;	/* 0: as it is */
	float		 warp[6];	/* a place in the new picture (x, y, 1) to one in the old */
	uint32_t	 warp_h, warp_w;	/* 0: none */
	int32_t		 y, x;		/* the crop's upper left corner, which may lie in the border */
	uint32_t	 h, w;		/* its size */
	float		 factor[3];	/* brightness, contrast, saturation */
	uint8_t		 order[3];	/* in which they come */
	float		 hsl[3];
	float		 rgb[3];	/* PCA noise */
	float		 contrast, illumination;
	bool		 mirror;
	int32_t		 cut_y, cut_x;	/* upper left corner */
	float		 share;		/* of the other sample in a mixture */
	bool		 paste;		/* it is that of a rectangle: */
	uint32_t	 paste_y, paste_x, paste_y_end, paste_x_end;
};

/* What of it is not left to chance: for validation and for means. */
struct aug aug_plain(const struct aug *a);

/* Chooses.  Of pic only the size is looked at.  Returns 0, or ERR_ITEM when the picture is too small. */
int	 aug_choose(const struct aug *a, uint64_t epoch, uint64_t id, const struct img *pic, struct aug_plan *plan);

/*
 * Whether no more than a part of the picture, of which only the size is looked at, makes the sample; then that part with a
 * plan whose y and x are 0 makes the same.  aug_part_is_all: the part's pixels are the sample's, but for the mirror.
 */
bool	 aug_part(const struct aug_plan *plan, const struct img *pic, struct img_region *part);
bool	 aug_part_is_all(const struct aug *a, const struct aug_plan *plan);

/* Whether samples are parts of their pictures as they are, with their border: of no chance but where, and the mirror. */
bool	 aug_cuts(const struct aug *a);

/* Pictures between the steps; grows to the largest.  Threads: each its own. */
struct aug_room;

/* Returns 0 or ERR_NOMEM. */
int	 aug_room_new(struct aug_room **room);
void	 aug_room_free(struct aug_room *room);	/* NULL is fine */

/*
 * aug_pixels makes the sample's pixels [h,w,c] of a picture of c channels: all up to the colours; lent until the next
 * call, or as long as the picture.  aug_apply makes the sample x f32 [c,h,w].  Return 0, ERR_LIMIT or ERR_NOMEM.
 *
 * Where aug_plain_norm() says so, what stands behind the colours is the same for all samples but for the mirror, and is
 * what it writes: then aug_pixels() and the plan's mirror are the sample.
 */
int	 aug_pixels(const struct aug *a, const struct aug_plan *plan, struct aug_room *room, const struct img *pic,
	    struct planes_view *v);
/* Whether samples are mixed; and mixes x, which aug_apply() made, with another f32 [c,h,w]. */
bool	 aug_mixes(const struct aug *a);
void	 aug_mix(const struct aug *a, const struct aug_plan *plan, const float *other, float *x);
bool	 aug_plain_norm(const struct aug *a, struct samples_norm *norm);
int	 aug_apply(const struct aug *a, const struct aug_plan *plan, struct aug_room *room, const struct img *pic, float *x);

#endif
