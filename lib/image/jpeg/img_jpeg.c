/* img_jpeg - decodes JPEG to pixels or planes, and encodes it.  For img and transcode_planes. */
#include "image/jpeg/img_jpeg.h"
#include "image/jpeg/img_jpeg_fast.h"
#include "base/err.h"
#include "image/orient.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

#define SIDE_MOST	65500u		/* libjpeg's limit of height and width */

struct img_jpeg {
	tjhandle		 in, out, transform;	/* NULL until needed */
	struct img_jpeg_scan	*scan;
	struct img_jpeg_fast	*fast;
};

int
img_jpeg_new(struct img_jpeg **out)
{
	struct img_jpeg *j = calloc(1, sizeof(*j));
	int e;

	*out = NULL;
	if (j == NULL)
		return err_nomem();
	if ((e = img_jpeg_scan_new(&j->scan)) < 0 || (e = img_jpeg_fast_new(&j->fast)) < 0) {
		img_jpeg_free(j);
		return e;
	}
	*out = j;
	return 0;
}

static void
destroy_handle(tjhandle *t)
{
	if (*t != NULL)
		tjDestroy(*t);
	*t = NULL;
}

void
img_jpeg_free(struct img_jpeg *j)
{
	if (j == NULL)
		return;
	destroy_handle(&j->in);
	destroy_handle(&j->out);
	destroy_handle(&j->transform);
	img_jpeg_scan_free(j->scan);
	img_jpeg_fast_free(j->fast);
	free(j);
}

static int
fail_jpeg(tjhandle *t)
{
	err_note(0, "JPEG: %s", tjGetErrorStr2(*t));
	destroy_handle(t);
	return ERR_FORMAT;
}

/* Makes a handle for each image: an old one would fill in the previous image's tables where the image has none. */
static int
renew_handle(tjhandle *t, tjhandle init(void))
{
	destroy_handle(t);
	*t = init();
	return *t != NULL ? 0 : err_nomem();
}

/*
 * turbojpeg keeps only the first warning, which may be harmless where a later one is not.  So this scans the image
 * again.
 */
static int
check_warning(struct img_jpeg *j, tjhandle *t, const uint8_t *data, size_t n)
{
	return tjGetErrorCode(*t) == TJERR_WARNING ? img_jpeg_scan_check(j->scan, data, n) : fail_jpeg(t);
}

int
img_jpeg_head(struct img_jpeg *j, const uint8_t *data, size_t n, uint32_t pixels, struct img_jpeg_head *head)
{
	return img_jpeg_scan_head(j->scan, data, n, pixels, head);
}

int
img_jpeg_check(struct img_jpeg *j, const uint8_t *data, size_t n)
{
	return img_jpeg_scan_check(j->scan, data, n);
}

static int
decode_to_format(struct img_jpeg *j, const uint8_t *data, size_t n, int format, const struct img *size,
    struct buf *room)
{
	room->n = 0;
	ERR_TRY(buf_room(room, (size_t)size->h * size->w * (size_t)tjPixelSize[format]));
	ERR_TRY(renew_handle(&j->in, tjInitDecompress));
	if (tjDecompress2(j->in, data, (unsigned long)n, room->p, (int)size->w, 0, (int)size->h, format,
	    TJFLAG_LIMITSCANS) < 0)
		return check_warning(j, &j->in, data, n);
	return 0;
}

/* Converts to RGB or grey in place: the result is shorter. */
static void
convert_cmyk(uint8_t *p, size_t pixels, bool inverted, uint32_t c)
{
	unsigned flip = inverted ? 0 : 255;

	for (size_t i = 0; i < pixels; i++) {
		const uint8_t *q = p + i * 4;
		unsigned k = q[3] ^ flip;

		for (unsigned m = 0; m < 3; m++)
			p[i * 3 + m] = (uint8_t)((q[m] ^ flip) * k / 255);
	}
	if (c == 1)
		img_convert_channels(p, 3, pixels, 1, p);
}

int
img_jpeg_decode(struct img_jpeg *j, const uint8_t *data, size_t n, uint32_t c, uint32_t pixels,
    struct buf *room, struct img *out)
{
	struct img_jpeg_head head;

	ERR_TRY(img_jpeg_scan_head(j->scan, data, n, pixels, &head));
	if (c == 0)
		c = head.c == 1 ? 1 : 3;
	*out = (struct img){ .c = c, .h = head.h, .w = head.w };
	room->n = 0;
	ERR_TRY(buf_room(room, (size_t)head.h * head.w * c));
	if (img_jpeg_fast_region(j->fast, data, n, head.h, head.w, &(struct img_region){ 0, 0, head.h, head.w }, c,
	    room->p)) {
		out->p = room->p;
		return 0;
	}
	ERR_TRY(decode_to_format(j, data, n, head.c == 4 ? TJPF_CMYK : c == 1 ? TJPF_GRAY : TJPF_RGB, out, room));
	if (head.c == 4)
		convert_cmyk(room->p, (size_t)head.w * head.h, head.inverted, c);
	out->p = room->p;
	return 0;
}

