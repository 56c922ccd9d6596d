/* img_png_exif - which way a PNG is up, from its chunks: serves img_png. */
#include "image/img_png_exif.h"
#include "image/exif.h"
#include "image/img_png_plain.h"

#include <ctype.h>

/* What a JPEG's segment holds, 64 KiB, in digits, is half as much. */
#define TEXT_MOST	(1u << 18)

static const char *const keys[] = { "Raw profile type exif", "Raw profile type APP1" };

/* The bytes of such a text behind its key and the zero, or 0. */
static size_t
behind_key(const struct img_png_chunk *c)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		size_t n = strlen(keys[i]) + 1;

		if (c->n > n && memcmp(c->type + 4, keys[i], n) == 0)
			return n;
	}
	return 0;
}

/* The text of such a chunk, in room.  Returns how many bytes; 0 also when there is no memory for it. */
static size_t
unfold(struct libdeflate_decompressor *d, const struct img_png_chunk *c, struct buf *room)
{
	size_t at = behind_key(c), n = c->n - at, got = 0;
	const uint8_t *p = c->type + 4 + at;

	room->n = 0;
	if (buf_room(room, TEXT_MOST) < 0)
		return 0;
	if (img_png_is(c, "tEXt")) {
		got = n < TEXT_MOST ? n : TEXT_MOST;
		memcpy(room->p, p, got);
	} else if (*p != 0 || libdeflate_zlib_decompress(d, p + 1, n - 1, room->p, TEXT_MOST, &got) != LIBDEFLATE_SUCCESS) {
		got = 0;	/* packed in another way, damaged, or too long */
	}
	return got;
}

static int
digit(uint8_t c)
{
	return isdigit(c) ? c - '0' : isxdigit(c) ? tolower(c) - 'a' + 10 : -1;
}

/* The bytes that the text writes out, in its place. */
static size_t
from_hex(uint8_t *p, size_t n)
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
		if ((v = digit(p[i])) < 0)
			break;
		if (high >= 0)
			p[k++] = (uint8_t)(high << 4 | v);
		high = high < 0 ? v : -1;
	}
	return k;
}

static unsigned
read_text(struct libdeflate_decompressor *d, const struct img_png_chunk *c, struct buf *room)
{
	size_t n = unfold(d, c, room);	/* which may move room */

	n = from_hex(room->p, n);
	return exif_read(room->p, n).turn;
}

unsigned
img_png_exif(struct libdeflate_decompressor *d, const uint8_t *p, size_t n, struct buf *room)
{
	size_t at = IMG_PNG_SIGN;
	struct img_png_chunk c;
	unsigned turn = 0;

	while (img_png_chunk(p, n, &at, &c))
		if (img_png_is(&c, "eXIf"))
			return exif_read(c.type + 4, c.n).turn;
		else if (turn == 0 && (img_png_is(&c, "tEXt") || img_png_is(&c, "zTXt")) && behind_key(&c) > 0)
			turn = read_text(d, &c, room);
	return turn > 0 ? turn : 1;
}
