/* img_png_plain - decodes common PNGs fast, with libdeflate.  For img_png. */
#include "image/img_png_plain.h"
#include "base/err.h"

#include <stdlib.h>

#define FILTERS		5u
/* Deflate compresses by at most this factor. */
#define RATIO_MOST	1032u

enum { GREY = 0, COLOUR = 2, PALETTE = 3, ALPHA = 4 };

uint32_t
img_png_plain_channels(const struct img_png_ihdr *h)
{
	return (h->type & COLOUR ? 3 : 1) + (h->type & ALPHA ? 1 : 0);
}

static size_t
count_row_bytes(const struct img_png_ihdr *h)
{
	return (size_t)h->w * img_png_plain_channels(h);
}

static bool
is_header_plain(const struct img_png_ihdr *h, size_t n, uint32_t pixels)
{
	return h->depth == 8 && h->interlace == 0 && h->w > 0 && h->h > 0 &&
	    (h->type == GREY || h->type == COLOUR || h->type == (GREY | ALPHA) || h->type == (COLOUR | ALPHA)) &&
	    (uint64_t)h->w * h->h <= pixels && h->h * (count_row_bytes(h) + 1) / RATIO_MOST <= n;
}

/*
 * Finds the deflated data: that of a single chunk in place, that of several joined in room, which has space for the
 * whole file.  Returns false if a checksum is wrong, a chunk is missing or a critical chunk is unknown.
 */
static bool
gather_idat(const uint8_t *p, size_t n, uint8_t *room, const uint8_t **z, size_t *zn)
{
	bool begun = false, ended = false, end = false;
	struct img_png_chunk c;
	size_t at = IMG_PNG_CHUNK_FIRST;

	for (*zn = 0; !end; ) {
		if (!img_png_chunk_next(p, n, &at, &c) || libdeflate_crc32(0, c.type,
		    c.n + 4) != img_png_chunk_be32(c.type + 4 + c.n))
			return false;
		if (img_png_chunk_is(&c, "IDAT")) {
			if (ended)
				return false;
			if (!begun) {
				*z = c.type + 4;
			} else {
				if (*z != room)
					memcpy(room, *z, *zn);
				memcpy(room + *zn, c.type + 4, c.n);
				*z = room;
			}
			begun = true;
			*zn += c.n;
			continue;
		}
		ended = begun;
		end = img_png_chunk_is(&c, "IEND");
		/* Refuses all critical chunks but the first and the last. */
		if ((c.type[0] & 0x20) == 0 && !end &&
		    !(img_png_chunk_is(&c, "IHDR") && at == IMG_PNG_CHUNK_FIRST + 25))
			return false;
	}
	return begun && c.n == 0;
}

static bool
are_filters_known(const struct img_png_ihdr *h, const uint8_t *rows)
{
	for (uint32_t y = 0; y < h->h; y++)
		if (rows[y * (count_row_bytes(h) + 1)] >= FILTERS)
			return false;
	return true;
}

int
img_png_plain(struct libdeflate_decompressor *d, const uint8_t *p, size_t n, uint32_t pixels,
    struct buf *room, struct img_png_ihdr *h, uint8_t **rows)
{
	const uint8_t *z = NULL;
	size_t zn, all;

	if (!img_png_chunk_ihdr(p, n, h) || !is_header_plain(h, n, pixels))
		return 0;
	all = h->h * (count_row_bytes(h) + 1);
	room->n = 0;
	ERR_TRY(buf_room(room, all + (n > count_row_bytes(h) ? n : count_row_bytes(h))));
	*rows = room->p;
	return gather_idat(p, n, room->p + all, &z, &zn) &&
	    libdeflate_zlib_decompress(d, z, zn, *rows, all, NULL) == LIBDEFLATE_SUCCESS &&
	    are_filters_known(h, *rows);
}

/* The Paeth predictor: of left, up and corner, the one nearest to left + up - corner. */
static inline int
predict_paeth(int left, int up, int corner)
{
	int a = abs(up - corner), b = abs(left - corner), c = abs(left + up - 2 * corner);
	int near = b <= c ? up : corner;

	return a <= b && a <= c ? left : near;
}

/*
 * Undoes a filter of a row of n bytes, c for each pixel; up is the finished row above.  The left pixel stays in
 * registers, and c is constant in each call, so that the compiler computes the channels in parallel.
 */
static inline void
unfilter_with(unsigned filter, const uint8_t *row, const uint8_t *up, size_t n, uint32_t c, uint8_t *p)
{
	int left[4] = { 0 }, corner[4] = { 0 };

	for (size_t i = 0; i < n; i += c)
		for (uint32_t k = 0; k < c; k++) {
			int above = up[i + k];
			int guess = filter == 1 ? left[k] : filter == 3 ? (left[k] + above) / 2
			    : predict_paeth(left[k], above, corner[k]);

			left[k] = (row[i + k] + guess) & 0xff;
			corner[k] = above;
			p[i + k] = (uint8_t)left[k];
		}
}

#define BY_CHANNELS(filter)							\
	switch (c) {								\
	case 1: unfilter_with(filter, row, up, n, 1, p); break;			\
	case 2: unfilter_with(filter, row, up, n, 2, p); break;			\
	case 3: unfilter_with(filter, row, up, n, 3, p); break;			\
	default: unfilter_with(filter, row, up, n, 4, p);				\
	}

static void
unfilter_row(const uint8_t *row, const uint8_t *up, size_t n, uint32_t c, uint8_t *p)
{
	switch (*row++) {
	case 0:
		memmove(p, row, n);
		break;
	case 1:
		BY_CHANNELS(1)
		break;
	case 2:
		for (size_t i = 0; i < n; i++)
			p[i] = (uint8_t)(row[i] + up[i]);
		break;
	case 3:
		BY_CHANNELS(3)
		break;
	default:
		BY_CHANNELS(4)
	}
}

/* The row above the first is zero; it is stored after the last row. */
void
img_png_plain_unfilter(const struct img_png_ihdr *h, uint8_t *rows, uint8_t *p)
{
	size_t n = count_row_bytes(h);
	uint8_t *up = rows + h->h * (n + 1);

	memset(up, 0, n);
	for (uint32_t y = 0; y < h->h; y++, rows += n + 1, up = p, p += n)
		unfilter_row(rows, up, n, img_png_plain_channels(h), p);
}
