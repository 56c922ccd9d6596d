/* img_formats_test - BMP, GIF, PNM and TIFF are decoded to the pixels that were written; damaged ones fail. */
#include "base/err.h"
#include "image/img.h"
#include "pics.h"
#include "tap.h"

#include <gif_lib.h>
#include <tiffio.h>

#define H	21u
#define W	13u

static struct img_codec *k;
static uint8_t rgb[H * W * 3], grey[H * W];

static void
put_le(struct buf *b, uint32_t v, size_t n)
{
	uint8_t p[4];

	le_put32(p, v);
	buf_put(b, p, n);
}

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
	is(img_check(k, b->p, b->n), 0, "%s: it is sound", name);
	for (size_t n = 0; n < needed; n++) {
		uint8_t *copy = malloc(n + 1);

		memcpy(copy, b->p, n);
		bad += img_decode(k, copy, n, 0, &out) < 0 && *err_line() != 0;
		free(copy);
	}
	is(bad, needed, "%s: it fails if it is truncated", name);
}

static void
test_bmp(void)
{
	struct buf b = { 0 }, v5 = { 0 };
	uint32_t row = (W * 3 + 3) / 4 * 4;
	struct img_head head;

	buf_put(&b, "BM", 2);
	put_le(&b, 54 + row * H, 4);
	put_le(&b, 0, 4);
	put_le(&b, 54, 4);
	put_le(&b, 40, 4);
	put_le(&b, W, 4);
	put_le(&b, H, 4);
	put_le(&b, 1, 2);
	put_le(&b, 24, 2);
	for (int i = 0; i < 6; i++)
		put_le(&b, 0, 4);
	for (uint32_t y = H; y-- > 0;) {
		for (uint32_t x = 0; x < W; x++)
			for (int i = 2; i >= 0; i--)
				buf_put(&b, &rgb[(y * W + x) * 3 + (uint32_t)i], 1);
		put_le(&b, 0, row - W * 3);
	}
	check("BMP of 24 bits", &b, IMG_BMP, 3, b.n - 4);
	/* The same with the header of Windows 5 that others write, and from the top down. */
	buf_put(&v5, b.p, 54);
	for (int i = 40; i < 124; i++)
		put_le(&v5, 0, 1);
	le_put32(v5.p + 10, 54 + 84);
	le_put32(v5.p + 14, 124);
	le_put32(v5.p + 22, -H);
	for (uint32_t y = H; y-- > 0;)
		buf_put(&v5, b.p + 54 + y * row, row);
	check("BMP with the longest header, from the top down", &v5, IMG_BMP, 3, v5.n - 4);
	buf_free(&v5);
	memset(b.p + 18, 0x7f, 8);
	is(img_head(k, b.p, b.n, &head), ERR_LIMIT, "a BMP that says it is huge is refused");
	buf_free(&b);
}

static void
test_pnm(void)
{
	struct buf b = { 0 };

	buf_put_fmt(&b, "P6\n# a comment with 12 34\n%u %u\n255\n", W, H);
	buf_put(&b, rgb, sizeof(rgb));
	check("PPM", &b, IMG_PNM, 3, b.n);
	b.n = 0;
	buf_put_fmt(&b, "P5 %u %u 255\n", W, H);
	buf_put(&b, grey, sizeof(grey));
	check("PGM", &b, IMG_PNM, 1, b.n);
	b.n = 0;
	buf_put_fmt(&b, "P3 %u %u 255\n", W, H);
	for (size_t i = 0; i < sizeof(rgb); i++)
		buf_put_fmt(&b, "%u ", rgb[i]);
	check("PPM as text", &b, IMG_PNM, 3, 1000);
	struct img_head head;
	is(img_head(k, (const uint8_t *)"P4 8 8\n", 7, &head), ERR_NOTSUP, "PBM is refused");
	is(img_head(k, (const uint8_t *)"P6 60000 60000\n", 15, &head), ERR_LIMIT, "a PPM that says it is huge is refused");
	buf_free(&b);
}

static void
test_gif(bool interlace)
{
	static const uint8_t first[] = { 0, 4, 2, 1 }, step[] = { 8, 8, 4, 2 };
	const char *path = pics_path("a.gif");
	GifFileType *f = EGifOpenFileName(path, false, NULL);
	ColorMapObject *map = GifMakeMapObject(16, NULL);
	struct buf b = { 0 };

	for (uint32_t i = 0; i < 16; i++)
		map->Colors[i] = (GifColorType){ (GifByteType)(255 - i * 16), (GifByteType)(i * 16), (GifByteType)(i * 8) };
	EGifPutScreenDesc(f, (int)W, (int)H, 8, 0, map);
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
	check(interlace ? "interlaced GIF" : "GIF", &b, IMG_GIF, 3, b.n - 20);
	buf_free(&b);
}

static void
test_tiff(const char *name, uint32_t c, int bits, int compression, bool tiled)
{
	const char *path = pics_path("a.tif");
	TIFF *t = TIFFOpen(path, "w");
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
		uint8_t tile[32 * 32 * 3] = { 0 };

		TIFFSetField(t, TIFFTAG_TILEWIDTH, 32);
		TIFFSetField(t, TIFFTAG_TILELENGTH, 32);
		for (uint32_t y = 0; y < H; y++)
			memcpy(tile + (size_t)y * 32 * c, (c == 1 ? grey : rgb) + (size_t)y * W * c, (size_t)W * c);
		TIFFWriteEncodedTile(t, 0, tile, 32 * 32 * (tmsize_t)c);
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
	is(head.orientation, 6, "%s: its orientation is reported", name);
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

int
main(void)
{
	img_codec_new(&k, IMG_PIXELS);
	fill();
	test_bmp();
	test_pnm();
	test_gif(false);
	test_gif(true);
	test_tiff("grey TIFF", 1, 8, COMPRESSION_NONE, false);
	test_tiff("LZW TIFF", 3, 8, COMPRESSION_LZW, false);
	test_tiff("TIFF of 16 bits", 3, 16, COMPRESSION_ADOBE_DEFLATE, false);
	test_tiff("tiled TIFF", 3, 8, COMPRESSION_NONE, true);
	img_codec_free(k);
	pics_clean();
	return done();
}
