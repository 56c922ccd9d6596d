/* aug_geometry - the pixels of a sample: warp, border, crop. */
#include "batch/aug_in.h"
#include "base/err.h"

#include <math.h>

/* Reads pixel (y, x), or the fill value outside the image. */
static void
get_pixel(const struct img *pic, int64_t y, int64_t x, uint8_t fill, float p[3])
{
	bool inside = y >= 0 && x >= 0 && y < pic->h && x < pic->w;
	const uint8_t *q = inside ? pic->p + ((size_t)y * pic->w + (size_t)x) * pic->c : NULL;

	for (uint32_t c = 0; c < pic->c; c++)
		p[c] = inside ? q[c] : fill;
}

static void
interpolate_pixel(const struct img *pic, float y, float x, uint8_t fill, uint8_t *out)
{
	float fy = floorf(y), fx = floorf(x), dy = y - fy, dx = x - fx;
	float p[2][2][3];

	/* Places far outside, which may not fit an integer, get the fill value. */
	if (!(fy >= -2 && fx >= -2 && fy <= (float)pic->h && fx <= (float)pic->w)) {
		for (uint32_t c = 0; c < pic->c; c++)
			out[c] = fill;
		return;
	}
	for (int i = 0; i < 4; i++)
		get_pixel(pic, (int64_t)fy + i / 2, (int64_t)fx + i % 2, fill, p[i / 2][i % 2]);
	for (uint32_t c = 0; c < pic->c; c++) {
		float top = p[0][0][c] + dx * (p[0][1][c] - p[0][0][c]);
		float low = p[1][0][c] + dx * (p[1][1][c] - p[1][0][c]);

		out[c] = (uint8_t)(top + dy * (low - top) + 0.5f);
	}
}

int
aug_warp(const struct aug *a, const struct aug_plan *plan, struct aug_room *room, struct img *pic)
{
	const float *m = plan->warp;
	uint8_t *out;

	room->warped.n = 0;
	ERR_TRY(buf_room(&room->warped, (size_t)plan->warp_h * plan->warp_w * pic->c));
	out = room->warped.p;
	for (uint32_t y = 0; y < plan->warp_h; y++)
		for (uint32_t x = 0; x < plan->warp_w; x++, out += pic->c)
			interpolate_pixel(pic, m[3] * (float)x + m[4] * (float)y + m[5],
			    m[0] * (float)x + m[1] * (float)y + m[2],
			    a->fill, out);
	*pic = (struct img){ room->warped.p, pic->c, plan->warp_h, plan->warp_w };
	return 0;
}

/* Copies n pixels of a row from x on, all of them outside the image. */
static void
copy_border(const struct aug *a, const struct img *pic, const uint8_t *row, int64_t x, uint32_t n, uint8_t *out)
{
	if (!a->pad_reflect)
		memset(out, a->fill, (size_t)n * pic->c);
	else
		for (uint32_t i = 0; i < n; i++)
			memcpy(out + (size_t)i * pic->c, row + (size_t)img_reflect(x + i, pic->w) * pic->c, pic->c);
}

/* Copies w pixels of row y from x on, with the border where they are outside the image. */
static void
copy_row(const struct aug *a, const struct img *pic, int64_t y, int64_t x, uint32_t w, uint8_t *out)
{
	const int64_t at = a->pad_reflect ? img_reflect(y, pic->h) : y;
	bool outside = at < 0 || at >= pic->h;
	const uint8_t *row = outside ? NULL : pic->p + (size_t)at * pic->w * pic->c;
	uint32_t left = outside || -x > w ? w : x < 0 ? (uint32_t)-x : 0;
	int64_t here = (int64_t)pic->w - (x + left);
	uint32_t n = here <= 0 ? 0 : here < w - left ? (uint32_t)here : w - left;

	copy_border(a, pic, row, x, left, out);
	if (n > 0)
		memcpy(out + (size_t)left * pic->c, row + (size_t)(x + left) * pic->c, (size_t)n * pic->c);
	copy_border(a, pic, row, x + left + n, w - left - n, out + (size_t)(left + n) * pic->c);
}

/* Copies the crop to an image of its own. */
static int
copy_part(const struct aug *a, const struct aug_plan *plan, struct buf *room, const struct img *pic, struct img *part)
{
	size_t row = (size_t)plan->w * pic->c;

	room->n = 0;
	ERR_TRY(buf_room(room, row * plan->h));
	for (uint32_t y = 0; y < plan->h; y++)
		copy_row(a, pic, (int64_t)plan->y + y, plan->x, plan->w, room->p + y * row);
	*part = (struct img){ room->p, pic->c, plan->h, plan->w };
	return 0;
}

int
aug_crop(const struct aug *a, const struct aug_plan *plan, struct aug_room *room, const struct img *pic,
    struct planes_view *v)
{
	bool fits = plan->h == a->h && plan->w == a->w, inside = plan->y >= 0 && plan->x >= 0 &&
	    plan->y + (int64_t)plan->h <= pic->h && plan->x + (int64_t)plan->w <= pic->w;
	struct img part;
	int e;

	if (fits && inside && !aug_recolours(a)) {
		v->stride = (size_t)pic->w * pic->c;
		v->p = pic->p + (size_t)plan->y * v->stride + (size_t)plan->x * pic->c;
		return 0;
	}
	v->stride = (size_t)a->w * a->c;
	if (fits) {
		e = copy_part(a, plan, &room->cropped, pic, &part);
	} else if ((e = copy_part(a, plan, &room->part, pic, &part)) == 0 &&
	    (e = resize_img(room->resize, RESIZE_BILINEAR, &part, NULL, a->h, a->w, &part)) == 0) {
		room->cropped.n = 0;
		e = buf_put(&room->cropped, part.p, v->stride * a->h);
	}
	v->p = room->cropped.p;
	return e;
}
