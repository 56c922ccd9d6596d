/* img - decodes images (JPEG, PNG, WebP, BMP, GIF, PNM, TIFF, HEIC, AVIF, JPEG XL), and encodes JPEG and PNG. */
#include "image/img.h"
#include "base/err.h"
#include "image/img_formats.h"
#include "image/jpeg/img_jpeg.h"
#include "image/img_png.h"
#include "image/loaded/img_apart.h"

#include <assert.h>
#include <stdlib.h>

#define KEEP	(1u << 25)	/* bytes kept for the next image */

struct img_codec {
	struct img_jpeg	*jpeg;
	struct img_png	*png;
	struct img_apart_child	 child;	/* has the image of the last img_head() */
	struct buf	 room;		/* holds the pixels */
	uint32_t	 pixels;
};

/* The first bytes of formats: those that are read, and those that are only named. */
static const struct signature {
	const char	*text;
	unsigned	 at, n;
	int		 format;	/* enum img_format, or -1: not supported */
	const char	*name, *suffix;
} signature[] = {
	{ "\xff\xd8\xff", 0, 3, IMG_JPEG, "JPEG", "jpg" },
	{ "\x89PNG\r\n\x1a\n", 0, 8, IMG_PNG, "PNG", "png" },
	{ "WEBPVP8", 8, 7, IMG_WEBP, "WebP", "webp" },
	{ "GIF8", 0, 4, IMG_GIF, "GIF", "gif" },
	{ "BM", 0, 2, IMG_BMP, "BMP", "bmp" },
	{ "P1", 0, 2, IMG_PNM, "PNM", "pbm" },
	{ "P2", 0, 2, IMG_PNM, "PNM", "pgm" },
	{ "P3", 0, 2, IMG_PNM, "PNM", "ppm" },
	{ "P4", 0, 2, IMG_PNM, "PNM", "pbm" },
	{ "P5", 0, 2, IMG_PNM, "PNM", "pgm" },
	{ "P6", 0, 2, IMG_PNM, "PNM", "ppm" },
	{ "II*\0\x10\0\0\0CR", 0, 10, -1, "Canon raw", "cr2" },
	{ "II*\0", 0, 4, IMG_TIFF, "TIFF", "tif" },
	{ "MM\0*", 0, 4, IMG_TIFF, "TIFF", "tif" },
	{ "II+\0\x08\0\0\0", 0, 8, IMG_TIFF, "TIFF", "tif" },	/* TIFF with 64-bit offsets */
	{ "MM\0+\0\x08\0\0", 0, 8, IMG_TIFF, "TIFF", "tif" },
	{ "P7\n", 0, 3, -1, "PAM", "pam" },
	{ "ftypavi", 4, 7, IMG_HEIF, "AVIF", "avif" },
	{ "ftyphei", 4, 7, IMG_HEIF, "HEIC", "heic" },
	{ "ftyphev", 4, 7, IMG_HEIF, "HEIC", "heic" },
	{ "ftypmif1", 4, 8, IMG_HEIF, "HEIF", "heif" },
	{ "ftypmsf1", 4, 8, IMG_HEIF, "HEIF", "heif" },
	{ "\0\0\0\x0cjP  ", 0, 8, -1, "JPEG 2000", "jp2" },
	{ "\xff\x4f\xff\x51", 0, 4, -1, "JPEG 2000", "j2k" },
	{ "\0\0\0\x0cJXL ", 0, 8, IMG_JXL, "JPEG XL", "jxl" },
	{ "\xff\x0a", 0, 2, IMG_JXL, "JPEG XL", "jxl" },
	{ "8BPS", 0, 4, -1, "Photoshop", "psd" },
	{ "%PDF", 0, 4, -1, "PDF", "pdf" },
	{ "v/1\x01", 0, 4, -1, "OpenEXR", "exr" },
	{ "#?RADIANCE", 0, 10, -1, "Radiance HDR", "hdr" },
	{ "\0\0\x01\0", 0, 4, -1, "ICO", "ico" },
	{ "<svg", 0, 4, -1, "SVG", "svg" },
};

/* The codecs without state. */
static const struct {
	img_format_head	*head;
	img_format_decode *decode;
} plain[] = {
	[IMG_WEBP] = { img_webp_head, img_webp_decode }, [IMG_BMP] = { img_bmp_head, img_bmp_decode },
	[IMG_GIF] = { img_gif_head, img_gif_decode }, [IMG_PNM] = { img_pnm_head, img_pnm_decode },
	[IMG_TIFF] = { img_tiff_head, img_tiff_decode },
};

/* The codecs that a child runs. */
static const struct img_apart *const apart[] = { [IMG_HEIF] = &img_heif, [IMG_JXL] = &img_jxl };

/* The row of `signature` whose bytes the image has, or NULL. */
static const struct signature *
find_signature(const uint8_t *data, size_t n)
{
	for (size_t i = 0; i < sizeof(signature) / sizeof(*signature); i++)
		if (n >= signature[i].at + signature[i].n && memcmp(data + signature[i].at, signature[i].text,
		    signature[i].n) == 0)
			return &signature[i];
	return NULL;
}

const char *
img_suffix(const uint8_t *data, size_t n)
{
	const struct signature *s = find_signature(data, n);

	return s != NULL ? s->suffix : NULL;
}

/* Returns the format or ERR_NOTSUP. */
static int
detect_format(const uint8_t *data, size_t n)
{
	const struct signature *s = find_signature(data, n);

	if (s == NULL)
		return err_fail(ERR_NOTSUP, "not in a known image format");
	if (s->format < 0)
		return err_fail(ERR_NOTSUP, "%s, which is not read; convert it to PNG or JPEG", s->name);
	return s->format;
}

