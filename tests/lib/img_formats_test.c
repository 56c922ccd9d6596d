/* img_formats_test - GIF, TIFF and animated WebP are decoded to the pixels that were written; damaged ones fail. */
#include "base/err.h"
#include "image/img.h"
#include "pics.h"
#include "tap.h"

#include <gif_lib.h>
#include <math.h>
#include <tiffio.h>
#include <webp/encode.h>

#define H	21u
#define W	13u
#define SIDE	16u	/* of a tile, whose bytes are no multiple of 1024 */

static struct img_codec *k;
static uint8_t rgb[H * W * 3], grey[H * W];

/* Few colours, so that a palette holds them all. */
static void
fill(void)
{
	for (uint32_t i = 0; i < H * W; i++) {
		grey[i] = (uint8_t)(i * 7 % 16 * 16);
		rgb[i * 3] = (uint8_t)(255 - grey[i]);
		rgb[i * 3 + 1] = grey[i];
		rgb[i * 3 + 2] = (uint8_t)(grey[i] / 2);
	}
}

/* Checks the header and the pixels of an encoded image, and that it fails if it is cut anywhere before `needed`. */
static void
check(const char *name, const struct buf *b, enum img_format format, uint32_t c, size_t needed)
{
	const uint8_t *want = c == 1 ? grey : rgb;
	struct img_head head = { 0 };
	struct img out = { 0 };
	int bad = 0;

	ok(img_head(k, b->p, b->n, &head) == 0 && head.format == format && head.c == c && head.h == H && head.w == W &&
	    head.lossless, "%s: the header is read", name);
	ok(img_decode(k, b->p, b->n, 0, &out) == 0 && out.c == c && out.h == H && out.w == W &&
	    memcmp(out.p, want, (size_t)H * W * c) == 0, "%s: the pixels are read: %s", name, err_line());
	ok(img_decode(k, b->p, b->n, 4 - c, &out) == 0 && out.c == 4 - c, "%s: the other number of channels", name);
	is(img_check(k, b->p, b->n), 0, "%s: img_check() accepts the image", name);
	for (size_t n = 0; n < needed; n++) {
		uint8_t *copy = malloc(n + 1);

		memcpy(copy, b->p, n);
		bad += img_decode(k, copy, n, 0, &out) < 0 && *err_line() != 0;
		free(copy);
	}
	is(bad, needed, "%s: a truncated image fails", name);
}

/* The image reaches beyond a small screen, and then counts. */
static void
test_gif(const char *name, bool interlace, bool small)
{
	static const uint8_t first[] = { 0, 4, 2, 1 }, step[] = { 8, 8, 4, 2 };
	const char *path = pics_path("a.gif");
	GifFileType *f = EGifOpenFileName(path, false, NULL);
	ColorMapObject *map = GifMakeMapObject(16, NULL);
	struct buf b = { 0 };

	for (uint32_t i = 0; i < 16; i++)
		map->Colors[i] = (GifColorType){ (GifByteType)(255 - i * 16), (GifByteType)(i * 16), (GifByteType)(i * 8) };
	EGifPutScreenDesc(f, small ? 5 : (int)W, small ? 5 : (int)H, 8, 0, map);
	EGifPutImageDesc(f, 0, 0, (int)W, (int)H, interlace, NULL);
	for (size_t pass = 0; pass < (interlace ? 4 : 1); pass++)
		for (uint32_t y = interlace ? first[pass] : 0; y < H; y += interlace ? step[pass] : 1) {
			GifPixelType row[W];

			for (uint32_t x = 0; x < W; x++)
				row[x] = grey[y * W + x] / 16;
			EGifPutLine(f, row, (int)W);
		}
	EGifCloseFile(f, NULL);
	GifFreeMapObject(map);
	io_slurp(path, 100000, &b);
	check(name, &b, IMG_GIF, 3, b.n - 20);
	buf_free(&b);
}

