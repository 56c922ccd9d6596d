/* transcode_test - images kept, made upright, resized, cropped, recoloured, encoded again, refused. */
#include "base/err.h"
#include "image/transcode.h"
#include "image/orient.h"
#include "photo.h"
#include "tap.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct img_codec *codec;

/* Converts, and lends the result's bytes until the next call with the same options. */
static int
convert(const struct transcode_opt *opt, const struct buf *in, struct buf *out)
{
	const uint8_t *p;
	struct transcode *k;
	size_t n;
	int e;

	out->n = 0;
	if ((e = transcode_new(opt, &k)) < 0)
		return e;
	if ((e = transcode_encoded(k, in->p, in->n, &p, &n)) == 0)
		e = p == in->p ? 1 : buf_put(out, p, n);
	transcode_free(k);
	return e;
}

static struct img
decoded(const struct buf *b, uint32_t c)
{
	struct img out = { 0 };

	if (img_decode(codec, b->p, b->n, c, &out) < 0)
		printf("# %s\n", err_line());
	return out;
}

static enum img_format
format_of(const struct buf *b)
{
	struct img_head h;

	return img_head(codec, b->p, b->n, &h) == 0 ? h.format : (enum img_format)-1;
}

static void
test_kept(void)
{
	struct img im = photo_new(3, 31, 45), grey = photo_new(1, 31, 45), got, was;
	struct buf b = { 0 }, out = { 0 };
	struct transcode_opt square = { .crop = true }, colour = { .color = TRANSCODE_COLOR };

	photo_jpeg(&im, TJSAMP_422, 90, 0, &b);
	is(convert(&(struct transcode_opt){ 0 }, &b, &out), 1, "a JPEG keeps its bytes");
	is(convert(&(struct transcode_opt){ .resize = 31, .inter = RESIZE_CUBIC }, &b, &out), 1,
	    "a JPEG of the size asked for keeps its bytes");
	is(convert(&(struct transcode_opt){ .encoding = TRANSCODE_JPEG, .color = TRANSCODE_COLOR }, &b, &out), 1,
	    "a JPEG of the format and colour asked for keeps its bytes");
	is(convert(&square, &b, &out), 0,
	    "a JPEG that is not square changes if a crop is asked for");
	b.n = 0;
	photo_jpeg(&im, TJSAMP_444, 90, TJFLAG_PROGRESSIVE, &b);
	is(convert(&(struct transcode_opt){ 0 }, &b, &out), 1,
	    "a progressive JPEG keeps its bytes");
	b.n = 0;
	photo_jpeg(&grey, 0, 90, 0, &b);
	is(convert(&(struct transcode_opt){ 0 }, &b, &out), 1, "a grey JPEG keeps its bytes");
	is(convert(&colour, &b, &out), 0, "a grey JPEG changes if colour is asked for");
	is(decoded(&out, 0).c, 3, "the result has three channels");
	got = decoded(&b, 1);
	was = photo_copy(&got);
	got = decoded(&out, 1);
	ok(photo_psnr(&got, &was) > 42, "the luma of the smaller file is the same (%.1f dB)", photo_psnr(&got, &was));
	photo_drop(&was);
	b.n = 0;
	photo_jpeg(&im, TJSAMP_444, 95, 0, &b);
	is(convert(&(struct transcode_opt){ .color = TRANSCODE_GREY }, &b, &out), 0,
	    "a colour JPEG changes if grey is asked for");
	is(decoded(&out, 0).c, 1, "the result has one channel");
	for (unsigned interlace = 0; interlace < 2; interlace++) {
		b.n = 0;
		photo_png(&im, 2, 8, interlace, &b);
		is(convert(&(struct transcode_opt){ 0 }, &b, &out), 1, "a PNG keeps its bytes");
	}
	photo_drop(&im);
	photo_drop(&grey);
	buf_free(&b);
	buf_free(&out);
}