int
img_codec_new(uint32_t pixels, struct img_codec **out)
{
	struct img_codec *k = calloc(1, sizeof(*k));
	int e;

	*out = NULL;
	if (k == NULL)
		return err_nomem();
	k->pixels = pixels;
	if ((e = img_jpeg_new(&k->jpeg)) < 0 || (e = img_png_new(&k->png)) < 0) {
		img_codec_free(k);
		return e;
	}
	*out = k;
	return 0;
}

void
img_codec_free(struct img_codec *k)
{
	if (k == NULL)
		return;
	img_jpeg_free(k->jpeg);
	img_png_free(k->png);
	img_apart_end(&k->child);
	buf_free(&k->room);
	free(k);
}

/* Frees a large buffer of the previous image.  Returns the format of n bytes, or ERR_NOTSUP. */
static int
begin_image(struct img_codec *k, const uint8_t *data, size_t n)
{
	buf_trim(&k->room, KEEP);
	return detect_format(data, n);
}

static int
read_jpeg_head(struct img_codec *k, const uint8_t *data, size_t n, struct img_head *head)
{
	struct img_jpeg_head j;
	int e = img_jpeg_head(k->jpeg, data, n, k->pixels, &j);

	if (e == 0)
		*head = (struct img_head){ .format = IMG_JPEG, .c = j.c == 1 ? 1 : 3, .h = j.h, .w = j.w,
		    .orientation = j.exif.orientation, .odd = j.c == 4, .by_rows = true, .sub_h = j.ycc ? j.sub_h : 0,
		    .sub_w = j.ycc ? j.sub_w : 0 };
	return e;
}

int
img_head(struct img_codec *k, const uint8_t *data, size_t n, struct img_head *head)
{
	int format = begin_image(k, data, n);

	switch (format) {
	case IMG_JPEG: return read_jpeg_head(k, data, n, head);
	case IMG_PNG: return img_png_head(k->png, data, n, k->pixels, head);
	case IMG_HEIF:
	case IMG_JXL: return img_apart_head(&k->child, apart[format], data, n, k->pixels, head);
	default: return format < 0 ? format : plain[format].head(data, n, k->pixels, head);
	}
}

/* Decodes an image that is neither JPEG nor PNG.  format may be an error. */
static int
decode_other(struct img_codec *k, int format, const uint8_t *data, size_t n, uint32_t c, struct img *out)
{
	if (format < 0)
		return format;
	if (format == IMG_HEIF || format == IMG_JXL)
		return img_apart_decode(&k->child, apart[format], data, n, c, k->pixels, &k->room, out);
	return plain[format].decode(data, n, c, k->pixels, &k->room, out);
}

int
img_check(struct img_codec *k, const uint8_t *data, size_t n)
{
	int format = begin_image(k, data, n), e;
	struct img_head head;
	struct img out;

	switch (format) {
	case IMG_JPEG: return (e = read_jpeg_head(k, data, n, &head)) < 0 ? e : img_jpeg_check(k->jpeg, data, n);
	case IMG_PNG: return img_png_check(k->png, data, n, k->pixels, &k->room);
	default: return decode_other(k, format, data, n, 0, &out);
	}
}

int
img_decode(struct img_codec *k, const uint8_t *data, size_t n, uint32_t c, struct img *out)
{
	int format = begin_image(k, data, n);

	assert(c == 0 || c == 1 || c == 3);
	switch (format) {
	case IMG_JPEG: return img_jpeg_decode(k->jpeg, data, n, c, k->pixels, &k->room, out);
	case IMG_PNG: return img_png_decode(k->png, data, n, c, k->pixels, &k->room, out);
	default: return decode_other(k, format, data, n, c, out);
	}
}

int
img_decode_rows(struct img_codec *k, const uint8_t *data, size_t n, uint32_t c, img_row *fn, void *ctx)
{
	int format = begin_image(k, data, n);

	assert((format == IMG_JPEG || format == IMG_PNG) && (c == 1 || c == 3));
	if (format == IMG_JPEG)
		return img_jpeg_decode_rows(k->jpeg, data, n, c, k->pixels, &k->room, fn, ctx);
	return img_png_decode_rows(data, n, c, k->pixels, &k->room, fn, ctx);
}

int
img_decode_region(struct img_codec *k, const uint8_t *data, size_t n, uint32_t h, uint32_t w,
    const struct img_region *region, uint32_t c, uint8_t *p)
{
	size_t row = (size_t)region->w * c;
	struct img all;

	assert(region->y + region->h <= h && region->x + region->w <= w);
	if (detect_format(data, n) == IMG_JPEG && img_jpeg_decode_region(k->jpeg, data, n, h, w, region, c, p))
		return 0;
	ERR_TRY(img_decode(k, data, n, c, &all));
	if (all.h != h || all.w != w)
		return err_fail(ERR_FORMAT, "the header says %ux%u pixels, the image has %ux%u", w, h, all.w, all.h);
	for (uint32_t y = 0; y < region->h; y++)
		memcpy(p + y * row, all.p + ((size_t)(region->y + y) * w + region->x) * c, row);
	return 0;
}

int
img_encode_jpeg(struct img_codec *k, const struct img *in, int quality, bool dense, struct buf *out)
{
	return img_jpeg_encode(k->jpeg, in, quality, dense, out);
}

void
img_convert_channels(const uint8_t *p, uint32_t from, size_t pixels, uint32_t c, uint8_t *q)
{
	for (size_t i = 0; i < pixels; i++, p += from, q += c)
		if (c == 1)
			q[0] = from < 3 ? p[0] : (uint8_t)((p[0] * 299u + p[1] * 587u + p[2] * 114u + 500) / 1000);
		else
			for (uint32_t k = 0; k < 3; k++)
				q[k] = p[from < 3 ? 0 : k];
}
