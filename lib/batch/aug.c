/* aug - turns a decoded image into a sample: the random choices and the sequence of steps. */
#include "batch/aug.h"
#include "base/err.h"
#include "base/rng.h"
#include "batch/aug_in.h"

#include <math.h>
#include <stdlib.h>

/* Random streams: each separates its draws from others of the same seed. */
#define CROP	0x617567u	/* "aug": place and mirroring */
#define TURN	0x7475726eu	/* "turn": which epochs mirror */
#define PART	0x70617274u	/* "part": a resized crop */
#define MORE	0x6d6f7265u	/* "more": everything else */

#define TRIES	10		/* attempts to draw a resized crop that fits the image */
#define SIDE	65536.0f	/* most pixels of a side of a warped image */

static bool
is_set(const struct aug_range *r)
{
	return r->lo != 0 || r->hi != 0;
}

static float
draw_between(struct rng *r, float lo, float hi)
{
	return lo + rng_f32(r) * (hi - lo);
}

struct aug
aug_plain(const struct aug *a)
{
	return (struct aug){
		.c = a->c, .h = a->h, .w = a->w, .seed = a->seed, .resize = a->resize, .pad = a->pad, .fill = a->fill,
		.pad_reflect = a->pad_reflect, .mirror = a->mirror, .mean = a->mean, .scale = a->scale,
		.mean_of = { a->mean_of[0], a->mean_of[1], a->mean_of[2] },
		.std_of = { a->std_of[0], a->std_of[1], a->std_of[2] },
	};
}

/* Scales by integer division, as MXNet does.  A result that is too large for an image stays too large. */
static uint32_t
scale_length(uint32_t n, uint32_t a, uint32_t b)
{
	uint64_t v = (uint64_t)n * a / b;

	return v < INT32_MAX / 2 ? (uint32_t)v : INT32_MAX / 2;
}

/* Chooses the size to resize to.  Resized crops come from the original image. */
static void
choose_size(const struct aug *a, uint32_t *h, uint32_t *w, struct aug_plan *plan)
{
	uint32_t n = a->resize;

	if (n == 0 || a->resized_crop || (*h < *w ? *h : *w) == n || *h == 0 || *w == 0)
		return;
	plan->resized_h = *h > *w ? scale_length(n, *h, *w) : n;
	plan->resized_w = *h > *w ? n : scale_length(n, *w, *h);
	*h = plan->resized_h;
	*w = plan->resized_w;
}

static float
bound_side(float v, const struct aug_range *side)
{
	if (is_set(side))
		v = fmaxf(side->lo, fminf(side->hi, v));
	return fminf(v, SIDE);
}

/*
 * The forward matrix, old to new, about both centres, with hs and ws the factors of height and width:
 *
 *	hs cos - shear ws sin	hs sin + shear ws cos
 *	-ws sin			ws cos
 *
 * The plan holds the inverse.  All numbers are always drawn, so that an option does not change another's draws.
 */
static void
choose_warp(const struct aug *a, struct rng *r, uint32_t *h, uint32_t *w, struct aug_plan *plan)
{
	bool stretch = is_set(&a->aspect) && !a->resized_crop;
	float shear = draw_between(r, a->shear.lo, a->shear.hi);
	float angle = floorf(draw_between(r, ceilf(a->turn.lo), floorf(a->turn.hi) + 1));
	uint64_t which = rng_u64(r);
	float scale = draw_between(r, a->scale_by.lo, a->scale_by.hi),
	    ratio = draw_between(r, a->aspect.lo, a->aspect.hi);
	float cosine, sine, hs, ws, m[4], det, cx, cy;

	if (a->angles == 0 && !is_set(&a->turn) && !is_set(&a->shear) && !is_set(&a->scale_by) && !stretch &&
	    !is_set(&a->side))
		return;
	angle = (a->angles > 0 ? a->angle[which % a->angles] : angle) * (float)(M_PI / 180);
	scale = is_set(&a->scale_by) ? scale : 1;
	ratio = stretch ? ratio : 1;
	cosine = cosf(angle);
	sine = sinf(angle);
	hs = 2 * scale / (1 + ratio);
	ws = ratio * hs;
	m[0] = hs * cosine - shear * ws * sine;
	m[1] = hs * sine + shear * ws * cosine;
	m[2] = -ws * sine;
	m[3] = ws * cosine;
	det = m[0] * m[3] - m[1] * m[2];
	plan->warp_h = (uint32_t)bound_side(scale * (float)*h, &a->side);
	plan->warp_w = (uint32_t)bound_side(scale * (float)*w, &a->side);
	cx = ((float)plan->warp_w - m[0] * (float)*w - m[1] * (float)*h) / 2;
	cy = ((float)plan->warp_h - m[2] * (float)*w - m[3] * (float)*h) / 2;
	plan->warp[0] = m[3] / det;
	plan->warp[1] = -m[1] / det;
	plan->warp[2] = (m[1] * cy - m[3] * cx) / det;
	plan->warp[3] = -m[2] / det;
	plan->warp[4] = m[0] / det;
	plan->warp[5] = (m[2] * cx - m[0] * cy) / det;
	*h = plan->warp_h;
	*w = plan->warp_w;
}

