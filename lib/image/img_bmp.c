/* img_bmp - decodes BMP.  For img. */
#include "image/img_formats.h"
#include "base/err.h"

#define FILE_HEAD	14u	/* bytes before the header */
#define OLD_HEAD	12u	/* bytes of the header of OS/2 1.x, whose sizes have 16 bits */
#define HEAD		40u	/* bytes of Windows 3's header, with which the longer ones begin */
#define OS2_HEAD	64u	/* most bytes of the header of OS/2 2.x, and of one with masks */
#define V4_HEAD		108u	/* bytes of the header of Windows 95 */
#define V5_HEAD		124u	/* bytes of the header of Windows 98 */
#define COLOURS		256u

enum compression { PLAIN, RUNS_8, RUNS_4, MASKS, MASKS_ALPHA = 6 };

struct bmp {
	const uint8_t	*p;
	size_t		 n;
	uint64_t	 at;		/* offset of the pixels */
	uint32_t	 h, w;
	bool		 down;		/* the first row stored is the top one */
	uint32_t	 bits;		/* bits of a pixel */
	uint32_t	 compression;
	uint32_t	 mask[3];	/* masks of red, green and blue */
	uint8_t		 colour[COLOURS][3];	/* the palette; the colours it lacks are black */
};

static bool
has_known_pixels(const struct bmp *b)
{
	switch (b->compression) {
	case PLAIN: return b->bits == 1 || b->bits == 2 || b->bits == 4 || b->bits == 8 || b->bits == 16 ||
	    b->bits == 24 || b->bits == 32;
	case RUNS_8: return b->bits == 8;
	case RUNS_4: return b->bits == 4;
	case MASKS:
	case MASKS_ALPHA: return b->bits == 16 || b->bits == 32;
	default: return false;
	}
}

/* Reads n colours of `size` bytes. */
static void
read_palette(struct bmp *b, size_t at, uint32_t n, size_t size)
{
	for (uint32_t i = 0; i < n && i < COLOURS && at + size <= b->n && at + size <= b->at; i++, at += size)
		for (unsigned k = 0; k < 3; k++)
			b->colour[i][k] = b->p[at + 2 - k];
}

static void
read_masks(struct bmp *b)
{
	static const uint32_t wide[] = { 0xff0000, 0xff00, 0xff }, narrow[] = { 0x7c00, 0x3e0, 0x1f };

	memcpy(b->mask, b->bits == 16 ? narrow : wide, sizeof(b->mask));
	if (b->compression != PLAIN && b->n >= FILE_HEAD + HEAD + sizeof(b->mask))
		for (unsigned k = 0; k < 3; k++)
			b->mask[k] = le_get32(b->p + FILE_HEAD + HEAD + k * 4);
}

/* Finds the pixels, which follow header and palette if the file does not say where they are, and reads the palette. */
static int
read_layout(struct bmp *b, uint32_t size, uint32_t colours, size_t step)
{
	bool masks = b->compression == MASKS || b->compression == MASKS_ALPHA;
	uint64_t end = FILE_HEAD + (uint64_t)size + (masks && size == HEAD ? sizeof(b->mask) : 0);

	if (colours == 0 && b->bits <= 8)
		colours = 1u << b->bits;
	if (b->at == 0)
		b->at = end + (uint64_t)colours * step;
	if (end > b->n || b->at > b->n)
		return err_fail(ERR_FORMAT, "BMP: ends early");
	if (b->at < end)
		return err_fail(ERR_FORMAT, "BMP: its pixels start within its header");
	if (b->bits <= 8)
		read_palette(b, end, colours, step);
	return 0;
}

static int
read_head(struct bmp *b, const uint8_t *data, size_t n, uint32_t pixels)
{
	uint32_t size = n >= FILE_HEAD + OLD_HEAD ? le_get32(data + FILE_HEAD) : 0, colours = 0;
	bool old = size == OLD_HEAD;

	*b = (struct bmp){ .p = data, .n = n };
	if (!old && (size < HEAD || (size > OS2_HEAD && size != V4_HEAD && size != V5_HEAD) || n < FILE_HEAD + HEAD))
		return err_fail(ERR_FORMAT, "BMP: it ends in its header, or has an unknown one");
	b->at = le_get32(data + 10);
	b->w = old ? le_get16(data + 18) : le_get32(data + 18);
	b->h = old ? le_get16(data + 20) : le_get32(data + 22);
	b->bits = le_get16(data + (old ? 24 : 28));
	b->down = b->h > INT32_MAX;
	if (b->down)
		b->h = -b->h;
	if (!old) {
		b->compression = le_get32(data + 30);
		colours = le_get32(data + 46);
	}
	if (b->w == 0 || b->h == 0 || b->w > INT32_MAX || b->h > INT32_MAX)
		return err_fail(ERR_FORMAT, "BMP: no size in its header");
	if ((uint64_t)b->w * b->h > pixels)
		return err_fail(ERR_PIXELS, "BMP: %ux%u is more than %u pixels", b->w, b->h, pixels);
	if (!has_known_pixels(b))
		return err_fail(ERR_NOTSUP, "BMP: compression %u with %u bits a pixel", b->compression, b->bits);
	read_masks(b);
	return read_layout(b, size, colours, old ? 3 : 4);
}

