/* img_test - images encoded and decoded, grey and colour, wrong sizes, truncated and changed bytes. */
#include "base/err.h"
#include "image/img.h"
#include "photo.h"
#include "pics.h"
#include "tap.h"

#include <jpeglib.h>

static struct img_codec *k;

static void
test_png(uint32_t c, uint32_t h, uint32_t w)
{
	uint8_t *p = malloc((size_t)c * h * w), *copy;
	struct img im = { p, c, h, w }, back;
	struct buf b = { 0 };
	size_t same = 0;

	pics_fill(p, c, h, w, 3);
	is(img_encode_png(&im, &b), 0, "img_encode_png encodes %ux%ux%u", w, h, c);
	is(img_decode(k, b.p, b.n, 0, &back), 0, "img_decode decodes that PNG");
	ok(back.c == c && back.h == h && back.w == w && memcmp(back.p, p, (size_t)c * h * w) == 0,
	    "the pixels are equal");
	is(img_decode(k, b.p, b.n, 4 - c, &back), 0,
	    "img_decode decodes PNG to the other number of channels");
	ok(back.c == 4 - c, "the result has that number of channels");
	for (size_t i = 0; i < (size_t)h * w; i++)
		if (c == 1)
			same += back.p[i * 3] == p[i] && back.p[i * 3 + 1] == p[i] && back.p[i * 3 + 2] == p[i];
		else
			same += abs((int)back.p[i] - (int)(0.299 * p[i * 3] + 0.587 * p[i * 3 + 1] + 0.114 * p[i * 3 + 2])) <= 1;
	is(same, h * w, "grey and colour pixels correspond");
	/* The last four bytes are the checksum of an empty chunk. */
	for (size_t n = 0; n < b.n - 4; n++) {
		copy = malloc(n + 1);
		memcpy(copy, b.p, n);
		if (img_decode(k, copy, n, c, &back) == 0) {
			ok(0, "a PNG cut after %zu of %zu bytes decodes", n, b.n);
			n = b.n;
		}
		free(copy);
	}
	ok(1, "img_decode refuses a PNG cut anywhere");
	buf_free(&b);
	free(p);
}

/* The image is smooth, so that JPEG changes it little. */
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
	is(img_encode_jpeg(k, &im, 95, false, &b), 0, "img_encode_jpeg encodes %u channels", c);
	is(img_decode(k, b.p, b.n, 0, &back), 0, "img_decode decodes that JPEG");
	ok(back.c == c && back.h == 30 && back.w == 40, "the JPEG has the same size");
	for (uint32_t i = 0; i < 40 * 30 * c; i++)
		far += abs(back.p[i] - p[i]) > 12;
	is(far, 0, "the JPEG's pixels are close");
	is(img_decode(k, b.p, b.n, 4 - c, &back), 0,
	    "img_decode decodes JPEG to the other number of channels");
	ok(back.c == 4 - c && back.h == 30, "the result has that number of channels");
	is(img_decode(k, b.p, b.n / 2, 0, &back), ERR_FORMAT, "img_decode refuses half a JPEG");
	is(img_decode(k, b.p, b.n - 20, 0, &back), ERR_FORMAT,
	    "img_decode refuses a JPEG without its last bytes");
	is(img_decode(k, b.p, 100, 0, &back), ERR_FORMAT,
	    "img_decode refuses a piece of a JPEG's header");
	is(img_decode(k, b.p, b.n, 0, &back), 0, "a refused JPEG does not affect the next one");
	buf_free(&b);
}

