/* transcode_planes_test - JPEGs resized by their planes, near exact sums and near resizing in RGB. */
#include "base/err.h"
#include "image/transcode.h"
#include "image/jpeg/img_jpeg.h"
#include "photo.h"
#include "tap.h"

static struct img_codec *codec;

static struct img
packed(const struct transcode_opt *opt, const struct buf *in, struct buf *out, uint32_t c)
{
	struct img pic = { 0 };
	const uint8_t *p;
	struct transcode *k;
	size_t n;

	out->n = 0;
	if (transcode_new(opt, &k) < 0 || transcode_encoded(k, in->p, in->n, &p, &n) < 0 || buf_put(out, p, n) < 0 ||
	    img_decode(codec, out->p, out->n, c, &pic) < 0)
		printf("# %s\n", err_line());
	transcode_free(k);
	return pic;
}

/* The weight of input pixel j of n in output pixel i of out: the exact mean (area), or Keys' cubic. */
static double
share(int cubic, uint32_t n, uint32_t out, uint32_t i, uint32_t j)
{
	double scale = (double)n / out, x = fabs((j + 0.5 - (i + 0.5) * scale) / fmax(scale, 1));

	if (!cubic)
		return fmax(0, fmin(j + 1.0, (i + 1) * scale) - fmax(j, i * scale));
	return x < 1 ? 1.5 * x * x * x - 2.5 * x * x + 1 : x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0;
}

/* Resizes luma by plain sums in doubles, columns first. */
static struct img
exact(const struct img *in, int cubic, uint32_t h, uint32_t w)
{
	double *t = calloc((size_t)in->h * w, sizeof(*t));
	uint8_t *p = malloc((size_t)h * w);

	for (uint32_t x = 0; x < w; x++) {
		double all = 0;

		for (uint32_t j = 0; j < in->w; j++) {
			double s = share(cubic, in->w, w, x, j);

			all += s;
			for (uint32_t y = 0; s != 0 && y < in->h; y++)
				t[y * w + x] += s * in->p[y * in->w + j];
		}
		for (uint32_t y = 0; y < in->h; y++)
			t[y * w + x] /= all;
	}
	for (uint32_t y = 0; y < h; y++)
		for (uint32_t x = 0; x < w; x++) {
			double all = 0, sum = 0;

			for (uint32_t j = 0; j < in->h; j++) {
				double s = share(cubic, in->h, h, y, j);

				all += s;
				sum += s * t[j * w + x];
			}
			p[y * w + x] = (uint8_t)(fmin(fmax(sum / all, 0), 255) + 0.5);
		}
	free(t);
	return (struct img){ p, 1, h, w };
}

/* Fine waves in luma and slow ones in chroma, which show a shift of the planes against each other. */
static struct img
waves(uint32_t c, uint32_t h, uint32_t w)
{
	uint8_t *p = malloc((size_t)c * h * w);

	for (uint32_t y = 0; y < h; y++)
		for (uint32_t x = 0; x < w; x++)
			for (uint32_t k = 0; k < c; k++)
				p[((size_t)y * w + x) * c + k] = (uint8_t)(128 + 30 * sin(x * 0.9) * sin(y * 0.7) +
				    60 * sin(x * 0.07 + 2 * k) * cos(y * 0.06 + k));
	return (struct img){ p, c, h, w };
}

/*
 * Compares luma of the result with exact sums of the source's.  The difference is JPEG's own loss at quality 99, the
 * resizer's rounding and, if the image is decoded smaller, the difference between the DCT's mean and the filter.
 */
static void
test_exact(const char *what, struct img im, uint32_t side, enum resize_inter inter, double bound)
{
	uint32_t h = im.h, w = im.w;
	struct img luma, got, want;
	struct transcode_opt opt = { .resize = side, .inter = inter, .quality = 99 };
	struct buf b = { 0 }, out = { 0 };
	double near;

	photo_jpeg(&im, TJSAMP_420, 95, 0, &b);
	if (img_decode(codec, b.p, b.n, 1, &luma) < 0)
		abort();
	want = exact(&luma, inter == RESIZE_CUBIC, side, side * w / h);
	got = packed(&opt, &b, &out, 1);
	near = photo_psnr(&got, &want);
	ok(near > bound, "%s: %.1f dB from exact sums", what, near);
	photo_drop(&im);
	photo_drop(&want);
	buf_free(&b);
	buf_free(&out);
}