/* Where rows of CMYK go. */
struct cmyk_rows {
	uint8_t		*row;
	uint32_t	 w, c;
	bool		 inverted;
	img_row		*fn;
	void		*ctx;
};

static int
give_cmyk_row(void *ctx, const uint8_t *row)
{
	struct cmyk_rows *r = ctx;

	assert(row == r->row);
	convert_cmyk(r->row, r->w, r->inverted, r->c);
	return r->fn(r->ctx, r->row);
}

int
img_jpeg_decode_rows(struct img_jpeg *j, const uint8_t *data, size_t n, uint32_t c, uint32_t pixels,
    struct buf *room, img_row *fn, void *ctx)
{
	struct img_jpeg_head head;
	struct cmyk_rows rows = { .c = c, .fn = fn, .ctx = ctx };

	ERR_TRY(img_jpeg_scan_head(j->scan, data, n, pixels, &head));
	room->n = 0;
	ERR_TRY(buf_room(room, (size_t)head.w * (head.c == 4 ? 4 : c)));
	rows.row = room->p;
	rows.w = head.w;
	rows.inverted = head.inverted;
	return head.c == 4 ? img_jpeg_scan_rows(j->scan, data, n, 4, room->p, give_cmyk_row, &rows)
	    : img_jpeg_scan_rows(j->scan, data, n, c, room->p, fn, ctx);
}

int
img_jpeg_decode_region(struct img_jpeg *j, const uint8_t *data, size_t n, uint32_t h, uint32_t w,
    const struct img_region *region,
    uint32_t c, uint8_t *p)
{
	return img_jpeg_fast_region(j->fast, data, n, h, w, region, c, p);
}

/* Makes room in out for the largest JPEG of that size; *n is its bytes. */
static int
prepare_encoder(struct img_jpeg *j, uint32_t h, uint32_t w, int sampling, struct buf *out, unsigned long *n)
{
	if (j->out == NULL && (j->out = tjInitCompress()) == NULL)
		return err_nomem();
	if (w > SIDE_MOST || h > SIDE_MOST || (*n = tjBufSize((int)w, (int)h, sampling)) == (unsigned long)-1)
		return err_fail(ERR_LIMIT, "JPEG: %ux%u is too large", w, h);
	return buf_room(out, *n);
}

int
img_jpeg_encode(struct img_jpeg *j, const struct img *in, int quality, bool dense, struct buf *out)
{
	int sampling = in->c == 1 ? TJSAMP_GRAY : dense ? TJSAMP_444 : TJSAMP_420;
	unsigned long n;
	unsigned char *p;

	assert(in->c == 1 || in->c == 3);
	ERR_TRY(prepare_encoder(j, in->h, in->w, sampling, out, &n));
	p = out->p + out->n;
	if (tjCompress2(j->out, in->p, (int)in->w, 0, (int)in->h, in->c == 1 ? TJPF_GRAY : TJPF_RGB, &p, &n,
	    sampling, quality, TJFLAG_NOREALLOC) < 0)
		return fail_jpeg(&j->out);
	out->n += n;
	return 0;
}

static uint32_t
ceil_div(uint32_t a, uint32_t b)
{
	return (a + b - 1) / b;
}

/*
 * Places the planes in room one after the other, with rows aligned for the resizer.  Each has one more row and
 * column, because turbojpeg extends luma to whole chroma samples.
 */
static int
lay_out_planes(struct buf *room, const struct img_jpeg_head *head, const unsigned shrink[3],
    struct resize_plane plane[3])
{
	size_t at[3], bytes = RESIZE_ALIGN;

	for (uint32_t i = 0; i < head->c; i++) {
		plane[i] = (struct resize_plane){ .h = ceil_div(head->h, shrink[i] * (i == 0 ? 1 : head->sub_h)),
		    .w = ceil_div(head->w, shrink[i] * (i == 0 ? 1 : head->sub_w)) };
		plane[i].stride = RESIZE_STRIDE(plane[i].w + 1);
		at[i] = bytes;
		bytes += (plane[i].h + 1) * plane[i].stride;
	}
	room->n = 0;
	ERR_TRY(buf_room(room, bytes));
	for (uint32_t i = 0; i < head->c; i++)
		plane[i].p = room->p + at[i] - (uintptr_t)room->p % RESIZE_ALIGN;
	return 0;
}

