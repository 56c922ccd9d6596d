/* img_raster - decodes BMP of 8, 24 and 32 bits, and PGM and PPM (PNM).  For img. */
#include "image/img_raster.h"
#include "base/err.h"
#include "base/io.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <turbojpeg.h>
#include <unistd.h>

#define BMP_FILE	14u	/* bytes before the header */
#define BMP_OLD		12u	/* bytes of OS/2's header, whose sizes have 16 bits */
#define BMP_HEAD	40u	/* bytes of the header that turbojpeg knows */
#define BMP_LAST	124u	/* bytes of the longest header */
#define BMP_MASKS	3u	/* a compression: none, with masks of the colours */
#define SIDE_MOST	65500u	/* turbojpeg's limit of height and width */

static int
check_size(const char *name, uint32_t pixels, const struct img_head *head)
{
	if (head->w == 0 || head->h == 0)
		return err_fail(ERR_FORMAT, "%s: no size in its header", name);
	if (head->w > SIDE_MOST || head->h > SIDE_MOST || (uint64_t)head->w * head->h > pixels)
		return err_fail(ERR_LIMIT, "%s: %ux%u is more than %u pixels", name, head->w, head->h, pixels);
	return 0;
}

int
img_bmp_head(const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head)
{
	*head = (struct img_head){ .format = IMG_BMP, .c = 3, .orientation = 1, .lossless = true };
	if (n >= 26 && le_get32(data + 14) == BMP_OLD) {
		head->w = data[18] | (uint32_t)data[19] << 8;
		head->h = data[20] | (uint32_t)data[21] << 8;
	} else if (n >= 26) {
		head->w = le_get32(data + 18);
		head->h = le_get32(data + 22);
		if (head->h > INT32_MAX)	/* rows from the top down */
			head->h = -head->h;
	}
	return check_size("BMP", pixels, head);
}

/* Reads a number after blanks and comments, which end with their line. */
static uint32_t
parse_pnm_number(const uint8_t *p, size_t n, size_t *at)
{
	uint32_t v = 0;

	for (bool comment = false; *at < n && (comment || p[*at] < '0' || p[*at] > '9'); ++*at)
		comment = p[*at] == '#' || (comment && p[*at] != '\n');
	for (; *at < n && p[*at] >= '0' && p[*at] <= '9' && v <= SIDE_MOST; ++*at)
		v = v * 10 + (uint32_t)(p[*at] - '0');
	return v;
}

int
img_pnm_head(const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head)
{
	size_t at = 2;

	if (n < 2 || data[1] == '1' || data[1] == '4')
		return err_fail(ERR_NOTSUP, "PNM: bitmaps (PBM) are not read, only PGM and PPM");
	*head = (struct img_head){ .format = IMG_PNM, .c = data[1] == '2' || data[1] == '5' ? 1 : 3, .orientation = 1,
	    .lossless = true };
	head->w = parse_pnm_number(data, n, &at);
	head->h = parse_pnm_number(data, n, &at);
	return check_size("PNM", pixels, head);
}

/* A file's bytes in two parts. */
struct parts {
	const uint8_t	*head, *rest;
	size_t		 head_n, n;
};

/* Decodes an image of that header to room. */
static int
load_raster(const char *name, const struct parts *file, uint32_t c, const struct img_head *head, struct buf *room,
    struct img *out)
{
	int fd = memfd_create("image", MFD_CLOEXEC), w, h, format, e;
	unsigned char *p = NULL;
	char path[32];

	*out = (struct img){ .c = c > 0 ? c : head->c, .h = head->h, .w = head->w };
	format = head->c == 1 ? TJPF_GRAY : TJPF_RGB;
	if (fd < 0)
		return err_sys("%s: file in memory", name);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if ((e = io_write(fd, file->head, file->head_n)) == 0 && (e = io_write(fd, file->rest, file->n)) == 0 &&
	    (p = tjLoadImage(path, &w, 1, &h, &format, 0)) == NULL)
		e = err_fail(ERR_FORMAT, "%s: %s", name, tjGetErrorStr2(NULL));
	close(fd);
	if (e == 0 && ((uint32_t)w != head->w || (uint32_t)h != head->h))
		e = err_fail(ERR_FORMAT, "%s: a size that differs from its header", name);
	room->n = 0;
	if (e == 0 && (e = buf_room(room, (size_t)h * (size_t)w * out->c)) == 0) {
		img_convert_channels(p, head->c, (size_t)h * (size_t)w, out->c, room->p);
		out->p = room->p;
	}
	tjFree(p);
	return e;
}

/*
 * Writes the first BMP_FILE + BMP_HEAD bytes of a file that turbojpeg reads, if only its header is longer or its rows
 * run from the top down.  Returns the bytes of the file that they replace.
 */
static size_t
simplify_bmp(const uint8_t *data, size_t n, uint8_t *to)
{
	static const uint8_t usual[] = { 0, 0, 0xff, 0, 0, 0xff, 0, 0, 0xff, 0, 0, 0 };	/* masks of BGRX */
	uint32_t size = n >= BMP_FILE + BMP_HEAD ? le_get32(data + BMP_FILE) : 0;

	if (size < BMP_HEAD || size > BMP_LAST || n < BMP_FILE + size + sizeof(usual))
		return 0;
	memcpy(to, data, BMP_FILE + BMP_HEAD);
	le_put32(to + 10, le_get32(data + 10) - (size - BMP_HEAD));
	le_put32(to + BMP_FILE, BMP_HEAD);
	if (le_get32(data + 22) > INT32_MAX)
		le_put32(to + 22, -le_get32(data + 22));
	if (data[28] == 32 && le_get32(data + 30) == BMP_MASKS &&
	    memcmp(data + BMP_FILE + BMP_HEAD, usual, sizeof(usual)) == 0)
		le_put32(to + 30, 0);
	return BMP_FILE + size;
}

static void
flip_rows(uint8_t *p, const struct img *im)
{
	size_t row = (size_t)im->w * im->c;

	for (uint32_t y = 0; y < im->h / 2; y++)
		for (size_t i = 0; i < row; i++) {
			uint8_t *a = p + y * row + i, *b = p + (im->h - 1 - y) * row + i, was = *a;

			*a = *b;
			*b = was;
		}
}

int
img_bmp_decode(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room, struct img *out)
{
	uint8_t simple[BMP_FILE + BMP_HEAD];
	struct img_head head;
	struct parts file;
	size_t replaced;
	int e;

	if ((e = img_bmp_head(data, n, pixels, &head)) < 0)
		return e;
	replaced = simplify_bmp(data, n, simple);
	file = (struct parts){ simple, data + replaced, replaced > 0 ? sizeof(simple) : 0, n - replaced };
	e = load_raster("BMP", &file, c, &head, room, out);
	if (e == 0 && replaced > 0 && le_get32(data + 22) > INT32_MAX)
		flip_rows(room->p, out);
	return e;
}

int
img_pnm_decode(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room, struct img *out)
{
	struct img_head head;
	int e = img_pnm_head(data, n, pixels, &head);

	return e < 0 ? e : load_raster("PNM", &(struct parts){ data, data, 0, n }, c, &head, room, out);
}
