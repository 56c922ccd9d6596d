/* transcode - converts an image to the form in which it is packed. */
#include "image/transcode.h"
#include "base/err.h"
#include "image/transcode_planes.h"

#include <stdlib.h>

#define QUALITY		95	/* default */
#define QUALITY_MOST	100	/* loses nothing but what rounding costs */
#define KEEP		(1u << 25) /* bytes kept for the next image */

struct transcode {
	struct transcode_opt	 opt;		/* with defaults in place of zeros */
	struct img_codec	*codec;
	struct transcode_planes	*planes;
	struct resize		*resize;
	struct buf		 oriented;	/* pixels made upright, or converted raw pixels */
	struct buf		 out;		/* an image that was encoded again */
};

/* What an image is to become. */
struct target {
	enum img_format		 format;
	uint32_t		 c;
	struct transcode_shape	 shape;
};

static int
check_transcode_options(const struct transcode_opt *opt)
{
	if (opt->quality < 0 || opt->quality > QUALITY_MOST)
		return err_fail(ERR_ARG, "a quality of %d is not in 1 to 100", opt->quality);
	if (opt->crop_even && !opt->crop)
		return err_fail(ERR_ARG, "the rounding of a crop needs a crop");
	if (opt->pass && (opt->resize > 0 || opt->crop || opt->color != TRANSCODE_AS_STORED ||
	    opt->encoding != TRANSCODE_AS_IT_WAS))
		return err_fail(ERR_ARG,
		    "images that are kept as they are cannot be resized, cropped, recoloured or encoded again");
	return 0;
}

int
transcode_new(const struct transcode_opt *opt, struct transcode **out)
{
	struct transcode *k;
	int e;

	*out = NULL;
	ERR_TRY(check_transcode_options(opt));
	if ((k = calloc(1, sizeof(*k))) == NULL)
		return err_nomem();
	k->opt = *opt;
	if (opt->quality == 0)
		k->opt.quality = QUALITY;
	if (opt->pixels == 0)
		k->opt.pixels = IMG_PIXELS;
	if ((e = img_codec_new(k->opt.pixels, &k->codec)) < 0 || (e = transcode_planes_new(&k->planes)) < 0 ||
	    (e = resize_new(&k->resize)) < 0) {
		transcode_free(k);
		return e;
	}
	*out = k;
	return 0;
}

void
transcode_free(struct transcode *k)
{
	if (k == NULL)
		return;
	img_codec_free(k->codec);
	transcode_planes_free(k->planes);
	resize_free(k->resize);
	buf_free(&k->oriented);
	buf_free(&k->out);
	free(k);
}

/* A lossless image stays lossless as PNG; others become JPEG, which is smaller. */
static enum img_format
choose_format(const struct transcode_opt *opt, const struct img_head *head)
{
	switch (opt->encoding) {
	case TRANSCODE_JPEG: return IMG_JPEG;
	case TRANSCODE_PNG: return IMG_PNG;
	default: return head->lossless ? IMG_PNG : IMG_JPEG;
	}
}

static int
plan_target(const struct transcode_opt *opt, const struct img_head *head, struct target *target)
{
	target->format = choose_format(opt, head);
	target->c = opt->color == TRANSCODE_AS_STORED ? head->c : opt->color == TRANSCODE_GREY ? 1 : 3;
	return transcode_shape(opt, head, &target->shape);
}

/* Whether a JPEG that is encoded from pixels has chroma as dense as luma. */
static bool
is_dense(const struct transcode_opt *opt, const struct target *target, const struct img_head *head)
{
	return opt->quality == QUALITY_MOST || (target->shape.same && head->format == IMG_JPEG);
}

/* Makes resized pixels upright and encodes them to k->out. */
static int
encode_resized(struct transcode *k, const struct target *target, const struct img_head *head, const struct img *in)
{
	const struct transcode_shape *s = &target->shape;
	struct img image = *in;

	if (s->orientation > 1) {
		buf_trim(&k->oriented, KEEP);
		ERR_TRY(buf_room(&k->oriented, (size_t)in->h * in->w * in->c));
		if (orient_swaps(s->orientation))
			image = (struct img){ .c = in->c, .h = in->w, .w = in->h };
		image.p = k->oriented.p;
		orient_pixels(s->orientation, in->p, in->h, in->w, in->c, (size_t)in->w * in->c, k->oriented.p,
		    (size_t)image.w * image.c);
	}
	return target->format == IMG_PNG ? img_encode_png(&image, &k->out)
	    : img_encode_jpeg(k->codec, &image, k->opt.quality, is_dense(&k->opt, target, head), &k->out);
}

