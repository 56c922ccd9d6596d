/* img_png - decodes PNG.  For img. */
#include "image/img_png.h"
#include "base/err.h"
#include "image/img_png_exif.h"
#include "image/img_png_plain.h"

#include <assert.h>
#include <spng.h>
#include <stdlib.h>

#define CHUNK_LIMIT	(1u << 23)	/* bytes of a colour profile or text, larger than any in use */

struct img_png {
	struct libdeflate_decompressor	*inflate;
	struct buf			 rows;	/* the inflated rows of a plain image, or a text */
};

int
img_png_new(struct img_png **out)
{
	struct img_png *g = calloc(1, sizeof(*g));

	*out = NULL;
	if (g == NULL || (g->inflate = libdeflate_alloc_decompressor()) == NULL) {
		free(g);
		return err_nomem();
	}
	*out = g;
	return 0;
}

void
img_png_free(struct img_png *g)
{
	if (g == NULL)
		return;
	libdeflate_free_decompressor(g->inflate);
	buf_free(&g->rows);
	free(g);
}

static int
fail_too_large(uint32_t h, uint32_t w, uint32_t pixels)
{
	return err_fail(ERR_PIXELS, "PNG: %ux%u is more than %u pixels", w, h, pixels);
}

int
img_png_head(struct img_png *g, const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head)
{
	struct img_png_ihdr h;

	if (!img_png_chunk_ihdr(data, n, &h) || h.w == 0 || h.h == 0)
		return err_fail(ERR_FORMAT, "PNG: no size in its header");
	if ((uint64_t)h.w * h.h > pixels)
		return fail_too_large(h.h, h.w, pixels);
	*head = (struct img_head){ .format = IMG_PNG, .h = h.h, .w = h.w, .odd = h.depth == 16, .lossless = true,
	    .by_rows = h.interlace == 0,
	    .c = h.type == SPNG_COLOR_TYPE_GRAYSCALE || h.type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA ? 1 : 3 };
	head->orientation = img_png_exif(g->inflate, data, n, &g->rows);
	return 0;
}

static int
fail_png(int e)
{
	int code = e == SPNG_EMEM ? ERR_NOMEM
	    : e == SPNG_EUSER_WIDTH || e == SPNG_EUSER_HEIGHT || e == SPNG_ECHUNK_LIMITS ? ERR_LIMIT
	    : ERR_FORMAT;

	return err_fail(code, "PNG: %s", spng_strerror(e));
}

/* Where to decode pixels of `from` channels before their conversion to c: after the result if they grow. */
static uint8_t *
decode_address(const struct buf *room, size_t area, uint32_t from, uint32_t c)
{
	return room->p + (from < c ? area * c : 0);
}

static int
prepare_room(struct buf *room, size_t area, uint32_t from, uint32_t c)
{
	room->n = 0;
	return buf_room(room, area * (from < c ? from + c : from));
}

static void
convert_pixels(const struct buf *room, size_t area, uint32_t from, uint32_t c)
{
	if (from != c)
		img_convert_channels(decode_address(room, area, from, c), from, area, c, room->p);
}

/* What libspng decodes an image to. */
struct output {
	struct spng_ihdr ihdr;
	uint32_t	 from, c;	/* channels that libspng decodes to, and those of the result */
	int		 format;
};

/* Opens an image.  c may be 0, as for img_decode(). */
static int
open_spng(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct output *to, spng_ctx **out)
{
	spng_ctx *s = *out = spng_ctx_new(0);
	bool grey;
	int e;

	if (s == NULL)
		return err_nomem();
	if ((e = spng_set_image_limits(s, pixels, pixels)) != 0 ||
	    (e = spng_set_chunk_limits(s, CHUNK_LIMIT, CHUNK_LIMIT)) != 0 ||
	    (e = spng_set_crc_action(s, SPNG_CRC_ERROR, SPNG_CRC_DISCARD)) != 0 ||
	    (e = spng_set_png_buffer(s, data, n)) != 0 || (e = spng_get_ihdr(s, &to->ihdr)) != 0)
		return fail_png(e);
	if ((uint64_t)to->ihdr.width * to->ihdr.height > pixels)
		return fail_too_large(to->ihdr.height, to->ihdr.width, pixels);
	grey = to->ihdr.color_type == SPNG_COLOR_TYPE_GRAYSCALE ||
	    to->ihdr.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA;
	to->c = c > 0 ? c : grey ? 1 : 3;
	/* libspng converts to 8-bit grey only from grey of up to 8 bits without alpha. */
	to->from = to->ihdr.color_type == SPNG_COLOR_TYPE_GRAYSCALE && to->ihdr.bit_depth <= 8 ? 1 : 3;
	to->format = to->from == 1 ? SPNG_FMT_G8 : SPNG_FMT_RGB8;
	return 0;
}