static void
test_tiff(const char *name, const char *mode, uint32_t c, int bits, int compression, bool tiled)
{
	const char *path = pics_path("a.tif");
	TIFF *t = TIFFOpen(path, mode);
	struct buf b = { 0 };

	TIFFSetField(t, TIFFTAG_IMAGEWIDTH, W);
	TIFFSetField(t, TIFFTAG_IMAGELENGTH, H);
	TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, bits);
	TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, c);
	TIFFSetField(t, TIFFTAG_PHOTOMETRIC, c == 1 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_RGB);
	TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
	TIFFSetField(t, TIFFTAG_COMPRESSION, compression);
	TIFFSetField(t, TIFFTAG_ORIENTATION, ORIENTATION_RIGHTTOP);
	if (tiled) {
		uint8_t tile[SIDE * SIDE * 3] = { 0 };

		TIFFSetField(t, TIFFTAG_TILEWIDTH, SIDE);
		TIFFSetField(t, TIFFTAG_TILELENGTH, SIDE);
		for (uint32_t y = 0; y < H; y++) {
			memcpy(tile + (size_t)(y % SIDE) * SIDE * c, (c == 1 ? grey : rgb) + (size_t)y * W * c, (size_t)W * c);
			if (y % SIDE == SIDE - 1 || y == H - 1)
				TIFFWriteEncodedTile(t, y / SIDE, tile, SIDE * SIDE * (tmsize_t)c);
		}
	} else {
		TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, 5);
		for (uint32_t y = 0; y < H; y++) {
			uint16_t wide[W * 3];
			const uint8_t *row = (c == 1 ? grey : rgb) + (size_t)y * W * c;

			for (uint32_t i = 0; i < W * c; i++)
				wide[i] = (uint16_t)(row[i] * 257);
			TIFFWriteScanline(t, bits == 16 ? (void *)wide : (void *)(uintptr_t)row, y, 0);
		}
	}
	TIFFClose(t);
	io_slurp(path, 100000, &b);
	check(name, &b, IMG_TIFF, c, 8);
	struct img_head head = { 0 };
	img_head(k, b.p, b.n, &head);
	is(head.orientation, 6, "%s: the orientation is reported", name);
	/* Nothing but the line of an error is left of any damage. */
	for (size_t i = 0; i < b.n; i++) {
		struct img out;

		b.p[i] ^= 0xff;
		if (img_decode(k, b.p, b.n, 0, &out) < 0 && *err_line() == 0)
			ok(0, "%s: byte %zu changed: no line", name, i);
		b.p[i] ^= 0xff;
	}
	buf_free(&b);
}

/* Alpha is dropped; colours that are stored multiplied by it are divided by it, unless it is 0. */
static void
test_tiff_alpha(const char *name, uint16_t kind, int bits)
{
	const char *path = pics_path("alpha.tif");
	TIFF *t = TIFFOpen(path, "w");
	uint8_t want[sizeof(rgb)];
	struct buf b = { 0 };
	struct img out = { 0 };

	TIFFSetField(t, TIFFTAG_IMAGEWIDTH, W);
	TIFFSetField(t, TIFFTAG_IMAGELENGTH, H);
	TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, bits);
	TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, 4);
	TIFFSetField(t, TIFFTAG_EXTRASAMPLES, 1, &kind);
	TIFFSetField(t, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB);
	TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
	for (uint32_t y = 0; y < H; y++) {
		uint8_t row[W * 4];
		uint16_t wide[W * 4];

		for (uint32_t i = 0; i < W * 4; i++) {
			unsigned alpha = i / 4 * 28 % 256, at = (y * W + i / 4) * 3 + i % 4;

			row[i] = i % 4 == 3 ? (uint8_t)alpha : rgb[at];
			wide[i] = (uint16_t)(row[i] * 257);
			if (i % 4 < 3 && kind == EXTRASAMPLE_ASSOCALPHA && alpha > 0)
				want[at] = (uint8_t)fmin(rgb[at] * 255 / alpha, 255);
			else if (i % 4 < 3)
				want[at] = rgb[at];
		}
		TIFFWriteScanline(t, bits == 16 ? (void *)wide : row, y, 0);
	}
	TIFFClose(t);
	io_slurp(path, 100000, &b);
	ok(img_decode(k, b.p, b.n, 0, &out) == 0 && out.c == 3 && memcmp(out.p, want, sizeof(want)) == 0,
	    "%s alpha of %d bits leaves the colours: %s", name, bits, err_line());
	buf_free(&b);
}

/*
 * The colours of a CIELab TIFF are those that CSS Color 4 gives for lab(), whose white is D50 too.  a* and b* of 8 bits are
 * whole numbers, so that a colour may be a few levels off.
 */
