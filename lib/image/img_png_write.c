/* img_png_write - pixels in, a PNG out: serves img. */
#include "image/img_png_write.h"
#include "base/err.h"

#include <assert.h>
#include <libdeflate.h>
#include <stdbool.h>

/*
 * Small pictures are stored, not compressed.  One of CIFAR-10 has 3,115 bytes then instead of 2,407, and is read in
 * 0.5 microseconds instead of 11 (by libpng in 2 instead of 24): readers that make 100,000 samples a second live on that.
 */
#define STORED_MOST	4096u		/* pixels */
#define HEAD		8u		/* length and type, before a chunk's data */
#define FRAME		12u		/* what a chunk has beside data */

static void
be32(uint8_t *p, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * (3 - i));
}

/* Frames n bytes of data that stand at p + HEAD; returns what is behind. */
static uint8_t *
frame(uint8_t *p, const char *type, uint32_t n)
{
	be32(p, n);
	memcpy(p + 4, type, 4);
	be32(p + HEAD + n, libdeflate_crc32(0, p + 4, n + 4));
	return p + FRAME + n;
}

/* Rows as PNG has them, a filter's number before each: 0, or 1, where each byte is less that of the pixel before. */
static void
filter(const struct img *in, uint8_t number, uint8_t *to)
{
	size_t n = (size_t)in->w * in->c;

	for (uint32_t y = 0; y < in->h; y++) {
		const uint8_t *restrict p = in->p + y * n;
		uint8_t *restrict q = to + y * (n + 1);

		*q++ = number;
		memcpy(q, p, number == 0 ? n : in->c);
		if (number != 0)
			for (size_t i = in->c; i < n; i++)
				q[i] = (uint8_t)(p[i] - p[i - in->c]);
	}
}

static int
encode(struct libdeflate_compressor *z, const struct img *in, uint8_t number, struct buf *out)
{
	static const uint8_t sign[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
	size_t all = in->h * ((size_t)in->w * in->c + 1), most = libdeflate_zlib_compress_bound(z, all), n;
	uint8_t *p, *rows;
	int e;

	if ((e = buf_room(out, sizeof(sign) + 3 * FRAME + 13 + most + all)) < 0)
		return e;
	p = out->p + out->n;
	memcpy(p, sign, sizeof(sign));
	p += sizeof(sign);
	memset(p + HEAD, 0, 13);
	be32(p + HEAD, in->w);
	be32(p + HEAD + 4, in->h);
	p[HEAD + 8] = 8;
	p[HEAD + 9] = in->c == 1 ? 0 : 2;
	p = frame(p, "IHDR", 13);
	rows = p + 2 * FRAME + most;
	filter(in, number, rows);
	n = libdeflate_zlib_compress(z, rows, all, p + HEAD, most);
	assert(n > 0);
	p = frame(p, "IDAT", (uint32_t)n);
	p = frame(p, "IEND", 0);
	out->n = (size_t)(p - out->p);
	return 0;
}

int
img_png_write(const struct img *in, struct buf *out)
{
	bool small = (uint64_t)in->w * in->h <= STORED_MOST;
	struct libdeflate_compressor *z;
	int e;

	assert(in->c == 1 || in->c == 3);
	if ((uint64_t)in->w * in->h > IMG_PIXELS)
		return err_fail(ERR_LIMIT, "PNG: %ux%u is too large", in->w, in->h);
	if ((z = libdeflate_alloc_compressor(small ? 0 : 1)) == NULL)
		return err_nomem();
	e = encode(z, in, small ? 0 : 1, out);
	libdeflate_free_compressor(z);
	return e;
}