/* Sizes of whole MCUs, which are turned without loss, and others. */
static void
test_turns(uint32_t h, uint32_t w, int sampling, double bound)
{
	struct img im = photo_new(3, h, w), stored, want, got;
	struct buf b = { 0 }, out = { 0 }, again = { 0 };
	uint8_t *p = malloc((size_t)3 * h * w);

	for (unsigned turn = 1; turn <= 8; turn++) {
		struct img_head head;

		b.n = 0;
		photo_jpeg(&im, sampling, 95, 0, &b);
		photo_orient(&b, turn, turn % 2);
		is(convert(&(struct transcode_opt){ 0 }, &b, &out), turn == 1,
		    "a JPEG keeps its bytes only if upright: orientation %u of %ux%u", turn, w, h);
		if (turn == 1)
			continue;
		stored = decoded(&b, 3);
		want = (struct img){ p, 3, orient_swaps(turn) ? w : h, orient_swaps(turn) ? h : w };
		orient_pixels(turn, stored.p, h, w, 3, (size_t)w * 3, p, (size_t)want.w * 3);
		got = decoded(&out, 3);
		ok(photo_psnr(&got, &want) > bound,
		    "the result is upright (%.1f dB)", photo_psnr(&got, &want));
		is(img_head(codec, out.p, out.n, &head), 0, "the result has a valid header");
		is(head.orientation, 1, "the result's orientation is 1");
		is(convert(&(struct transcode_opt){ 0 }, &out, &again), 1,
		    "a second transcoding keeps the bytes");
	}
	photo_drop(&im);
	free(p);
	buf_free(&b);
	buf_free(&out);
	buf_free(&again);
}

/* Resizing and cropping give the same result for every orientation. */
static void
test_turned_and_sized(int png)
{
	struct img im = photo_new(3, 121, 187), got, want = { 0 };
	struct transcode_opt opt = { .resize = 61, .crop = true, .inter = RESIZE_CUBIC, .quality = 100 };
	struct buf b = { 0 }, out = { 0 };
	uint8_t *p = malloc((size_t)3 * im.h * im.w);

	if (png)
		opt.encoding = TRANSCODE_PNG;
	for (unsigned turn = 1; turn <= 8; turn++) {
		/* Stores the image as a camera in that orientation does: 6 and 8 are inverse, others are their own inverse. */
		unsigned back = turn == 6 ? 8 : turn == 8 ? 6 : turn;
		struct img held = { p, 3, orient_swaps(back) ? im.w : im.h, orient_swaps(back) ? im.h : im.w };

		orient_pixels(back, im.p, im.h, im.w, 3, (size_t)im.w * 3, p, (size_t)held.w * 3);
		b.n = 0;
		photo_jpeg(&held, TJSAMP_444, 100, 0, &b);
		photo_orient(&b, turn, 0);
		is(convert(&opt, &b, &out), 0,
		    "a JPEG of orientation %u is resized and cropped", turn);
		is(format_of(&out), png ? IMG_PNG : IMG_JPEG,
		    "the result has the size %s", png ? "PNG" : "JPEG");
		got = decoded(&out, 3);
		if (turn == 1) {
			want = photo_copy(&got);
			continue;
		}
		ok(photo_psnr(&got, &want) > 43,
		    "the result matches the upright image (%.1f dB)", photo_psnr(&got, &want));
	}
	photo_drop(&want);
	photo_drop(&im);
	free(p);
	buf_free(&b);
	buf_free(&out);
}

static void
test_size(uint32_t h, uint32_t w, uint32_t resize, bool crop, uint32_t wh, uint32_t ww)
{
	struct transcode_opt opt = { .resize = resize, .crop = crop, .inter = RESIZE_CUBIC };
	struct img im = photo_new(3, h, w), got;
	struct buf b = { 0 }, out = { 0 };

	for (int png = 0; png < 2; png++) {
		b.n = 0;
		if (png)
			photo_png(&im, 2, 8, 0, &b);
		else
			photo_jpeg(&im, TJSAMP_420, 95, 0, &b);
		is(convert(&opt, &b, &out), 0,
		    "%ux%u%s%s is transcoded", w, h, resize > 0 ? " resized" : "", crop ? " cut" : "");
		is(format_of(&out), png ? IMG_PNG : IMG_JPEG, "the result has the source's format");
		got = decoded(&out, 3);
		ok(got.h == wh && got.w == ww,
		    "the result is %ux%u, as expected %ux%u", got.w, got.h, ww, wh);
	}
	photo_drop(&im);
	buf_free(&b);
	buf_free(&out);
}