/* The check and the decoder refuse truncated images, also after a warning about something harmless. */
static void
test_cut(const char *what, const struct buf *whole)
{
	struct img back;
	unsigned taken = 0;

	is(img_check(k, whole->p, whole->n), 0, "img_check accepts %s", what);
	is(img_decode(k, whole->p, whole->n, 0, &back), 0, "img_decode decodes it");
	for (unsigned i = 0; i < 20; i++) {
		size_t n = whole->n * i / 20;
		uint8_t *p = malloc(n + 1);

		memcpy(p, whole->p, n);
		taken += img_check(k, p, n) == 0;
		taken += img_decode(k, p, n, 0, &back) == 0;
		free(p);
	}
	/* The last four bytes of a PNG are the checksum of an empty chunk, which may be missing. */
	taken += img_check(k, whole->p, whole->n - 6) == 0;
	taken += img_decode(k, whole->p, whole->n - 6, 0, &back) == 0;
	is(taken, 0, "img_check refuses it cut at any twentieth");
}

static void
test_cuts(void)
{
	static const uint8_t junk[] = { 7, 7, 7 };
	static const int flags[] = { 0, TJFLAG_PROGRESSIVE };
	struct img im = photo_new(3, 70, 90);
	struct buf b = { 0 };
	uint8_t zeros[300] = { 0 };

	for (int i = 0; i < 2; i++) {
		b.n = 0;
		photo_jpeg(&im, TJSAMP_420, 90, flags[i], &b);
		test_cut(i == 0 ? "a JPEG" : "a progressive one", &b);
		/* Bytes after the first segment give the warning "extraneous bytes before marker". */
		photo_insert(&b, 4u + b.p[5], junk, sizeof(junk));
		test_cut("one with bytes too many", &b);
		buf_put(&b, zeros, sizeof(zeros));
		is(img_check(k, b.p, b.n), 0, "img_check accepts bytes after the end");
		memset(b.p + b.n - 600, 0, 300);
		is(img_check(k, b.p, b.n), ERR_FORMAT, "img_check refuses a gap before the end");
	}
	for (int i = 0; i < 2; i++) {
		b.n = 0;
		photo_webp(&im, i, &b);
		test_cut(i == 0 ? "a WebP" : "one without loss", &b);
	}
	free((void *)(uintptr_t)im.p);
	buf_free(&b);
}

/* All kinds of PNG are decoded, on the plain path and by libspng. */
static void
test_png_kinds(void)
{
	static const struct { unsigned type, c, depth, interlace; } kind[] = {
		{ 0, 1, 8, 0 }, { 2, 3, 8, 0 }, { 4, 2, 8, 0 }, { 6, 4, 8, 0 }, { 0, 1, 8, 1 }, { 2, 3, 8, 1 }, { 4, 2, 8, 1 },
		{ 6, 4, 8, 1 }, { 0, 1, 16, 0 }, { 2, 3, 16, 0 }, { 4, 2, 16, 0 }, { 6, 4, 16, 0 },
	};
	struct buf b = { 0 };

	for (size_t i = 0; i < sizeof(kind) / sizeof(*kind); i++) {
		struct img im = photo_new(kind[i].c, 61, 83), back;
		uint8_t *want = malloc(61 * 83 * 3);

		b.n = 0;
		photo_png(&im, kind[i].type, kind[i].depth, kind[i].interlace, &b);
		is(img_check(k, b.p, b.n), 0,
		    "img_decode decodes a PNG of type %u, %u bits%s", kind[i].type, kind[i].depth, kind[i].interlace ? ", interlaced" : "");
		for (uint32_t c = 1; c <= 3; c += 2) {
			img_convert_channels(im.p, kind[i].c, 61 * 83, c, want);
			is(img_decode(k, b.p, b.n, c, &back), 0,
			    "img_decode converts it to %u channels", c);
			ok(back.h == 61 && back.w == 83 && back.c == c && memcmp(back.p, want, 61 * 83 * c) == 0,
			    "the pixels of the converted image are right");
		}
		test_cut("it", &b);
		free(want);
		free((void *)(uintptr_t)im.p);
	}
	buf_free(&b);
}