/* The bits of a mask as a number, scaled to 8 bits. */
static uint8_t
scale_masked(uint32_t pixel, uint32_t mask)
{
	uint32_t most = mask != 0 ? mask >> __builtin_ctz(mask) : 1;

	return mask == 0 ? 0 : (uint8_t)(((uint64_t)((pixel & mask) >> __builtin_ctz(mask)) * 255 + most / 2) / most);
}

/* Converts a row that is not compressed to RGB. */
static void
read_row(const struct bmp *b, const uint8_t *p, uint8_t *to)
{
	for (size_t x = 0; x < b->w; x++, to += 3)
		switch (b->bits) {
		case 24:
			for (unsigned k = 0; k < 3; k++)
				to[k] = p[x * 3 + 2 - k];
			break;
		case 16:
		case 32:
			for (unsigned k = 0; k < 3; k++)
				to[k] = scale_masked(b->bits == 16 ? le_get16(p + x * 2) : le_get32(p + x * 4),
				    b->mask[k]);
			break;
		default:
			memcpy(to, b->colour[p[x * b->bits / 8] >> (8 - b->bits - x * b->bits % 8) &
			    ((1u << b->bits) - 1)], 3);
		}
}

/* Where row y of those stored begins in the pixels to [h,w,3]. */
static uint8_t *
locate_row(const struct bmp *b, uint32_t y, uint8_t *to)
{
	return to + (size_t)(b->down ? y : b->h - 1 - y) * b->w * 3;
}

static int
read_rows(const struct bmp *b, uint8_t *to)
{
	size_t row = (((size_t)b->w * b->bits + 31) / 32) * 4;

	for (uint32_t y = 0; y < b->h; y++)
		read_row(b, b->p + b->at + y * row, locate_row(b, y, to));
	return 0;
}

/* Whether the file holds all rows; the padding of the last one may be missing. */
static bool
holds_rows(const struct bmp *b)
{
	uint64_t bits = (uint64_t)b->w * b->bits, row = (bits + 31) / 32 * 4;

	return b->compression == RUNS_8 || b->compression == RUNS_4 ||
	    row * (b->h - 1) + (bits + 7) / 8 <= b->n - b->at;
}

/* Sets `run` pixels from x on to indices of 4 or 8 bits that repeat every `of`, and none beyond the end of the row. */
static void
put_run(const struct bmp *b, const uint8_t *p, uint32_t run, uint32_t of, uint32_t x, uint8_t *row)
{
	for (uint32_t i = 0; i < run && x < b->w; i++, x++) {
		uint32_t k = i % of;
		unsigned index = b->bits == 8 ? p[k] : k % 2 == 0 ? p[k / 2] >> 4 : p[k / 2] & 15;

		memcpy(row + (size_t)x * 3, b->colour[index], 3);
	}
}

/* Decodes run lengths.  Pixels that none sets have the first colour. */
static int
read_runs(const struct bmp *b, uint8_t *to)
{
	const uint8_t *p = b->p + b->at, *end = b->p + b->n;
	uint32_t x = 0, y = 0;

	for (size_t i = 0; i < (size_t)b->h * b->w; i++)
		memcpy(to + i * 3, b->colour[0], 3);
	for (;;) {
		uint32_t run, what;

		if (end - p < 2)
			return y + (x >= b->w) >= b->h ? 0 : err_fail(ERR_FORMAT, "BMP: ends early");
		run = p[0];
		what = p[1];
		p += 2;
		if (y >= b->h || (run == 0 && what == 1))
			return 0;
		if (run > 0) {
			put_run(b, p - 1, run, b->bits == 8 ? 1 : 2, x, locate_row(b, y, to));
			x += x < b->w ? run : 0;
		} else if (what == 0) {
			x = 0;
			y++;
		} else {
			uint32_t bytes = what == 2 ? 2 : (what * b->bits + 15) / 16 * 2;

			if ((size_t)(end - p) < bytes)
				return err_fail(ERR_FORMAT, "BMP: ends early");
			if (what == 2)
				y += p[1];
			else
				put_run(b, p, what, what, x, locate_row(b, y, to));
			x += x < b->w ? (what == 2 ? p[0] : what) : 0;
			p += bytes;
		}
	}
}

int
img_bmp_head(const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head)
{
	struct bmp b;
	int e = read_head(&b, data, n, pixels);

	*head = (struct img_head){ .format = IMG_BMP, .c = 3, .h = b.h, .w = b.w, .orientation = 1, .lossless = true };
	return e;
}

int
img_bmp_decode(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room, struct img *out)
{
	struct bmp b;
	int e = read_head(&b, data, n, pixels);

	room->n = 0;
	if (e == 0 && !holds_rows(&b))
		e = err_fail(ERR_FORMAT, "BMP: ends early");
	if (e < 0 || (e = buf_room(room, (size_t)b.h * b.w * 3)) < 0)
		return e;
	ERR_TRY(b.compression == RUNS_8 || b.compression == RUNS_4 ? read_runs(&b, room->p) : read_rows(&b, room->p));
	*out = (struct img){ .p = room->p, .c = c == 1 ? 1 : 3, .h = b.h, .w = b.w };
	if (c == 1)
		img_convert_channels(room->p, 3, (size_t)b.h * b.w, 1, room->p);
	return 0;
}
