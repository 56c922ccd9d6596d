/* aug - a picture in, a sample out: cropped, the mean subtracted, mirrored. */
#include "data/aug.h"
#include "base/err.h"
#include "base/rng.h"

#include <assert.h>

#define STREAM 0x617567u	/* "aug": keeps these draws apart from others of the same seed */

int
aug_choose(const struct aug *a, uint64_t epoch, uint64_t id, const struct img *pic, struct aug_crop *crop)
{
	struct rng r = rng_start(a->seed ^ STREAM, epoch, id);
	uint32_t y, x;
	bool mirror;

	if (pic->h < a->h || pic->w < a->w)
		return err_fail(ERR_ITEM, "its %ux%u pixels are fewer than the %ux%u of a sample",
		    pic->w, pic->h, a->w, a->h);
	/* All are drawn always, so that one option does not change what another one draws. */
	y = (uint32_t)rng_below(&r, pic->h - a->h + 1u);
	x = (uint32_t)rng_below(&r, pic->w - a->w + 1u);
	mirror = rng_u64(&r) >> 63;
	*crop = (struct aug_crop){
		.y = a->rand_crop ? y : (pic->h - a->h) / 2,
		.x = a->rand_crop ? x : (pic->w - a->w) / 2,
		.mirror = a->rand_mirror && mirror,
	};
	return 0;
}

/* A row of one plane: w pixels that stand c bytes apart. */
static void
row(const struct aug *a, const uint8_t *p, const float *mean, bool mirror, float *x)
{
	uint32_t c = a->c, w = a->w;
	float scale = a->scale;

	if (mirror)
		for (uint32_t i = 0; i < w; i++)
			x[w - 1 - i] = ((float)p[i * c] - (mean != NULL ? mean[i] : 0)) * scale;
	else
		for (uint32_t i = 0; i < w; i++)
			x[i] = ((float)p[i * c] - (mean != NULL ? mean[i] : 0)) * scale;
}

void
aug_apply(const struct aug *a, const struct aug_crop *crop, const struct img *pic, float *x)
{
	size_t stride = (size_t)pic->w * pic->c;

	assert(pic->c == a->c && crop->y + a->h <= pic->h && crop->x + a->w <= pic->w);
	for (uint32_t c = 0; c < a->c; c++)
		for (uint32_t y = 0; y < a->h; y++) {
			size_t at = ((size_t)c * a->h + y) * a->w;

			row(a, pic->p + (crop->y + y) * stride + (size_t)crop->x * pic->c + c,
			    a->mean != NULL ? a->mean + at : NULL, crop->mirror, x + at);
		}
}