/* Decodes one plane of a JPEG. */
static struct img
plane_of(const struct buf *b, unsigned i, struct buf *room)
{
	unsigned shrink[3] = { 1, 1, 1 };
	struct resize_plane plane[3];
	struct img_jpeg_head head;
	struct img_jpeg *j;
	uint8_t *p;

	if (img_jpeg_new(&j) < 0 || img_jpeg_head(j, b->p, b->n, IMG_PIXELS, &head) < 0 ||
	    img_jpeg_planes(j, b->p, b->n, &head, shrink, room, plane) < 0)
		abort();
	img_jpeg_free(j);
	p = malloc((size_t)plane[i].h * plane[i].w);
	for (uint32_t y = 0; y < plane[i].h; y++)
		memcpy(p + y * plane[i].w, plane[i].p + y * plane[i].stride, plane[i].w);
	return (struct img){ p, 1, plane[i].h, plane[i].w };
}

/* Compares dense chroma, which is decoded smaller than luma, with exact sums of the whole plane. */
static void
test_chroma(uint32_t h, uint32_t w, uint32_t side, double bound)
{
	struct transcode_opt opt = { .resize = side, .inter = RESIZE_CUBIC, .quality = 99 };
	struct buf b = { 0 }, out = { 0 }, room = { 0 };
	uint8_t *p = malloc((size_t)h * w * 3);
	struct img im = { p, 3, h, w };

	for (uint32_t y = 0; y < h; y++)
		for (uint32_t x = 0; x < w; x++)
			for (uint32_t k = 0; k < 3; k++)
				p[(y * w + x) * 3 + k] = (uint8_t)(128 + 60 * sin(x * 0.5 + 2 * k) * cos(y * 0.45 + k) +
				    30 * sin(x * 0.05 - k));
	photo_jpeg(&im, TJSAMP_444, 98, 0, &b);
	packed(&opt, &b, &out, 0);
	for (unsigned i = 1; i < 3; i++) {
		struct img from = plane_of(&b, i, &room), got = plane_of(&out, i, &room), want;
		double near;

		want = exact(&from, 1, got.h, got.w);
		near = photo_psnr(&got, &want);
		ok(near > bound,
		    "dense chroma, %ux%u at %u, plane %u: %.1f dB from exact sums", w, h, side, i, near);
		photo_drop(&from);
		photo_drop(&got);
		photo_drop(&want);
	}
	photo_drop(&im);
	buf_free(&b);
	buf_free(&out);
	buf_free(&room);
}

/* Compares with resizing in RGB, which a PNG result takes; its chroma is halved afterwards, too. */
static void
test_rgb(const char *what, uint32_t c, int sampling, uint32_t h, uint32_t w, const struct transcode_opt *how, double bound)
{
	struct img im = waves(c, h, w), rgb, got;
	struct transcode_opt opt = *how;
	struct buf b = { 0 }, out = { 0 };
	double near;

	photo_jpeg(&im, sampling, 95, 0, &b);
	opt.quality = 99;
	opt.encoding = TRANSCODE_PNG;
	got = packed(&opt, &b, &out, 0);
	out.n = 0;
	if (img_encode_jpeg(codec, &got, 99, false, &out) < 0 || img_decode(codec, out.p, out.n, 0, &got) < 0)
		abort();
	rgb = photo_copy(&got);
	opt.encoding = TRANSCODE_JPEG;
	got = packed(&opt, &b, &out, 0);
	near = photo_psnr(&got, &rgb);
	ok(near > bound, "%s: %.1f dB from resizing in RGB", what, near);
	photo_drop(&im);
	photo_drop(&rgb);
	buf_free(&b);
	buf_free(&out);
}

/* Images that aliasing and the order of rounding show: lines of letters, checkerboards, a zone plate, noise. */
static uint8_t
hard_pixel(unsigned which, uint32_t y, uint32_t x)
{
	uint32_t cell = (y / 13 * 4099 + x / 7) * 2654435761u, at = y % 13 / 2 * 3 + x % 7 / 2;
	double r = hypot(y - 600.0, x - 800.0);

	switch (which) {
	case 0: return y % 13 > 9 || x % 7 > 5 || cell >> 30 == 0 || !(cell >> at & 1) ? 255 : 0;
	case 1: return (uint8_t)((x / 5 + y / 5) % 2 * 255);
	case 2: return (uint8_t)((x / 8 + y / 8) % 2 * 255);
	case 3: return (uint8_t)((x / 13 + y / 13) % 2 * 255);
	case 4: return (uint8_t)lround(127.5 + 127.5 * cos(M_PI * r * r / 1600));
	default: return (uint8_t)((y * 1600 + x) * 2654435761u >> 24);
	}
}