/* Resizes pixels, makes them upright and encodes them to k->out. */
static int
encode_pixels(struct transcode *k, const struct target *target, const struct img_head *head, const struct img *in)
{
	const struct transcode_shape *s = &target->shape;
	struct resize_region part = transcode_shape_region(s, head, 1, 1, 1, 1);
	struct img image = *in;

	ERR_TRY(s->same ? 0 : resize_img(k->resize, k->opt.inter, in, &part, s->cut.h, s->cut.w, &image));
	return encode_resized(k, target, head, &image);
}

static int
resize_row(void *ctx, const uint8_t *row)
{
	return resize_rows_put(ctx, row);
}

/* Decodes, resizes and encodes a large image without having all of its pixels in memory. */
static int
convert_by_rows(struct transcode *k, const struct target *target, const struct img_head *head, const uint8_t *data,
    size_t n)
{
	const struct transcode_shape *s = &target->shape;
	struct resize_region part = transcode_shape_region(s, head, 1, 1, 1, 1);
	struct img in = { .c = target->c, .h = head->h, .w = head->w }, image;

	ERR_TRY(resize_rows_start(k->resize, k->opt.inter, &in, &part, s->cut.h, s->cut.w, &image));
	ERR_TRY(img_decode_rows(k->codec, data, n, target->c, resize_row, k->resize));
	return encode_resized(k, target, head, &image);
}

/*
 * Whether to convert a JPEG by its planes.  An image that keeps its size would lose detail if its chroma is dense, or
 * if a flip splits chroma's pairs of pixels because the number of pixels is odd.  One that is resized at the best
 * quality would lose the detail that smaller blocks and half of the chroma cost.  A filter that copies pixels or
 * averages whole ones gives other results for smaller blocks.
 */
static bool
do_planes_suffice(const struct transcode_opt *opt, const struct target *target, const struct img_head *head)
{
	const struct transcode_shape *s = &target->shape;

	if (target->format != IMG_JPEG || head->sub_h == 0)
		return false;
	if (!s->same && (opt->quality == QUALITY_MOST || opt->inter == RESIZE_NEAREST || opt->inter == RESIZE_AREA ||
	    opt->inter == RESIZE_AUTO || !transcode_planes_are_small(s, head)))
		return false;
	return !s->same || head->c == 1 || target->c == 1 || (head->sub_h == 2 && head->sub_w == 2 &&
	    (head->h % 2 == 0 || !orient_flips_rows(s->orientation)) &&
	    (head->w % 2 == 0 || !orient_flips_columns(s->orientation)));
}

/* Encodes the image to k->out in the way that loses least, then the fastest way. */
static int
convert_image(struct transcode *k, const struct target *target, const struct img_head *head, const uint8_t *data,
    size_t n)
{
	struct img image;
	int e;

	if (target->format == IMG_JPEG && head->sub_h > 0 && target->shape.same && target->c == head->c &&
	    (e = transcode_planes_orient(k->planes, &k->opt, data, n, &k->out)) != 0)
		return e;
	if (do_planes_suffice(&k->opt, target, head))
		return transcode_planes_run(k->planes, &k->opt, &target->shape, target->c, data, n, &k->out);
	if (head->by_rows && !target->shape.same && (uint64_t)head->h * head->w >= IMG_LARGE)
		return convert_by_rows(k, target, head, data, n);
	ERR_TRY(img_decode(k->codec, data, n, target->c, &image));
	return encode_pixels(k, target, head, &image);
}

int
transcode_encoded(struct transcode *k, const uint8_t *data, size_t n, const uint8_t **out, size_t *m)
{
	struct img_head head;
	struct target target;

	buf_trim(&k->out, KEEP);
	ERR_TRY(img_head(k->codec, data, n, &head));
	ERR_TRY(plan_target(&k->opt, &head, &target));
	if (k->opt.pass || (target.format == head.format && target.c == head.c && target.shape.same &&
	    head.orientation == 1 &&
	    !head.odd)) {
		*out = data;
		*m = n;
		return img_check(k->codec, data, n);
	}
	ERR_TRY(convert_image(k, &target, &head, data, n));
	*out = k->out.p;
	*m = k->out.n;
	return 0;
}

int
transcode_raw(struct transcode *k, const struct img *in, const uint8_t **out, size_t *m)
{
	struct img_head head = { .format = IMG_PNG, .c = in->c, .h = in->h, .w = in->w, .orientation = 1,
	    .lossless = true };
	size_t area = (size_t)in->h * in->w;
	struct img image = *in;
	struct target target;

	buf_trim(&k->out, KEEP);
	buf_trim(&k->oriented, KEEP);
	ERR_TRY(plan_target(&k->opt, &head, &target));
	if (target.c != in->c) {
		ERR_TRY(buf_room(&k->oriented, area * target.c));
		img_convert_channels(in->p, in->c, area, target.c, k->oriented.p);
		image.p = k->oriented.p;
		image.c = target.c;
	}
	ERR_TRY(encode_pixels(k, &target, &head, &image));
	*out = k->out.p;
	*m = k->out.n;
	return 0;
}
