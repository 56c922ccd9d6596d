/* transcode_shape - computes the crop and the size of a transcoded image.  For transcode. */
#include "image/transcode_shape.h"
#include "base/err.h"

/*
 * Sets the shorter side as the option says and the longer one in proportion, by integer division as in MXNet's
 * im2rec.
 */
static int
resize_sides(const struct transcode_opt *opt, uint32_t *h, uint32_t *w)
{
	uint64_t side = opt->resize, nh = side, nw = side;

	if (side == 0)
		return 0;
	if (*h > *w)
		nh = side * *h / *w;
	else
		nw = side * *w / *h;
	if (nh * nw > opt->pixels)
		return err_fail(ERR_PIXELS, "resized to %llux%llu it has more than %u pixels", (unsigned long long)nw,
		    (unsigned long long)nh, opt->pixels);
	*h = (uint32_t)nh;
	*w = (uint32_t)nw;
	return 0;
}

/* The offset of the crop in a margin: half of it, rounded down or to an even number. */
static uint32_t
crop_offset(const struct transcode_opt *opt, uint32_t margin)
{
	return margin / 2 + (opt->crop_even && margin % 4 == 3);
}

int
transcode_shape(const struct transcode_opt *opt, const struct img_head *head, struct transcode_shape *s)
{
	bool swaps = orient_swaps(head->orientation);
	uint32_t h = swaps ? head->w : head->h, w = swaps ? head->h : head->w, side;
	struct orient_rect cut;

	ERR_TRY(resize_sides(opt, &h, &w));
	cut = (struct orient_rect){ .h = h, .w = w };
	if (opt->crop) {
		side = h < w ? h : w;
		cut = (struct orient_rect){ .y = crop_offset(opt, h - side), .x = crop_offset(opt, w - side), .h = side,
		    .w = side };
	}
	s->h = swaps ? w : h;
	s->w = swaps ? h : w;
	s->orientation = head->orientation;
	s->cut = orient_back(head->orientation, cut, s->h, s->w);
	s->same = s->cut.h == head->h && s->cut.w == head->w;
	return 0;
}

/* The first pixel along an axis.  If the axis is flipped, the rounded-up size reaches beyond this end. */
static double
find_first_pixel(uint32_t at, uint32_t size, uint32_t step, bool flips)
{
	return flips ? (double)at + size - (double)((size + step - 1) / step * step) : at;
}

struct resize_region
transcode_shape_region(const struct transcode_shape *s, const struct img_head *head, unsigned shrink, uint32_t sub_h,
    uint32_t sub_w, uint32_t step)
{
	double sy = (double)head->h / s->h / shrink / sub_h, sx = (double)head->w / s->w / shrink / sub_w;
	const struct orient_rect *c = &s->cut;

	return (struct resize_region){
		.y = find_first_pixel(c->y, c->h, step, orient_flips_rows(s->orientation)) * sy,
		.x = find_first_pixel(c->x, c->w, step, orient_flips_columns(s->orientation)) * sx,
		.h = (c->h + step - 1) / step * step * sy,
		.w = (c->w + step - 1) / step * step * sx,
	};
}