/* A crop without resizing changes no pixel. */
static void
test_cut(void)
{
	struct img im = photo_new(3, 40, 61), got;
	struct buf b = { 0 }, out = { 0 };
	size_t far = 0;

	photo_png(&im, 2, 8, 0, &b);
	is(convert(&(struct transcode_opt){ .crop = true, .inter = RESIZE_LANCZOS }, &b, &out), 0,
	    "a crop without resizing succeeds");
	got = decoded(&out, 3);
	for (uint32_t y = 0; y < 40; y++)
		far += memcmp(got.p + y * 120, im.p + (y * 61 + 10) * 3, 120) != 0;
	ok(got.h == 40 && got.w == 40 && far == 0, "the crop keeps the centre's pixels");
	photo_drop(&im);
	buf_free(&b);
	buf_free(&out);
}

static void
test_odd(void)
{
	struct img im = photo_new(3, 50, 70), ink = photo_new(4, 50, 70), got, grey = photo_new(1, 50, 70);
	struct buf b = { 0 }, out = { 0 };
	struct img_head head;

	photo_jpeg(&ink, TJSAMP_444, 97, 0, &b);
	is(convert(&(struct transcode_opt){ .pass = true }, &b, &out), 1,
	    "CMYK keeps its bytes with pass");
	is(convert(&(struct transcode_opt){ 0 }, &b, &out), 0, "CMYK is converted");
	got = decoded(&out, 0);
	is(got.c, 3, "the result has three channels");
	ok(img_head(codec, out.p, out.n, &head) == 0 && !head.odd, "the result is not odd");
	for (unsigned c = 1; c <= 3; c += 2) {
		b.n = 0;
		photo_png(c == 1 ? &grey : &im, c == 1 ? 0 : 2, 16, 0, &b);
		is(convert(&(struct transcode_opt){ 0 }, &b, &out), 0,
		    "16 bits a channel are converted");
		got = decoded(&out, 0);
		ok(got.c == c && photo_psnr(&got, c == 1 ? &grey : &im) > 99,
		    "the upper eight bits are kept");
		ok(img_head(codec, out.p, out.n, &head) == 0 && !head.odd && head.format == IMG_PNG,
		    "the result is a PNG");
	}
	for (int lossless = 0; lossless < 2; lossless++) {
		b.n = 0;
		photo_webp(&im, lossless, &b);
		is(convert(&(struct transcode_opt){ 0 }, &b, &out), 0, "WebP is transcoded");
		is(format_of(&out), lossless ? IMG_PNG : IMG_JPEG,
		    "WebP becomes %s", lossless ? "PNG" : "JPEG");
		got = decoded(&out, 0);
		ok(photo_psnr(&got, &im) > (lossless ? 99 : 24),
		    "the image is the same (%.1f dB)", photo_psnr(&got, &im));
		is(convert(&(struct transcode_opt){ .pass = true }, &b, &out), 1,
		    "WebP keeps its bytes with pass");
	}
	photo_drop(&im);
	photo_drop(&ink);
	photo_drop(&grey);
	buf_free(&b);
	buf_free(&out);
}

static void
test_raw(void)
{
	struct img im = photo_new(3, 32, 32), got;
	struct buf b = { 0 };
	const uint8_t *p;
	struct transcode *k;
	size_t n;

	transcode_new(&(struct transcode_opt){ 0 }, &k);
	is(transcode_raw(k, &im, &p, &n), 0, "raw pixels are transcoded");
	buf_put(&b, p, n);
	got = decoded(&b, 0);
	ok(format_of(&b) == IMG_PNG && photo_psnr(&got, &im) > 99, "raw pixels become a PNG");
	transcode_free(k);
	transcode_new(&(struct transcode_opt){ .color = TRANSCODE_GREY, .resize = 20, .inter = RESIZE_AUTO,
	    .encoding = TRANSCODE_JPEG }, &k);
	is(transcode_raw(k, &im, &p, &n), 0, "raw pixels become what is asked for");
	b.n = 0;
	buf_put(&b, p, n);
	got = decoded(&b, 0);
	ok(format_of(&b) == IMG_JPEG && got.c == 1 && got.h == 20,
	    "the result is a smaller grey JPEG");
	transcode_free(k);
	photo_drop(&im);
	buf_free(&b);
}