/*
 * A JPEG result is near the PNG result, which equals Pillow's.  With quality 100 only JPEG's own rounding is between
 * them.
 */
static void
test_hard(unsigned which, const char *filter, enum resize_inter inter)
{
	static const char *const name[] = { "letters", "squares of 5", "squares of 8", "squares of 13", "a zone plate", "noise" };
	static const uint32_t side[] = { 30, 40, 64, 128, 150, 256, 300, 500 };
	uint8_t *p = malloc((size_t)1600 * 1200 * 3), *q = p;
	struct img im = { p, 3, 1200, 1600 };
	struct buf b = { 0 }, out = { 0 };

	for (uint32_t y = 0; y < im.h; y++)
		for (uint32_t x = 0; x < im.w; x++)
			for (uint32_t k = 0; k < 3; k++)
				*q++ = hard_pixel(which, y, x);
	photo_jpeg(&im, TJSAMP_420, 95, 0, &b);
	for (size_t i = 0; i < sizeof(side) / sizeof(*side); i++) {
		struct transcode_opt opt = { .resize = side[i], .inter = inter, .encoding = TRANSCODE_PNG };
		struct img png = packed(&opt, &b, &out, 1), want = photo_copy(&png), got;
		double near;

		opt.encoding = TRANSCODE_JPEG;
		opt.quality = 99;
		got = packed(&opt, &b, &out, 1);
		near = photo_psnr(&got, &want);
		ok(near > 45, "%s, %s at %u: quality 99 is %.1f dB from PNG", name[which], filter, side[i], near);
		opt.quality = 100;
		got = packed(&opt, &b, &out, 1);
		near = photo_psnr(&got, &want);
		ok(near > 56, "%s, %s at %u: quality 100 is %.1f dB from PNG", name[which], filter, side[i], near);
		photo_drop(&want);
	}
	photo_drop(&im);
	buf_free(&b);
	buf_free(&out);
}

int
main(void)
{
	static const struct { const char *name; int sampling; } kind[] = {
		{ "4:4:4", TJSAMP_444 }, { "4:2:2", TJSAMP_422 }, { "4:4:0", TJSAMP_440 }, { "4:2:0", TJSAMP_420 },
		{ "4:1:1", TJSAMP_411 },
	};
	struct transcode_opt smaller = { .resize = 129, .inter = RESIZE_CUBIC };
	struct transcode_opt cut = { .resize = 121, .crop = true, .inter = RESIZE_CUBIC };
	struct transcode_opt tiny = { .resize = 40, .inter = RESIZE_CUBIC }, larger = { .resize = 301, .inter = RESIZE_CUBIC };

	img_codec_new(IMG_PIXELS, &codec);
	for (unsigned which = 0; which < 6; which++) {
		test_hard(which, "cubic", RESIZE_CUBIC);
		test_hard(which, "nearest", RESIZE_NEAREST);
		test_hard(which, "area", RESIZE_AREA);
	}
	test_exact("cubic", photo_new(3, 375, 500), 256, RESIZE_CUBIC, 53);
	test_exact("area", photo_new(3, 375, 500), 256, RESIZE_AREA, 53);
	for (uint32_t side = 40; side <= 400; side += 40) {
		char what[64];

		snprintf(what, sizeof(what), "cubic, fine waves at %u", side);
		test_exact(what, waves(3, 600, 800), side, RESIZE_CUBIC, 52);
	}
	test_chroma(400, 600, 256, 48);
	test_chroma(400, 600, 148, 48);
	for (size_t i = 0; i < sizeof(kind) / sizeof(*kind); i++) {
		test_rgb(kind[i].name, 3, kind[i].sampling, 201, 255, &smaller, 46);
		test_rgb("its centre", 3, kind[i].sampling, 201, 255, &cut, 46);
		test_rgb("at 1/4", 3, kind[i].sampling, 201, 255, &tiny, 42);
		test_rgb("enlarged", 3, kind[i].sampling, 201, 255, &larger, 46);
	}
	test_rgb("grey", 1, 0, 201, 255, &smaller, 60);
	test_rgb("a column", 3, TJSAMP_420, 201, 1, &(struct transcode_opt){ .resize = 2, .inter = RESIZE_CUBIC }, 44);
	img_codec_free(codec);
	return done();
}
