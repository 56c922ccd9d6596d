/* img_png_exif - reads the orientation of a PNG.  For img_png. */
#include "image/img_png_exif.h"
#include "image/exif.h"
#include "image/img_png_chunk.h"

#include <ctype.h>

/* Twice the digits of the 64 KiB that a JPEG segment holds. */
#define TEXT_MOST	(1u << 18)

static const char *const keys[] = { "Raw profile type exif", "Raw profile type APP1" };

/* The length of the key and its zero if the text holds EXIF, else 0. */
static size_t
find_exif_key_length(const struct img_png_chunk *c)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		size_t n = strlen(keys[i]) + 1;

		if (c->n > n && memcmp(c->type + 4, keys[i], n) == 0)
			return n;
	}
	return 0;
}

/* Writes the uncompressed text of the chunk to room.  Returns its length, 0 on any failure. */
static size_t
inflate_text(struct libdeflate_decompressor *d, const struct img_png_chunk *c, struct buf *room)
{
	size_t at = find_exif_key_length(c), n = c->n - at, got = 0;
	const uint8_t *p = c->type + 4 + at;

	room->n = 0;
	if (buf_room(room, TEXT_MOST) < 0)
		return 0;
	if (img_png_chunk_is(c, "tEXt")) {
		got = n < TEXT_MOST ? n : TEXT_MOST;
		memcpy(room->p, p, got);
	} else if (*p != 0 || libdeflate_zlib_decompress(d, p + 1, n - 1, room->p, TEXT_MOST,
	    &got) != LIBDEFLATE_SUCCESS) {
		got = 0;	/* unknown compression, damaged, or too long */
	}
	return got;
}

static int
parse_hex_digit(uint8_t c)
{
	return isdigit(c) ? c - '0' : isxdigit(c) ? tolower(c) - 'a' + 10 : -1;
}

/* Decodes the hexadecimal digits of the text in place, after its first two words.  Returns the number of bytes. */
static size_t
decode_hex(uint8_t *p, size_t n)
{
	size_t i = 0, k = 0;

	for (int word = 0; word < 2; word++) {
		while (i < n && isspace(p[i]))
			i++;
		while (i < n && !isspace(p[i]))
			i++;
	}
	for (int high = -1, v; i < n; i++) {
		if (isspace(p[i]))
			continue;
		if ((v = parse_hex_digit(p[i])) < 0)
			break;
		if (high >= 0)
			p[k++] = (uint8_t)(high << 4 | v);
		high = high < 0 ? v : -1;
	}
	return k;
}

static unsigned
read_text_orientation(struct libdeflate_decompressor *d, const struct img_png_chunk *c, struct buf *room)
{
	size_t n = inflate_text(d, c, room);	/* may move room->p */

	n = decode_hex(room->p, n);
	return exif_read(room->p, n).orientation;
}

unsigned
img_png_exif(struct libdeflate_decompressor *d, const uint8_t *p, size_t n, struct buf *room)
{
	size_t at = IMG_PNG_CHUNK_FIRST;
	struct img_png_chunk c;
	unsigned orientation = 0;

	while (img_png_chunk_next(p, n, &at, &c))
		if (img_png_chunk_is(&c, "eXIf"))
			return exif_read(c.type + 4, c.n).orientation;
		else if (orientation == 0 && (img_png_chunk_is(&c, "tEXt") || img_png_chunk_is(&c, "zTXt")) &&
		    find_exif_key_length(&c) > 0)
			orientation = read_text_orientation(d, &c, room);
	return orientation > 0 ? orientation : 1;
}
