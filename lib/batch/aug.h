/*
 * aug - turns a decoded image into a sample: resize, warp, crop, colour, normalization, mirroring.
 *
 * There are two steps.  aug_choose() draws all random numbers: it makes a plan, a function of (seed, epoch, id) and of
 * the image's size.  aug_apply() carries out the plan and draws nothing.  The order is:
 *
 * 	resize	the shorter side to a number of pixels
 * 	warp	rotate, shear, stretch, scale
 * 	pad	a border of the fill value, or of the reflected image
 * 	crop	of the sample's size, or of another size and then resized to it
 * 	colour	brightness, contrast, saturation in random order; hue, saturation, lightness; PCA noise
 * 	x = ((pixel - mean) * contrast + illumination) * scale / std, then mirrored
 * 	cut	a square of zeros
 * 	mix	with another sample: a weighted sum, or a rectangle of the other pasted in
 *
 * The mean is not mirrored with the image.
 *
 * Most of it follows MXNet 1.x, src/io/image_aug_default.cc and iter_normalize.h.  But hue wraps around instead of
 * being clipped, and resizing does not alias.  Other sources:
 *	PCA noise		Krizhevsky et al., NIPS 2012
 *	resized crops		Szegedy et al., CVPR 2015
 *	cut-out			DeVries and Taylor, arXiv:1708.04552
 *	mix-up			Zhang et al., ICLR 2018
 *	cut-mix			Yun et al., ICCV 2019
 *	alternating mirroring	Jordan, arXiv:2404.00498
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

/* The augmentation.  All zeros select the centre of the unchanged image; a range of zeros is ignored. */
struct aug {
	uint32_t	 c, h, w;	/* shape of the sample */
	uint64_t	 seed;

	uint32_t	 resize;	/* new length of the shorter side; ignored with resized_crop */
	/* The shorter side of all images in the records, 0 if they differ.  Not used here; stored with the weights. */
	uint32_t	 packed;
	float		 angle[AUG_ANGLES];	/* degrees; a random one of the first `angles` */
	uint32_t	 angles;
	struct aug_range turn;		/* whole degrees, if angles is 0 */
	struct aug_range shear;
	struct aug_range scale_by;	/* factor of both sides */
	struct aug_range aspect;	/* width / height of a resized crop if there is one, else of the warp */
	struct aug_range side;		/* bounds of both sides after the warp, pixels */
	uint32_t	 pad;
	uint8_t		 fill;		/* pixel value outside the image */
	bool		 pad_reflect;	/* the border of `pad` is img_reflect() of the image instead */
	bool		 rand_crop;	/* crop at a random place, else at the centre */
	struct aug_range crop_size;	/* side in whole pixels of a square that is resized to the sample */
	bool		 resized_crop;	/* crop with random area, aspect and place, resized to the sample */
	struct aug_range area;		/* area of a resized crop, as a part of the image's; zeros: 0.08 to 1 */

	float		 brightness, contrast, saturation;	/* b: random factors from 1 - b to 1 + b */
	float		 hsl[3];	/* h: random shifts from -h to h; units of 2 degrees, 1/255, 1/255 */
	float		 pca;		/* sigma */

	bool		 mirror;	/* mirror each image */
	bool		 rand_mirror;	/* mirror with probability 1/2 */
	bool		 alt_mirror;	/* mirror each image in every other epoch, a random half of them in the first */
	const float	*mean;		/* f32 [c,h,w], or NULL: mean_of.  Borrowed. */
	float		 mean_of[3], std_of[3];	/* per channel; a std of 0 counts as 1 */
	float		 scale;		/* factor of pixels 0..255; 0 counts as 1 */
	float		 rand_contrast;	/* c: random factor from 1 - c to 1 + c */
	float		 rand_illumination;	/* i: random shift from -i to i */
	uint32_t	 cutout;	/* side of the square, whose centre is anywhere in the sample */
	/* alpha of Beta(alpha, alpha), the shares' distribution; both: a random choice */
	float		 mixup, cutmix;
};

/* The random choices for a sample. */
struct aug_plan {
	uint32_t	 resized_h, resized_w;	/* 0: not resized */
	float		 warp[6];	/* matrix from a place (x, y, 1) in the new image to the old one */
	uint32_t	 warp_h, warp_w;	/* 0: none */
	int32_t		 y, x;		/* upper left corner of the crop, which may lie in the border */
	uint32_t	 h, w;		/* size of the crop */
	float		 factor[3];	/* brightness, contrast, saturation */
	uint8_t		 order[3];	/* order in which the factors apply */
	float		 hsl[3];
	float		 rgb[3];	/* PCA noise */
	float		 contrast, illumination;
	bool		 mirror;
	int32_t		 cut_y, cut_x;	/* upper left corner of the square of zeros */
	float		 share;		/* share of the other sample in a mixture */
	bool		 paste;		/* the other sample's share is this rectangle */
	uint32_t	 paste_y, paste_x, paste_y_end, paste_x_end;
};

/* Returns the deterministic part of the augmentation, for validation and for means. */
struct aug aug_plain(const struct aug *a);

/* Draws a plan.  Uses only the size of pic.  Returns 0, or ERR_ITEM if the image is too small. */
int	 aug_choose(const struct aug *a, uint64_t epoch, uint64_t id, const struct img *pic, struct aug_plan *plan);

/*
 * Whether the sample depends only on a part of the image, of which only the size is used.  Decoding that part and
 * setting the plan's y and x to 0 gives the same sample.  aug_part_is_all(): except for mirroring, the part's pixels
 * are the sample's.
 */
bool	 aug_part(const struct aug_plan *plan, const struct img *pic, struct img_region *part);
bool	 aug_part_is_all(const struct aug *a, const struct aug_plan *plan);

/* Whether samples are unchanged parts of their images and borders, except for mirroring. */
bool	 aug_cuts(const struct aug *a);

/* Memory for intermediate images, which grows to the largest.  Threads: each has its own. */
struct aug_room;

/* Returns 0 or ERR_NOMEM. */
int	 aug_room_new(struct aug_room **room);
void	 aug_room_free(struct aug_room *room);	/* NULL is fine */

/*
 * aug_pixels() makes the sample's pixels [h,w,c] from an image of c channels: the steps up to colour.  They are valid
 * until the next call and as long as the image.  aug_apply() makes the sample x f32 [c,h,w].  Return 0, ERR_LIMIT or
 * ERR_NOMEM.
 *
 * aug_plain_norm() returns whether the steps after colour, except for mirroring, are the same for all samples, and
 * writes them to norm.  Then aug_pixels() and the plan's mirror define the sample.
 */
int	 aug_pixels(const struct aug *a, const struct aug_plan *plan, struct aug_room *room, const struct img *pic,
	    struct planes_view *v);
/* Whether samples are mixed. */
bool	 aug_mixes(const struct aug *a);
/* Mixes x, a result of aug_apply(), with another sample f32 [c,h,w]. */
void	 aug_mix(const struct aug *a, const struct aug_plan *plan, const float *other, float *x);
bool	 aug_plain_norm(const struct aug *a, struct samples_norm *norm);
int	 aug_apply(const struct aug *a, const struct aug_plan *plan, struct aug_room *room, const struct img *pic,
    float *x);

#endif