/* Small images are stored, and large ones compressed; the bytes depend on the pixels only. */
static void
test_png_written(void)
{
	uint8_t *flat = calloc(1, 100 * 100 * 3);
	struct img small = { flat, 3, 64, 64 }, large = { flat, 3, 64, 65 };
	struct buf a = { 0 }, b = { 0 };

	is(img_encode_png(&small, &a), 0, "img_encode_png encodes 64x64 pixels of one colour");
	ok(a.n > 64 * 64 * 3, "small images are stored in %zu bytes", a.n);
	is(img_encode_png(&small, &b), 0, "img_encode_png encodes the same image again");
	ok(a.n == b.n && memcmp(a.p, b.p, a.n) == 0, "the bytes are equal");
	b.n = 0;
	is(img_encode_png(&large, &b), 0, "img_encode_png encodes one more column");
	ok(b.n < 1000, "a larger image is compressed to %zu bytes", b.n);
	buf_free(&a);
	buf_free(&b);
	free(flat);
}

/* Any changed byte makes the check fail. */
static void
test_png_bytes(void)
{
	struct img im = photo_new(3, 15, 17), back;
	struct buf b = { 0 };
	unsigned taken = 0;

	photo_png(&im, 2, 8, 0, &b);
	for (size_t i = 0; i < b.n; i++) {
		b.p[i] ^= 16;
		taken += img_check(k, b.p, b.n) == 0;
		taken += img_decode(k, b.p, b.n, 3, &back) == 0;
		b.p[i] ^= 16;
	}
	is(taken, 0, "img_check finds every changed byte of a PNG");
	is(img_check(k, b.p, b.n), 0, "img_check accepts the unchanged PNG");
	free((void *)(uintptr_t)im.p);
	buf_free(&b);
}

/* Makes 16x16 CMYK pixels of one colour, with or without an Adobe marker. */
static void
put_cmyk(int adobe, struct buf *out)
{
	struct jpeg_compress_struct c;
	struct jpeg_error_mgr err;
	uint8_t row[16 * 4], *rows[1] = { row }, *p = NULL;
	unsigned long n = 0;

	for (int i = 0; i < 16; i++)
		memcpy(row + i * 4, "\xc8\x64\x32\x80", 4);
	c.err = jpeg_std_error(&err);
	jpeg_create_compress(&c);
	jpeg_mem_dest(&c, &p, &n);
	c.image_width = c.image_height = 16;
	c.input_components = 4;
	c.in_color_space = JCS_CMYK;
	jpeg_set_defaults(&c);
	jpeg_set_quality(&c, 100, TRUE);
	c.write_Adobe_marker = adobe;
	jpeg_start_compress(&c, TRUE);
	for (int i = 0; i < 16; i++)
		jpeg_write_scanlines(&c, rows, 1);
	jpeg_finish_compress(&c);
	jpeg_destroy_compress(&c);
	buf_put(out, p, n);
	free(p);
}

/* CMYK values are ink, or 255 - ink with an Adobe marker. */
static void
test_cmyk(void)
{
	static const int want[2][3] = { { 27, 77, 102 }, { 100, 50, 25 } };

	for (int adobe = 0; adobe < 2; adobe++) {
		struct buf b = { 0 };
		struct img back;
		int far = 0;

		put_cmyk(adobe, &b);
		is(img_decode(k, b.p, b.n, 0, &back), 0,
		    "img_decode decodes CMYK, %s", adobe ? "as Adobe stores it" : "as ink");
		for (int i = 0; i < 3; i++)
			far += abs(back.p[i] - want[adobe][i]) > 2;
		is(far, 0, "CMYK becomes RGB %u %u %u", back.p[0], back.p[1], back.p[2]);
		is(img_decode(k, b.p, b.n, 1, &back), 0, "img_decode decodes CMYK to grey");
		ok(abs(back.p[0] - (adobe ? 62 : 65)) <= 2, "CMYK becomes grey %u", back.p[0]);
		buf_free(&b);
	}
}

/* Rows as they come. */
struct rows {
	struct buf	 p;
	size_t		 row;
	unsigned	 left;	/* rows until an error; 0: none */
};