/* Draws a crop of random area and aspect.  Returns whether one that fits is found. */
static bool
choose_part(const struct aug *a, struct rng r, uint32_t h, uint32_t w, struct aug_plan *plan)
{
	float area_lo = is_set(&a->area) ? a->area.lo : 0.08f, area_hi = is_set(&a->area) ? a->area.hi : 1;
	float lo = is_set(&a->aspect) ? a->aspect.lo : 3.0f / 4, hi = is_set(&a->aspect) ? a->aspect.hi : 4.0f / 3;

	for (int i = 0; i < TRIES; i++) {
		float area = draw_between(&r, area_lo, area_hi) * (float)h * (float)w;
		float ratio = expf(draw_between(&r, logf(lo), logf(hi)));

		plan->w = (uint32_t)lrintf(sqrtf(area * ratio));
		plan->h = (uint32_t)lrintf(sqrtf(area / ratio));
		if (plan->h == 0 || plan->w == 0 || plan->h > h || plan->w > w)
			continue;
		plan->y = (int32_t)rng_below(&r, h - plan->h + 1u);
		plan->x = (int32_t)rng_below(&r, w - plan->w + 1u);
		return true;
	}
	return false;
}

/* Plans the largest centred crop with the sample's proportions. */
static void
plan_whole_image(const struct aug *a, uint32_t h, uint32_t w, struct aug_plan *plan)
{
	bool wide = (uint64_t)w * a->h > (uint64_t)h * a->w;

	plan->h = wide ? h : scale_length(w, a->h, a->w);
	plan->w = wide ? scale_length(h, a->w, a->h) : w;
	plan->h += plan->h == 0;
	plan->w += plan->w == 0;
	plan->y = (int32_t)((h - plan->h) / 2);
	plan->x = (int32_t)((w - plan->w) / 2);
}

static int
choose_crop(const struct aug *a, uint64_t epoch, uint64_t id, uint32_t h, uint32_t w, struct aug_plan *plan)
{
	struct rng r = rng_start(a->seed ^ CROP, epoch, id), size = rng_start(a->seed ^ PART, epoch, id);
	uint32_t y, x;

	plan->h = a->h;
	plan->w = a->w;
	if (is_set(&a->crop_size))
		plan->h = plan->w = (uint32_t)(a->crop_size.lo +
		    (float)rng_below(&size, (uint64_t)(a->crop_size.hi - a->crop_size.lo) + 1));
	if (h < plan->h || w < plan->w || h == 0 || w == 0) {
		if (!a->resized_crop || h == 0 || w == 0)
			return err_fail(ERR_ITEM, "its %ux%u pixels are fewer than the %ux%u of a sample",
			    w, h, plan->w, plan->h);
		y = x = 0;
	} else {
		y = (uint32_t)rng_below(&r, h - plan->h + 1u);
		x = (uint32_t)rng_below(&r, w - plan->w + 1u);
	}
	plan->mirror = rng_u64(&r) >> 63 && a->rand_mirror;
	if (a->alt_mirror) {
		r = rng_start(a->seed ^ TURN, 0, id);
		plan->mirror = (rng_u64(&r) >> 63) ^ (epoch & 1);
	}
	plan->mirror ^= a->mirror;
	plan->y = (int32_t)(a->rand_crop ? y : (h - plan->h) / 2);
	plan->x = (int32_t)(a->rand_crop ? x : (w - plan->w) / 2);
	if (a->resized_crop && !choose_part(a, size, h, w, plan))
		plan_whole_image(a, h, w, plan);
	plan->y -= (int32_t)a->pad;
	plan->x -= (int32_t)a->pad;
	return 0;
}

