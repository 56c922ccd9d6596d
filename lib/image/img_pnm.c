/* img_pnm - decodes PBM, PGM and PPM (PNM), as text or bytes.  For img. */
#include "image/img_formats.h"
#include "base/err.h"

#define SAMPLE_MOST	65535u	/* the largest sample that the format has */

struct pnm {
	const uint8_t	*p;
	size_t		 n, at;		/* at: offset of the next byte */
	uint32_t	 c, h, w, most;	/* most: the sample that stands for white */
	bool		 text, bitmap;
};

/* Finds the next byte that is neither blank nor within a comment, which ends with its line.  Returns it, or 0. */
static uint8_t
skip_blanks(struct pnm *f)
{
	bool comment = false;

	for (; f->at < f->n; f->at++) {
		uint8_t b = f->p[f->at];

		comment = b == '#' || (comment && b != '\n' && b != '\r');
		if (!comment && b != ' ' && (b < '\t' || b > '\r'))
			return b;
	}
	return 0;
}

/* Reads a number of at most INT32_MAX.  Returns whether there is one. */
static bool
parse_pnm_number(struct pnm *f, uint32_t *v)
{
	uint8_t b = skip_blanks(f);

	*v = 0;
	if (b < '0' || b > '9')
		return false;
	for (; f->at < f->n && f->p[f->at] >= '0' && f->p[f->at] <= '9'; f->at++) {
		if (*v > (INT32_MAX - 9) / 10)
			return false;
		*v = *v * 10 + (f->p[f->at] - '0');
	}
	return true;
}

static int
read_head(struct pnm *f, const uint8_t *data, size_t n, uint32_t pixels)
{
	uint8_t kind = n > 1 ? data[1] : 0;

	*f = (struct pnm){ .p = data, .n = n, .at = 2, .c = kind == '3' || kind == '6' ? 3 : 1, .most = 1,
	    .text = kind <= '3', .bitmap = kind == '1' || kind == '4' };
	if (!parse_pnm_number(f, &f->w) || !parse_pnm_number(f, &f->h) || f->w == 0 || f->h == 0)
		return err_fail(ERR_FORMAT, "PNM: no size in its header");
	if ((uint64_t)f->w * f->h > pixels)
		return err_fail(ERR_PIXELS, "PNM: %ux%u is more than %u pixels", f->w, f->h, pixels);
	if (!f->bitmap && (!parse_pnm_number(f, &f->most) || f->most == 0 || f->most > SAMPLE_MOST))
		return err_fail(ERR_FORMAT, "PNM: its header has no largest sample of 1 to %u", SAMPLE_MOST);
	f->at++;	/* one blank ends the header */
	return 0;
}

/* Reads the next sample of a text.  The digits of a bitmap need no blanks between them. */
static bool
parse_sample(struct pnm *f, uint32_t *v)
{
	uint8_t b;

	if (!f->bitmap)
		return parse_pnm_number(f, v);
	b = skip_blanks(f);
	*v = b - '0';
	f->at++;
	return b == '0' || b == '1';
}

/* Reads a row of samples to 8 bits each.  A bit of 1 is black.  The bytes of a row are there unless it is text. */
static int
read_row(struct pnm *f, uint8_t *to)
{
	const uint8_t *p = f->p + f->at;
	size_t n = (size_t)f->w * f->c, wide = f->most > 255 ? 2 : 1;

	for (size_t i = 0; i < n; i++) {
		uint32_t v;

		if (f->text && !parse_sample(f, &v))
			return err_fail(ERR_FORMAT, "PNM: ends early, or has a word that is not a number");
		else if (!f->text)
			v = f->bitmap ? p[i / 8] >> (7 - i % 8) & 1 : wide == 1 ? p[i]
			    : (uint32_t)p[i * 2] << 8 | p[i * 2 + 1];
		if (v > f->most)
			return err_fail(ERR_FORMAT, "PNM: a sample of %u, above the %u of its header", v, f->most);
		to[i] = (uint8_t)((v * 255 + f->most / 2) / f->most ^ (f->bitmap ? 255 : 0));
	}
	if (!f->text)
		f->at += f->bitmap ? (n + 7) / 8 : n * wide;
	return 0;
}

/* The fewest bytes that hold the samples. */
static uint64_t
count_least_bytes(const struct pnm *f)
{
	uint64_t row = (uint64_t)f->w * f->c;

	return f->h * (f->text ? row : f->bitmap ? (row + 7) / 8 : row * (f->most > 255 ? 2 : 1));
}

int
img_pnm_head(const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head)
{
	struct pnm f;
	int e = read_head(&f, data, n, pixels);

	*head = (struct img_head){ .format = IMG_PNM, .c = f.c, .h = f.h, .w = f.w, .orientation = 1,
	    .odd = f.most > 255, .lossless = true };
	return e;
}

int
img_pnm_decode(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room, struct img *out)
{
	struct pnm f;
	size_t area, from;
	int e = read_head(&f, data, n, pixels);

	room->n = 0;
	if (e == 0 && (f.at > n || count_least_bytes(&f) > n - f.at))
		e = err_fail(ERR_FORMAT, "PNM: ends early");
	if (e < 0)
		return e;
	if (c == 0)
		c = f.c;
	area = (size_t)f.h * f.w;
	/* Grey that becomes colour is read after the room of the result. */
	from = c > f.c ? area * c : 0;
	if ((e = buf_room(room, from + area * f.c)) < 0)
		return e;
	*out = (struct img){ .p = room->p, .c = c, .h = f.h, .w = f.w };
	for (uint32_t y = 0; e == 0 && y < f.h; y++)
		e = read_row(&f, room->p + from + (size_t)y * f.w * f.c);
	if (e == 0 && c != f.c)
		img_convert_channels(room->p + from, f.c, area, c, room->p);
	return e;
}