static int
keep_row(void *ctx, const uint8_t *row)
{
	struct rows *r = ctx;

	return r->left > 0 && --r->left == 0 ? ERR_STOP : buf_put(&r->p, row, r->row);
}

/* Row by row an image has the pixels of img_decode(). */
static void
test_rows(const char *name, const struct buf *b)
{
	for (uint32_t c = 1; c <= 3; c += 2) {
		struct rows rows = { .left = 0 };
		struct img_head head;
		struct img want;

		is(img_head(k, b->p, b->n, &head), 0, "%s: img_head reads the header", name);
		ok(head.by_rows, "%s can be decoded row by row", name);
		rows.row = (size_t)head.w * c;
		is(img_decode_rows(k, b->p, b->n, c, keep_row, &rows), 0, "%s: img_decode_rows decodes %u channels", name, c);
		if (img_decode(k, b->p, b->n, c, &want) < 0)
			abort();
		ok(rows.p.n == rows.row * head.h && memcmp(rows.p.p, want.p, rows.p.n) == 0,
		    "%s: the rows of %u channels equal the pixels of img_decode", name, c);
		rows.p.n = 0;
		ok(img_decode_rows(k, b->p, b->n - b->n / 3, c, keep_row, &rows) < 0, "%s cut short is refused", name);
		rows.left = 5;
		is(img_decode_rows(k, b->p, b->n, c, keep_row, &rows), ERR_STOP, "%s: an error of a row ends the decoding", name);
		buf_free(&rows.p);
	}
}

static void
test_all_rows(void)
{
	static const struct { const char *name; uint32_t c; int sampling, flags; } kind[] = {
		{ "a JPEG of 4:2:0", 3, TJSAMP_420, 0 }, { "one of 4:2:2", 3, TJSAMP_422, 0 },
		{ "one of 4:4:4", 3, TJSAMP_444, 0 }, { "one of 4:1:1", 3, TJSAMP_411, 0 }, { "a grey one", 1, TJSAMP_GRAY, 0 },
		{ "a progressive one", 3, TJSAMP_420, TJFLAG_PROGRESSIVE },
	};
	struct buf b = { 0 };

	for (size_t i = 0; i < sizeof(kind) / sizeof(*kind); i++) {
		struct img im = photo_new(kind[i].c, 71, 93);

		b.n = 0;
		photo_jpeg(&im, kind[i].sampling, 90, kind[i].flags, &b);
		test_rows(kind[i].name, &b);
		photo_drop(&im);
	}
	for (int adobe = 0; adobe < 2; adobe++) {
		b.n = 0;
		put_cmyk(adobe, &b);
		test_rows(adobe ? "CMYK as Adobe stores it" : "CMYK", &b);
	}
	b.n = 0;
	{
		struct img im = photo_new(3, 71, 93);

		photo_png(&im, 2, 8, 0, &b);
		test_rows("a PNG", &b);
		photo_drop(&im);
	}
	buf_free(&b);
}

/* The limit is checked before memory is allocated for the pixels that a header claims. */
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
	is(img_codec_new(255, &small), 0, "img_codec_new makes a codec for 255 pixels");
	is(img_decode(small, png.p, png.n, 1, &out), ERR_PIXELS,
	    "that codec refuses a PNG of 256 pixels");
	is(img_decode(small, jpeg.p, jpeg.n, 1, &out), ERR_PIXELS,
	    "that codec refuses a JPEG of 256 pixels");
	img_codec_free(small);
	for (size_t i = 0; i + 9 < jpeg.n; i++)
		if (jpeg.p[i] == 0xff && jpeg.p[i + 1] == 0xc0)
			memset(jpeg.p + i + 5, 0xf0, 4);
	is(img_decode(k, jpeg.p, jpeg.n, 1, &out), ERR_PIXELS,
	    "img_head refuses a JPEG of 61680x61680 pixels");
	is(img_decode(k, (const uint8_t *)"8BPS", 4, 1, &out), ERR_NOTSUP,
	    "img_head refuses another format");
	is_str(err_line(), "Photoshop, which is not read; convert it to PNG or JPEG", "the error names the format");
	is(img_decode(k, (const uint8_t *)"", 0, 1, &out), ERR_NOTSUP,
	    "img_head refuses empty input");
	im.w = im.h = 1u << 15;
	is(img_encode_png(&im, &png), ERR_LIMIT,
	    "img_encode_png refuses an image that is too large");
	buf_free(&png);
	buf_free(&jpeg);
}