/* Decodes any PNG that libspng reads. */
static int
decode_any(spng_ctx *s, const struct output *to, struct buf *room, struct img *out)
{
	size_t n, area = (size_t)to->ihdr.width * to->ihdr.height;
	int e;

	ERR_TRY(prepare_room(room, area, to->from, to->c));
	if ((e = spng_decoded_image_size(s, to->format, &n)) != 0)
		return fail_png(e);
	assert(n <= area * to->from);
	/* Reads the chunks after the pixels too, to check the last checksum and the end of the file. */
	if ((e = spng_decode_image(s, decode_address(room, area, to->from, to->c), n, to->format, 0)) != 0 ||
	    (e = spng_decode_chunks(s)) != 0)
		return fail_png(e);
	convert_pixels(room, area, to->from, to->c);
	*out = (struct img){ .p = room->p, .c = to->c, .h = to->ihdr.height, .w = to->ihdr.width };
	return 0;
}

static int
decode_with_spng(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room, struct img *out)
{
	struct output to;
	spng_ctx *s;
	int e = open_spng(data, n, c, pixels, &to, &s);

	if (e == 0)
		e = decode_any(s, &to, room, out);
	spng_ctx_free(s);
	return e;
}

static int
decode_rows(spng_ctx *s, const struct output *to, struct buf *room, img_row *fn, void *ctx)
{
	size_t w = to->ihdr.width;
	int e;

	ERR_TRY(prepare_room(room, w, to->from, to->c));
	if ((e = spng_decode_image(s, NULL, 0, to->format, SPNG_DECODE_PROGRESSIVE)) != 0)
		return fail_png(e);
	for (uint32_t y = 0; y < to->ihdr.height; y++) {
		if ((e = spng_decode_row(s, decode_address(room, w, to->from, to->c), w * to->from)) != 0 &&
		    e != SPNG_EOI)
			return fail_png(e);
		convert_pixels(room, w, to->from, to->c);
		ERR_TRY(fn(ctx, room->p));
	}
	return (e = spng_decode_chunks(s)) != 0 ? fail_png(e) : 0;
}

int
img_png_decode_rows(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room, img_row *fn,
    void *ctx)
{
	struct output to;
	spng_ctx *s;
	int e = open_spng(data, n, c, pixels, &to, &s);

	assert(e < 0 || to.ihdr.interlace_method == SPNG_INTERLACE_NONE);
	if (e == 0)
		e = decode_rows(s, &to, room, fn, ctx);
	spng_ctx_free(s);
	return e;
}

static int
drop_row(void *ctx, const uint8_t *row)
{
	(void)ctx, (void)row;
	return 0;
}

int
img_png_check(struct img_png *g, const uint8_t *data, size_t n, uint32_t pixels, struct buf *room)
{
	struct img_png_ihdr h;
	struct img out;
	uint8_t *rows;
	int e;

	if (img_png_chunk_ihdr(data, n, &h) && h.interlace == 0 && (uint64_t)h.h * h.w >= IMG_LARGE)
		return img_png_decode_rows(data, n, 3, pixels, room, drop_row, NULL);
	e = img_png_plain(g->inflate, data, n, pixels, &g->rows, &h, &rows);
	return e != 0 ? (e < 0 ? e : 0) : decode_with_spng(data, n, 0, pixels, room, &out);
}

int
img_png_decode(struct img_png *g, const uint8_t *data, size_t n, uint32_t c, uint32_t pixels,
    struct buf *room, struct img *out)
{
	struct img_png_ihdr h;
	uint32_t from;
	uint8_t *rows;
	size_t area;
	int e;

	if ((e = img_png_plain(g->inflate, data, n, pixels, &g->rows, &h, &rows)) <= 0)
		return e < 0 ? e : decode_with_spng(data, n, c, pixels, room, out);
	from = img_png_plain_channels(&h);
	if (c == 0)
		c = from < 3 ? 1 : 3;
	area = (size_t)h.h * h.w;
	ERR_TRY(prepare_room(room, area, from, c));
	img_png_plain_unfilter(&h, rows, decode_address(room, area, from, c));
	convert_pixels(room, area, from, c);
	*out = (struct img){ .p = room->p, .c = c, .h = h.h, .w = h.w };
	return 0;
}