static void
test_refused(void)
{
	struct img im = photo_new(3, 64, 64);
	struct buf b = { 0 }, out = { 0 };
	struct transcode_opt bad[] = { { .pass = true, .resize = 3 }, { .pass = true, .crop = true },
		{ .pass = true, .color = TRANSCODE_GREY },
		{ .pass = true, .encoding = TRANSCODE_PNG }, { .quality = 101 }, { .quality = -1 } };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		is(convert(&bad[i], &b, &out), ERR_ARG,
		    "transcode_new refuses options that contradict each other");
	photo_jpeg(&im, TJSAMP_420, 90, 0, &b);
	is(convert(&(struct transcode_opt){ .pixels = 4096 }, &b, &out), 1,
	    "an image of as many pixels as allowed passes");
	is(convert(&(struct transcode_opt){ .pixels = 4095 }, &b, &out), ERR_PIXELS,
	    "an image of one more pixel is refused");
	is(convert(&(struct transcode_opt){ .pixels = 4096, .resize = 65 }, &b, &out), ERR_PIXELS,
	    "an image that grows beyond the limit is refused");
	is(convert(&(struct transcode_opt){ .resize = UINT32_MAX }, &b, &out), ERR_PIXELS,
	    "a huge size is refused");
	b.n = 0;
	photo_webp(&im, 1, &b);
	is(convert(&(struct transcode_opt){ .pixels = 4095 }, &b, &out), ERR_PIXELS,
	    "the limit holds for WebP");
	b.n = 0;
	photo_png(&im, 2, 16, 1, &b);
	is(convert(&(struct transcode_opt){ .pixels = 4095 }, &b, &out), ERR_PIXELS,
	    "the limit holds for PNG");
	photo_drop(&im);
	buf_free(&b);
	buf_free(&out);
}

/* Where a crop starts for each margin: MXNet's (w - h) // 2, and Python's round((w - h) / 2). */
static void
test_rounding(void)
{
	static const uint32_t down[] = { 0, 0, 1, 1, 2, 2, 3, 3 }, even[] = { 0, 0, 1, 2, 2, 2, 3, 4 };
	uint8_t p[16 * 24];
	struct img im = { .p = p, .c = 1 };

	for (uint32_t m = 0; m < 8; m++)
		for (int tall = 0; tall < 2; tall++)
			for (int round = 0; round < 2; round++) {
				struct transcode_opt opt = { .crop = true, .crop_even = round != 0 };
				struct buf b = { 0 }, out = { 0 };
				struct img got;
				int e;

				im.h = 16 + (tall ? m : 0);
				im.w = 16 + (tall ? 0 : m);
				for (uint32_t i = 0; i < im.h * im.w; i++)
					p[i] = (uint8_t)(tall ? i / im.w : i % im.w);
				if (img_encode_png(&im, &b) < 0 || (e = convert(&opt, &b, &out)) < 0 ||
				    img_decode(codec, e > 0 ? b.p : out.p, e > 0 ? b.n : out.n, 1, &got) < 0)
					abort();
				is(got.p[0], (round ? even : down)[m], "a margin of %u, rounded %s", m, round ? "to even" : "down");
				buf_free(&b);
				buf_free(&out);
			}
}

/* The memory, in KiB, that a process takes in addition to transcode an image or, without options, to check it. */
static long
memory_for(const struct buf *b, const struct transcode_opt *opt)
{
	int status;

	if (fork() == 0) {
		struct transcode *k;
		struct rusage before, after;
		const uint8_t *out;
		size_t n;

		getrusage(RUSAGE_SELF, &before);
		if (transcode_new(opt, &k) < 0 || transcode_encoded(k, b->p, b->n, &out, &n) < 0)
			_exit(255);
		getrusage(RUSAGE_SELF, &after);
		_exit((int)((after.ru_maxrss - before.ru_maxrss) >> 10) & 255);
	}
	wait(&status);
	return WIFEXITED(status) ? (long)WEXITSTATUS(status) << 10 : -1;
}