static void
test_lab(const char *name, bool wide)
{
	static const struct {
		double	 lab[3];
		uint8_t	 rgb[3];
	} want[] = { { { 100, 0, 0 }, { 255, 255, 255 } }, { { 0, 0, 0 }, { 0, 0, 0 } }, { { 53.59, 0, 0 }, { 128, 128, 128 } },
	    { { 54.29, 80.80, 69.89 }, { 255, 0, 0 } }, { { 46.28, -47.57, 48.59 }, { 0, 128, 0 } },
	    { { 29.57, 68.30, -112.03 }, { 0, 0, 255 } } };
	enum { COLOURS = sizeof(want) / sizeof(*want) };
	const char *path = pics_path("lab.tif");
	TIFF *t = TIFFOpen(path, "w");
	uint8_t narrow[COLOURS * 3];
	uint16_t row[COLOURS * 3];
	struct buf b = { 0 };
	struct img out = { 0 };
	int most = 0;

	for (int i = 0; i < COLOURS * 3; i++) {
		double v = want[i / 3].lab[i % 3];

		narrow[i] = (uint8_t)(int)lround(i % 3 == 0 ? v * 2.55 : v);
		row[i] = (uint16_t)(int)lround(i % 3 == 0 ? v * 655.35 : v * 256);
	}
	TIFFSetField(t, TIFFTAG_IMAGEWIDTH, COLOURS);
	TIFFSetField(t, TIFFTAG_IMAGELENGTH, 1);
	TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, wide ? 16 : 8);
	TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, 3);
	TIFFSetField(t, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_CIELAB);
	TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
	TIFFWriteScanline(t, wide ? (void *)row : narrow, 0, 0);
	TIFFClose(t);
	io_slurp(path, 100000, &b);
	is(img_decode(k, b.p, b.n, 3, &out), 0, "%s is read: %s", name, err_line());
	for (int i = 0; i < COLOURS * 3; i++) {
		int off = abs(out.p[i] - want[i / 3].rgb[i % 3]);

		most = off > most ? off : most;
	}
	ok(most <= 4, "%s: the colours are off by at most 4 levels: %d", name, most);
	buf_free(&b);
}

/* libtiff notices damage of such a strip without failing. */
static void
test_damaged_tiff(const char *name, int bits, int compression)
{
	const char *path = pics_path("a.tif");
	TIFF *t = TIFFOpen(path, "w");
	uint64_t at, n;
	struct buf b = { 0 };
	struct img out;

	TIFFSetField(t, TIFFTAG_IMAGEWIDTH, W);
	TIFFSetField(t, TIFFTAG_IMAGELENGTH, H);
	TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, bits);
	TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, 1);
	TIFFSetField(t, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
	TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
	TIFFSetField(t, TIFFTAG_COMPRESSION, compression);
	for (uint32_t y = 0; y < H; y++)
		TIFFWriteScanline(t, grey + y * W, y, 0);
	TIFFClose(t);
	t = TIFFOpen(path, "r");
	at = TIFFGetStrileOffset(t, 0);
	n = TIFFGetStrileByteCount(t, 0);
	TIFFClose(t);
	io_slurp(path, 100000, &b);
	is(img_decode(k, b.p, b.n, 1, &out), 0, "%s: the image is read: %s", name, err_line());
	is(img_check(k, b.p, b.n), 0, "%s: the image is sound", name);
	/* No code of a fax, and of JPEG the end of the image. */
	memcpy(b.p + at + n * 3 / 4, compression == COMPRESSION_JPEG ? "\xff\xd9" : "\0\0", 2);
	is(img_decode(k, b.p, b.n, 1, &out), ERR_FORMAT, "%s: damage within a strip fails: %s", name, err_line());
	is(img_check(k, b.p, b.n), ERR_FORMAT, "%s: the check finds the damage", name);
	buf_free(&b);
}

static void
put24(struct buf *b, uint32_t v)
{
	uint8_t p[] = { (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16) };

	buf_put(b, p, sizeof(p));
}

static void
put_chunk(struct buf *b, const char *name, size_t n)
{
	uint8_t size[4];

	le_put32(size, (uint32_t)n);
	buf_put(b, name, 4);
	buf_put(b, size, 4);
}

/*
 * Makes an animation on a canvas of [h,w] from two equal frames of rgb [H,W] at the even place (x,y).  The layout is
 * that of https://developers.google.com/speed/webp/docs/riff_container.
 */