/* Makes a JPEG the only strip of a grey TIFF of w by h pixels. */
static void
wrap_tiff(struct buf *b, uint32_t w, uint32_t h)
{
	const uint32_t tags[][3] = { { 256, 4, w }, { 257, 4, h }, { 258, 3, 8 }, { 259, 3, 7 }, { 262, 3, 1 },
	    { 273, 4, 122 }, { 277, 3, 1 }, { 278, 4, h }, { 279, 4, (uint32_t)b->n } };
	struct buf t = { 0 };

	buf_put(&t, "II*\0\10\0\0\0\11\0", 10);
	for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++) {
		const uint16_t key[] = { (uint16_t)tags[i][0], (uint16_t)tags[i][1], 1, 0 };

		buf_put(&t, key, sizeof(key));
		buf_put(&t, &tags[i][2], 4);
	}
	buf_put(&t, "\0\0\0", 4);
	buf_put(&t, b->p, b->n);
	buf_free(b);
	*b = t;
}

/* A scan of few bytes costs a pass over all pixels, so that scans times pixels are bounded in advance. */
static void
test_scans(void)
{
	static const struct { uint32_t side, extra, tiff; int e; } t[] = {
		{ 64, 400, 0, 0 }, { 64, 600, 0, ERR_LIMIT }, { 4096, 0, 0, 0 }, { 4096, 100, 0, ERR_LIMIT },
		{ 64, 60, 64, 0 }, { 4096, 0, 4096, 0 }, { 4096, 90, 4096, ERR_LIMIT }, { 4096, 90, 16, ERR_LIMIT },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		uint8_t *p = calloc(t[i].side, t[i].side), *last;
		struct buf b = { 0 };
		struct img_head head;
		size_t n, scan;

		photo_jpeg(&(struct img){ p, 1, t[i].side, t[i].side }, TJSAMP_GRAY, 90, TJFLAG_PROGRESSIVE, &b);
		for (last = b.p + b.n - 2; last[0] != 0xff || last[1] != 0xda; last--)
			;
		scan = (size_t)(b.p + b.n - 2 - last);
		n = (size_t)(last - b.p);
		for (uint32_t copy = 0; copy < t[i].extra; copy++) {
			b.n -= 2;	/* the end of the image */
			buf_room(&b, scan + 2);
			memmove(b.p + b.n, b.p + n, scan);
			b.n += scan;
			buf_put(&b, "\xff\xd9", 2);
		}
		if (t[i].tiff > 0)
			wrap_tiff(&b, t[i].side, t[i].tiff);
		err_note(0, "%s", "");
		is(img_head(k, b.p, b.n, &head), t[i].e, "%u more scans of %ux%u%s: %s", t[i].extra, t[i].side,
		    t[i].side, t[i].tiff > 0 ? " in a TIFF" : "", err_line());
		buf_free(&b);
		free(p);
	}
}

int
main(void)
{
	img_codec_new(IMG_PIXELS, &k);
	test_png(1, 28, 28);
	test_png(3, 32, 32);
	test_png(3, 1, 57);
	test_jpeg(1);
	test_jpeg(3);
	test_cuts();
	test_png_kinds();
	test_png_written();
	test_png_bytes();
	test_cmyk();
	test_all_rows();
	test_lies();
	test_scans();
	img_codec_free(k);
	return done();
}