static void
test_memory(const char *name, const struct buf *b, const struct transcode_opt *opt)
{
	long took;

	if (getenv("SAN") != NULL && *getenv("SAN") != 0) {
		skip("the memory for a large image is bounded", "a sanitizer takes memory of its own");
		return;
	}
	took = memory_for(b, opt);
	ok(took >= 0 && took < 20 << 10, "%s of 16 Mpixel takes %ld KiB", name, took);
}

/* Large images become the same as if all of their pixels had been resized and encoded. */
static void
test_large_one(const char *name, const struct buf *b, enum transcode_encoding to, uint32_t side)
{
	const struct transcode_opt opt = { .resize = side, .inter = RESIZE_CUBIC, .encoding = to };
	struct buf want = { 0 };
	struct transcode *k;
	struct resize *r;
	struct img all, small;
	const uint8_t *data;
	size_t n;

	test_memory(name, b, &opt);
	transcode_new(&opt, &k);
	resize_new(&r);
	is(transcode_encoded(k, b->p, b->n, &data, &n), 0, "%s is resized", name);
	if (img_decode(codec, b->p, b->n, 0, &all) < 0 ||
	    resize_img(r, RESIZE_CUBIC, &all, NULL, side * all.h / all.w, side, &small) < 0 ||
	    (to == TRANSCODE_PNG ? img_encode_png(&small, &want) : img_encode_jpeg(codec, &small, 95, false, &want)) < 0)
		abort();
	ok(n == want.n && memcmp(data, want.p, n) == 0, "%s: resized row by row it has the same bytes", name);
	ok(transcode_encoded(k, b->p, b->n - 40, &data, &n) < 0, "%s that ends early is refused: %s", name, err_line());
	buf_free(&want);
	transcode_free(k);
	resize_free(r);
}

/* Large JPEGs and PNGs are resized in little memory. */
static void
test_large(void)
{
	const uint32_t h = 4101, w = IMG_LARGE / 4100;
	uint8_t *p = malloc((size_t)h * w * 3), *q = p;
	struct buf png = { 0 }, jpeg = { 0 };
	struct img im = { p, 3, h, w };

	for (uint32_t y = 0; y < h; y++)
		for (uint32_t x = 0; x < w; x++)
			for (uint32_t k = 0; k < 3; k++)
				*q++ = (uint8_t)((x / 50 + y / 50 * 7 + k) * 31);
	photo_jpeg(&im, TJSAMP_420, 90, 0, &jpeg);
	im.c = 1;
	img_encode_png(&im, &png);
	free(p);
	test_memory("checking a PNG", &png, &(struct transcode_opt){ 0 });
	test_large_one("PNG to PNG", &png, TRANSCODE_PNG, 60);
	test_large_one("PNG to JPEG", &png, TRANSCODE_JPEG, 400);
	test_large_one("JPEG to PNG", &jpeg, TRANSCODE_PNG, 60);
	test_large_one("JPEG to JPEG at a quarter", &jpeg, TRANSCODE_JPEG, 1000);
	test_memory("JPEG to JPEG decoded smaller", &jpeg, &(struct transcode_opt){ .resize = 60, .inter = RESIZE_CUBIC });
	buf_free(&png);
	buf_free(&jpeg);
}

int
main(void)
{
	img_codec_new(IMG_PIXELS, &codec);
	test_kept();
	test_turns(32, 48, TJSAMP_420, 45);
	test_turns(40, 24, TJSAMP_444, 45);
	test_turns(31, 45, TJSAMP_420, 36);
	test_turns(32, 44, TJSAMP_422, 36);
	test_turns(31, 45, TJSAMP_444, 36);
	test_turns(32, 44, TJSAMP_440, 36);
	test_turned_and_sized(0);
	test_turned_and_sized(1);
	test_size(60, 91, 32, false, 32, 48);
	test_size(91, 60, 32, false, 48, 32);
	test_size(60, 60, 77, false, 77, 77);
	test_size(33, 100, 64, true, 64, 64);
	test_size(33, 100, 0, true, 33, 33);
	test_size(400, 601, 40, false, 40, 60);
	test_cut();
	test_odd();
	test_rounding();
	test_raw();
	test_refused();
	test_large();
	img_codec_free(codec);
	return done();
}