static void
choose_colour(const struct aug *a, struct rng *r, struct aug_plan *plan)
{
	/* Eigenvectors times eigenvalues of ImageNet's colours; rows R G B. */
	static const float axis[3][3] = {
		{ 55.46f * -0.5675f, 4.794f * 0.7192f, 1.148f * 0.4009f },
		{ 55.46f * -0.5808f, 4.794f * -0.0045f, 1.148f * -0.8140f },
		{ 55.46f * -0.5836f, 4.794f * -0.6948f, 1.148f * 0.4203f },
	};
	static const uint8_t orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 },
	    { 2, 1, 0 } };
	const float most[3] = { a->brightness, a->contrast, a->saturation };
	uint64_t order = rng_below(r, 6);
	float noise[3];

	for (int i = 0; i < 3; i++) {
		plan->factor[i] = fmaxf(0, draw_between(r, 1 - most[i], 1 + most[i]));
		plan->hsl[i] = draw_between(r, -a->hsl[i], a->hsl[i]);
		plan->order[i] = orders[order][i];
		noise[i] = rng_normal(r) * a->pca;
	}
	for (int i = 0; i < 3; i++)
		plan->rgb[i] = axis[i][0] * noise[0] + axis[i][1] * noise[1] + axis[i][2] * noise[2];
	plan->contrast = draw_between(r, 1 - a->rand_contrast, 1 + a->rand_contrast);
	plan->illumination = draw_between(r, -a->rand_illumination, a->rand_illumination);
}

int
aug_choose(const struct aug *a, uint64_t epoch, uint64_t id, const struct img *pic, struct aug_plan *plan)
{
	struct rng more = rng_start(a->seed ^ MORE, epoch, id);
	uint32_t h = pic->h, w = pic->w;

	*plan = (struct aug_plan){ 0 };
	choose_size(a, &h, &w, plan);
	choose_warp(a, &more, &h, &w, plan);
	choose_colour(a, &more, plan);
	plan->cut_y = (int32_t)rng_below(&more, a->h) - (int32_t)(a->cutout / 2);
	plan->cut_x = (int32_t)rng_below(&more, a->w) - (int32_t)(a->cutout / 2);
	aug_choose_mix(a, epoch, id, plan);
	if ((uint64_t)h * w > IMG_PIXELS)
		return err_fail(ERR_ITEM, "its size would be %ux%u pixels after augmentation", w, h);
	return choose_crop(a, epoch, id, h + 2 * a->pad, w + 2 * a->pad, plan);
}

bool
aug_part(const struct aug_plan *plan, const struct img *pic, struct img_region *part)
{
	if (plan->resized_h > 0 || plan->warp_h > 0 || plan->y < 0 || plan->x < 0 ||
	    plan->y + (int64_t)plan->h > pic->h || plan->x + (int64_t)plan->w > pic->w)
		return false;
	*part = (struct img_region){ (uint32_t)plan->y, (uint32_t)plan->x, plan->h, plan->w };
	return true;
}

bool
aug_part_is_all(const struct aug *a, const struct aug_plan *plan)
{
	return plan->h == a->h && plan->w == a->w && !aug_recolours(a);
}

bool
aug_cuts(const struct aug *a)
{
	struct samples_norm norm;
	bool warps = a->angles > 0 || a->turn.hi != 0 || a->turn.lo != 0 || a->shear.hi != 0 || a->shear.lo != 0 ||
	    a->scale_by.hi > 0 || a->aspect.hi > 0 || a->side.hi > 0;

	return a->resize == 0 && !warps && a->crop_size.hi <= 0 && !a->resized_crop && !aug_recolours(a) &&
	    aug_plain_norm(a, &norm);
}

int
aug_room_new(struct aug_room **room)
{
	int e;

	if ((*room = calloc(1, sizeof(**room))) == NULL)
		return err_nomem();
	if ((e = resize_new(&(*room)->resize)) < 0) {
		free(*room);
		*room = NULL;
	}
	return e;
}

void
aug_room_free(struct aug_room *room)
{
	if (room == NULL)
		return;
	resize_free(room->resize);
	buf_free(&room->warped);
	buf_free(&room->part);
	buf_free(&room->cropped);
	free(room);
}

int
aug_pixels(const struct aug *a, const struct aug_plan *plan, struct aug_room *room, const struct img *pic,
    struct planes_view *v)
{
	struct img now = *pic;
	int e;

	if ((plan->resized_h > 0 && (e = resize_img(room->resize, RESIZE_BILINEAR, pic, NULL, plan->resized_h,
	    plan->resized_w, &now)) < 0) ||
	    (plan->warp_h > 0 && (e = aug_warp(a, plan, room, &now)) < 0) ||
	    (e = aug_crop(a, plan, room, &now, v)) < 0)
		return e;
	if (a->c == 3)
		aug_colour(a, plan, room->cropped.p);
	return 0;
}

int
aug_apply(const struct aug *a, const struct aug_plan *plan, struct aug_room *room, const struct img *pic, float *x)
{
	struct planes_view v;
	int e;

	if ((e = aug_pixels(a, plan, room, pic, &v)) == 0)
		aug_normal(a, plan, &v, x);
	return e;
}
