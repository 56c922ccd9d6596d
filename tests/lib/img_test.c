/* img_test - pictures there and back, grey and colour, sizes that lie, bytes that are cut or changed. */
#include "base/err.h"
#include "data/img.h"
#include "pics.h"
#include "tap.h"

static struct img_codec *k;

static void
test_png(uint32_t c, uint32_t h, uint32_t w)
{
	uint8_t *p = malloc((size_t)c * h * w), *copy;
	struct img im = { p, c, h, w }, back;
	struct buf b = { 0 };
	size_t same = 0;

	pics_fill(p, c, h, w, 3);
	is(img_encode_png(&im, &b), 0, "%ux%ux%u to PNG", w, h, c);
	is(img_decode(k, b.p, b.n, 0, &back), 0, "and back");
	ok(back.c == c && back.h == h && back.w == w && memcmp(back.p, p, (size_t)c * h * w) == 0, "the same pixels");
	is(img_decode(k, b.p, b.n, 4 - c, &back), 0, "to the other kind");
	ok(back.c == 4 - c, "it is of that kind");
	for (size_t i = 0; i < (size_t)h * w; i++)
		if (c == 1)
			same += back.p[i * 3] == p[i] && back.p[i * 3 + 1] == p[i] && back.p[i * 3 + 2] == p[i];
		else
			same += abs((int)back.p[i] - (int)(0.299 * p[i * 3] + 0.587 * p[i * 3 + 1] + 0.114 * p[i * 3 + 2])) <= 1;
	is(same, h * w, "with its pixels");
	/* The last four bytes are the checksum of an empty chunk. */
	for (size_t n = 0; n < b.n - 4; n++) {
		copy = malloc(n + 1);
		memcpy(copy, b.p, n);
		if (img_decode(k, copy, n, c, &back) == 0) {
			ok(0, "cut after %zu of %zu bytes it is taken", n, b.n);
			n = b.n;
		}
		free(copy);
	}
	ok(1, "cut anywhere it is refused");
	buf_free(&b);
	free(p);
}

/* Smooth, so that JPEG keeps it. */
static void
test_jpeg(uint32_t c)
{
	uint8_t p[40 * 30 * 3];
	struct img im = { p, c, 30, 40 }, back;
	struct buf b = { 0 };
	int far = 0;

	for (uint32_t y = 0; y < 30; y++)
		for (uint32_t x = 0; x < 40; x++)
			for (uint32_t i = 0; i < c; i++)
				p[(y * 40 + x) * c + i] = (uint8_t)(x * 3 + y * 2 + i * 20);
	is(img_encode_jpeg(k, &im, 95, false, &b), 0, "%u channels to JPEG", c);
	is(img_decode(k, b.p, b.n, 0, &back), 0, "and back");
	ok(back.c == c && back.h == 30 && back.w == 40, "of the same size");
	for (uint32_t i = 0; i < 40 * 30 * c; i++)
		far += abs(back.p[i] - p[i]) > 12;
	is(far, 0, "the pixels are near");
	is(img_decode(k, b.p, b.n, 4 - c, &back), 0, "to the other kind");
	ok(back.c == 4 - c && back.h == 30, "it is of that kind");
	is(img_decode(k, b.p, b.n / 2, 0, &back), ERR_FORMAT, "half of it is refused");
	is(img_decode(k, b.p, b.n - 20, 0, &back), ERR_FORMAT, "so is one without its last bytes");
	is(img_decode(k, b.p, 100, 0, &back), ERR_FORMAT, "and a piece of its head");
	is(img_decode(k, b.p, b.n, 0, &back), 0, "which does not spoil the next one");
	buf_free(&b);
}

/* A head that claims many pixels is believed by nobody: the limit is looked at first. */
static void
test_lies(void)
{
	uint8_t p[16 * 16];
	struct img im = { p, 1, 16, 16 }, out;
	struct buf png = { 0 }, jpeg = { 0 };
	struct img_codec *small;

	pics_fill(p, 1, 16, 16, 1);
	img_encode_png(&im, &png);
	img_encode_jpeg(k, &im, 90, false, &jpeg);
	is(img_codec_new(&small, 255), 0, "a codec for 255 pixels");
	is(img_decode(small, png.p, png.n, 1, &out), ERR_LIMIT, "PNG: 256 are refused");
	is(img_decode(small, jpeg.p, jpeg.n, 1, &out), ERR_LIMIT, "JPEG: 256 are refused");
	img_codec_free(small);
	for (size_t i = 0; i + 9 < jpeg.n; i++)
		if (jpeg.p[i] == 0xff && jpeg.p[i + 1] == 0xc0)
			memset(jpeg.p + i + 5, 0xf0, 4);
	is(img_decode(k, jpeg.p, jpeg.n, 1, &out), ERR_LIMIT, "JPEG: 61680x61680 are refused");
	is(img_decode(k, (const uint8_t *)"BM", 2, 1, &out), ERR_NOTSUP, "another format");
	is(img_decode(k, (const uint8_t *)"", 0, 1, &out), ERR_NOTSUP, "nothing");
	im.w = im.h = 1u << 15;
	is(img_encode_png(&im, &png), ERR_LIMIT, "too large to encode");
	buf_free(&png);
	buf_free(&jpeg);
}

int
main(void)
{
	img_codec_new(&k, IMG_PIXELS);
	test_png(1, 28, 28);
	test_png(3, 32, 32);
	test_png(3, 1, 57);
	test_jpeg(1);
	test_jpeg(3);
	test_lies();
	img_codec_free(k);
	return done();
}
