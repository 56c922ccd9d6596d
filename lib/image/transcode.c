/* transcode - a picture as it came in, out as it is packed. */
#include "image/transcode.h"
#include "base/err.h"
#include "image/transcode_planes.h"

#include <stdlib.h>

#define QUALITY	95		/* when nobody says */
#define KEEP	(1u << 25)	/* bytes that are kept for the next picture */

struct transcode {
	struct transcode_opt		 opt;		/* its zeros replaced by what they stand for */
	struct img_codec	*codec;
	struct transcode_planes	*planes;
	struct resize		*resize;
	struct buf		 turned;	/* pixels */
	struct buf		 out;		/* a picture that was encoded anew */
};

/* What a picture is to become. */
struct want {
	enum img_format		 format;
	uint32_t		 c;
	struct transcode_shape	 shape;
};

static int
check_options(const struct transcode_opt *opt)
{
	if (opt->quality < 0 || opt->quality > 100)
		return err_fail(ERR_ARG, "a quality of %d is not in 1 to 100", opt->quality);
	if (opt->pass && (opt->resize > 0 || opt->crop || opt->color != TRANSCODE_AS_STORED ||
	    opt->encoding != TRANSCODE_AS_IT_WAS))
		return err_fail(ERR_ARG, "pictures that pass through cannot be resized, cropped, recoloured or encoded anew");
	return 0;
}

int
transcode_new(struct transcode **out, const struct transcode_opt *opt)
{
	struct transcode *k;
	int e;

	*out = NULL;
	if ((e = check_options(opt)) < 0)
		return e;
	if ((k = calloc(1, sizeof(*k))) == NULL)
		return err_nomem();
	k->opt = *opt;
	if (opt->quality == 0)
		k->opt.quality = QUALITY;
	if (opt->pixels == 0 || opt->pixels > IMG_PIXELS)
		k->opt.pixels = IMG_PIXELS;
	if ((e = img_codec_new(&k->codec, k->opt.pixels)) < 0 || (e = transcode_planes_new(&k->planes)) < 0 ||
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
	buf_free(&k->turned);
	buf_free(&k->out);
	free(k);
}

/* PNG loses nothing, and JPEG is smaller: which of the two stands for a format that is not packed as it is. */
static enum img_format
format_for(const struct transcode_opt *opt, const struct img_head *head)
{
	switch (opt->encoding) {
	case TRANSCODE_JPEG: return IMG_JPEG;
	case TRANSCODE_PNG: return IMG_PNG;
	default: return head->lossless ? IMG_PNG : IMG_JPEG;
	}
}

static int
decide(const struct transcode_opt *opt, const struct img_head *head, struct want *want)
{
	want->format = format_for(opt, head);
	want->c = opt->color == TRANSCODE_AS_STORED ? head->c : opt->color == TRANSCODE_GREY ? 1 : 3;
	return transcode_shape(opt, head, &want->shape);
}

/* Its pixels, of the size, colour and way up that are wanted, encoded. */
static int
encode(struct transcode *k, const struct want *want, const struct img_head *head, const struct img *in)
{
	const struct transcode_shape *s = &want->shape;
	struct resize_region part = transcode_shape_region(s, head, 1, 1, 1, 1);
	struct img pic = *in;
	size_t bytes;
	int e;

	if (!s->same && (e = resize_img(k->resize, k->opt.inter, in, &part, s->cut.h, s->cut.w, &pic)) < 0)
		return e;
	if (s->turn > 1) {
		struct img from = pic;

		bytes = (size_t)pic.h * pic.w * pic.c;
		buf_trim(&k->turned, KEEP);
		if ((e = buf_room(&k->turned, bytes)) < 0)
			return e;
		if (orient_swaps(s->turn))
			pic = (struct img){ .c = from.c, .h = from.w, .w = from.h };
		pic.p = k->turned.p;
		orient_pixels(s->turn, from.p, from.h, from.w, from.c, (size_t)from.w * from.c, k->turned.p,
		    (size_t)pic.w * pic.c);
	}
	return want->format == IMG_PNG ? img_encode_png(&pic, &k->out)
	    : img_encode_jpeg(k->codec, &pic, k->opt.quality, s->same && head->format == IMG_JPEG, &k->out);
}

/*
 * Whether a JPEG's own planes serve.  A picture that is not resized would lose by it when its chroma is dense, or when
 * chroma's pairs of pixels fall apart since an odd number of pixels is counted from the other end.
 */
static bool
by_planes(const struct want *want, const struct img_head *head)
{
	const struct transcode_shape *s = &want->shape;

	if (want->format != IMG_JPEG || head->sub_h == 0)
		return false;
	return !s->same || head->c == 1 || want->c == 1 || (head->sub_h == 2 && head->sub_w == 2 &&
	    (head->h % 2 == 0 || !orient_flips_rows(s->turn)) && (head->w % 2 == 0 || !orient_flips_columns(s->turn)));
}

/* Makes it anew in k->out, by the way that loses least, then the fastest. */
static int
convert(struct transcode *k, const struct want *want, const struct img_head *head, const uint8_t *data, size_t n)
{
	struct img pic;
	int e;

	if (want->format == IMG_JPEG && head->sub_h > 0 && want->shape.same && want->c == head->c &&
	    (e = transcode_planes_orient(k->planes, &k->opt, data, n, &k->out)) != 0)
		return e;
	if (by_planes(want, head))
		return transcode_planes_run(k->planes, &k->opt, &want->shape, want->c, data, n, &k->out);
	if ((e = img_decode(k->codec, data, n, want->c, &pic)) < 0)
		return e;
	return encode(k, want, head, &pic);
}

int
transcode_encoded(struct transcode *k, const uint8_t *data, size_t n, const uint8_t **out, size_t *m)
{
	struct img_head head;
	struct want want;
	int e;

	buf_trim(&k->out, KEEP);
	if ((e = img_head(k->codec, data, n, &head)) < 0 || (e = decide(&k->opt, &head, &want)) < 0)
		return e;
	if (k->opt.pass || (want.format == head.format && want.c == head.c && want.shape.same && head.turn == 1 &&
	    !head.odd)) {
		*out = data;
		*m = n;
		return img_check(k->codec, data, n);
	}
	if ((e = convert(k, &want, &head, data, n)) < 0)
		return e;
	*out = k->out.p;
	*m = k->out.n;
	return 0;
}

int
transcode_raw(struct transcode *k, const struct img *in, const uint8_t **out, size_t *m)
{
	struct img_head head = { .format = IMG_PNG, .c = in->c, .h = in->h, .w = in->w, .turn = 1, .lossless = true };
	size_t area = (size_t)in->h * in->w;
	struct img pic = *in;
	struct want want;
	int e;

	buf_trim(&k->out, KEEP);
	buf_trim(&k->turned, KEEP);
	if ((e = decide(&k->opt, &head, &want)) < 0)
		return e;
	if (want.c != in->c) {
		if ((e = buf_room(&k->turned, area * want.c)) < 0)
			return e;
		img_convert_channels(in->p, in->c, area, want.c, k->turned.p);
		pic.p = k->turned.p;
		pic.c = want.c;
	}
	if ((e = encode(k, &want, &head, &pic)) < 0)
		return e;
	*out = k->out.p;
	*m = k->out.n;
	return 0;
}