static void
make_animation(struct buf *b, uint32_t h, uint32_t w, uint32_t y, uint32_t x)
{
	uint8_t *frame = NULL;
	size_t n = WebPEncodeLosslessRGB(rgb, (int)W, (int)H, (int)W * 3, &frame);

	b->n = 0;
	put_chunk(b, "RIFF", 0);
	buf_put(b, "WEBP", 4);
	put_chunk(b, "VP8X", 10);
	buf_put(b, "\x02\0\0\0", 4);
	put24(b, w - 1);
	put24(b, h - 1);
	put_chunk(b, "ANIM", 6);
	buf_put(b, "\0\0\0\0\0\0", 6);
	for (int i = 0; i < 2; i++) {
		put_chunk(b, "ANMF", 16 + n - 12);
		put24(b, x / 2);
		put24(b, y / 2);
		put24(b, W - 1);
		put24(b, H - 1);
		put24(b, 100);
		buf_put(b, "\0", 1);
		buf_put(b, frame + 12, n - 12);
	}
	le_put32(b->p + 4, (uint32_t)b->n - 8);
	WebPFree(frame);
}

static void
test_webp(void)
{
	struct buf b = { 0 };
	struct img out;
	int wrong = 0;

	make_animation(&b, H, W, 0, 0);
	check("animated WebP", &b, IMG_WEBP, 3, b.n);
	make_animation(&b, H + 5, W + 9, 4, 6);
	is(img_decode(k, b.p, b.n, 3, &out), 0, "an animation with a smaller first frame is read: %s", err_line());
	for (uint32_t i = 0; i < (H + 5) * (W + 9) * 3; i++) {
		uint32_t y = i / 3 / (W + 9), x = i / 3 % (W + 9);
		bool in = y >= 4 && y < 4 + H && x >= 6 && x < 6 + W;

		wrong += out.p[i] != (in ? rgb[((y - 4) * W + x - 6) * 3 + i % 3] : 0);
	}
	is(wrong, 0, "the first frame of a GIF is at its place, on black");
	make_animation(&b, H + 5, W + 5, 4, 6);
	is(img_decode(k, b.p, b.n, 3, &out), ERR_FORMAT, "a first frame that exceeds the image is refused: %s", err_line());
	buf_free(&b);
}

int
main(void)
{
	img_codec_new(IMG_PIXELS, &k);
	fill();
	test_gif("GIF", false, false);
	test_gif("interlaced GIF", true, false);
	test_gif("GIF of a small screen", false, true);
	test_tiff("grey TIFF", "w", 1, 8, COMPRESSION_NONE, false);
	test_tiff("LZW TIFF", "w", 3, 8, COMPRESSION_LZW, false);
	test_tiff("TIFF of 16 bits", "w", 3, 16, COMPRESSION_ADOBE_DEFLATE, false);
	test_tiff("TIFF of 64-bit offsets", "w8l", 3, 8, COMPRESSION_LZW, false);
	test_tiff("TIFF of 64-bit offsets, big-endian", "w8b", 3, 8, COMPRESSION_NONE, true);
	test_tiff("tiled TIFF", "w", 3, 8, COMPRESSION_NONE, true);
	test_tiff("tiled grey TIFF", "w", 1, 8, COMPRESSION_NONE, true);
	test_tiff("tiled LZW TIFF", "w", 3, 8, COMPRESSION_LZW, true);
	test_tiff_alpha("unassociated", EXTRASAMPLE_UNASSALPHA, 8);
	test_tiff_alpha("unassociated", EXTRASAMPLE_UNASSALPHA, 16);
	test_tiff_alpha("associated", EXTRASAMPLE_ASSOCALPHA, 8);
	test_tiff_alpha("associated", EXTRASAMPLE_ASSOCALPHA, 16);
	test_lab("CIELab TIFF", false);
	test_lab("CIELab TIFF of 16 bits", true);
	test_damaged_tiff("TIFF of a fax", 1, COMPRESSION_CCITTFAX3);
	test_damaged_tiff("TIFF of a fax of group 4", 1, COMPRESSION_CCITTFAX4);
	test_damaged_tiff("TIFF of run lengths", 1, COMPRESSION_CCITTRLE);
	test_damaged_tiff("TIFF of JPEG", 8, COMPRESSION_JPEG);
	test_webp();
	img_codec_free(k);
	pics_clean();
	return done();
}