int
img_jpeg_planes(struct img_jpeg *j, const uint8_t *data, size_t n, const struct img_jpeg_head *head,
    unsigned shrink[3], struct buf *room, struct resize_plane plane[3])
{
	unsigned char *p[3] = { NULL };
	int stride[3] = { 0 };

	assert(head->ycc);
	ERR_TRY(lay_out_planes(room, head, shrink, plane));
	if (img_jpeg_fast_planes(j->fast, data, n, head, shrink, plane))
		return 0;
	shrink[1] = shrink[2] = shrink[0];
	ERR_TRY(lay_out_planes(room, head, shrink, plane));
	for (uint32_t i = 0; i < head->c; i++) {
		p[i] = plane[i].p;
		stride[i] = (int)plane[i].stride;
	}
	ERR_TRY(renew_handle(&j->in, tjInitDecompress));
	if (tjDecompressToYUVPlanes(j->in, data, (unsigned long)n, p, (int)plane[0].w, stride, (int)plane[0].h,
	    TJFLAG_LIMITSCANS) < 0)
		return check_warning(j, &j->in, data, n);
	return 0;
}

/* Repeats the last column and row if chroma samples reach beyond them. */
static void
extend_luma(const struct resize_plane *luma)
{
	assert(luma->stride > luma->w);
	if (luma->w % 2 == 1)
		for (uint32_t y = 0; y < luma->h; y++)
			luma->p[y * luma->stride + luma->w] = luma->p[y * luma->stride + luma->w - 1];
	if (luma->h % 2 == 1)
		memcpy(luma->p + luma->h * luma->stride, luma->p + (luma->h - 1) * luma->stride, luma->w + luma->w % 2);
}

int
img_jpeg_encode_planes(struct img_jpeg *j, const struct resize_plane *plane, uint32_t planes, int quality,
    struct buf *out)
{
	const unsigned char *p[3] = { NULL };
	int sampling = planes == 1 ? TJSAMP_GRAY : TJSAMP_420, stride[3] = { 0 };
	unsigned char *to;
	unsigned long n;

	assert(planes == 1 || planes == 3);
	ERR_TRY(prepare_encoder(j, plane->h, plane->w, sampling, out, &n));
	if (planes == 3)
		extend_luma(plane);
	for (uint32_t i = 0; i < planes; i++) {
		p[i] = plane[i].p;
		stride[i] = (int)plane[i].stride;
	}
	to = out->p + out->n;
	if (tjCompressFromYUVPlanes(j->out, p, (int)plane->w, stride, (int)plane->h, sampling, &to, &n, quality,
	    TJFLAG_NOREALLOC) < 0)
		return fail_jpeg(&j->out);
	out->n += n;
	return 0;
}

int
img_jpeg_orient(struct img_jpeg *j, const uint8_t *data, size_t n, const struct img_jpeg_head *head, struct buf *out)
{
	static const int op[] = { [1] = TJXOP_NONE, TJXOP_HFLIP, TJXOP_ROT180, TJXOP_VFLIP, TJXOP_TRANSPOSE,
	    TJXOP_ROT90,
	    TJXOP_TRANSVERSE, TJXOP_ROT270 };
	tjtransform t = { .op = op[head->exif.orientation], .options = TJXOPT_PERFECT };
	uint32_t mcu_h = 8 * head->sub_h, mcu_w = 8 * head->sub_w;
	struct img_jpeg_head upright;
	unsigned char *p = NULL;
	unsigned long got = 0;
	int e = 0;

	if (!head->ycc || (orient_flips_rows(head->exif.orientation) && head->h % mcu_h != 0) ||
	    (orient_flips_columns(head->exif.orientation) && head->w % mcu_w != 0))
		return 0;
	ERR_TRY(img_jpeg_scan_check(j->scan, data, n));
	ERR_TRY(renew_handle(&j->transform, tjInitTransform));
	if (tjTransform(j->transform, data, (unsigned long)n, 1, &p, &got, &t, TJFLAG_LIMITSCANS) < 0 &&
	    tjGetErrorCode(j->transform) != TJERR_WARNING)
		destroy_handle(&j->transform);
	else if (img_jpeg_scan_head(j->scan, p, got, UINT32_MAX, &upright) == 0 &&
	    img_jpeg_scan_check(j->scan, p, got) == 0) {
		exif_set_upright(p, &upright.exif);
		e = buf_put(out, p, got) < 0 ? ERR_NOMEM : 1;
	}
	/* Otherwise the image holds coefficients that a decoder accepts and an encoder has no codes for. */
	tjFree(p);
	return e;
}
