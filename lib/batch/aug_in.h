/* aug_in - the steps of an augmentation: internal to aug. */
#ifndef BATCH_AUG_IN_H
#define BATCH_AUG_IN_H

#include "image/resize.h"
#include "batch/aug.h"

struct aug_room {
	struct resize	*resize;
	struct buf	 warped, part, cropped;
};

/* Whether the sample's colours change; then room->cropped holds its pixels. */
static inline bool
aug_recolours(const struct aug *a)
{
	return a->c == 3 && (a->brightness > 0 || a->contrast > 0 || a->saturation > 0 || a->pca > 0 || a->hsl[0] > 0 ||
	    a->hsl[1] > 0 || a->hsl[2] > 0);
}

/* Warps the image: bilinear between pixels, the fill value outside.  Returns 0 or ERR_NOMEM. */
int	aug_warp(const struct aug *a, const struct aug_plan *plan, struct aug_room *room, struct img *pic);
/* Crops the image with its border and resizes the crop to the sample's size. */
int	aug_crop(const struct aug *a, const struct aug_plan *plan, struct aug_room *room, const struct img *pic,
	    struct planes_view *v);
/* Changes the colours of the sample's pixels [h,w,3]. */
void	aug_colour(const struct aug *a, const struct aug_plan *plan, uint8_t *p);
/* Draws the plan of a mixture. */
void	aug_choose_mix(const struct aug *a, uint64_t epoch, uint64_t id, struct aug_plan *plan);
/* Converts pixels to planes of floats, mirrors them and cuts the square out. */
void	aug_normal(const struct aug *a, const struct aug_plan *plan, const struct planes_view *v, float *x);

#endif
