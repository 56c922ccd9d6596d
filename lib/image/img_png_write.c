/* img_png_write - encodes PNG.  For img. */
#include "image/img_formats.h"
#include "base/err.h"

#include <assert.h>
#include <libdeflate.h>
#include <stdbool.h>

/*
 * Small images are stored uncompressed.  A CIFAR-10 image then has 3,115 bytes instead of 2,407, and decodes in
 * 0.5 microseconds instead of 11 (by libpng 2 instead of 24), as readers of 100,000 samples a second need.
 */
#define STORED_MOST	4096u		/* pixels */
#define MOST		(1u << 30)	/* bytes of pixels that surely fit a chunk */
#define HEAD		8u		/* bytes of a chunk before its data: length, type */
#define FRAME		12u		/* bytes of a chunk besides its data */

static void
write_be32(uint8_t *p, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * (3 - i));
}

/* Completes a chunk of n bytes of data at p + HEAD.  Returns its end. */
static uint8_t *
finish_chunk(uint8_t *p, const char *type, uint32_t n)
{
	write_be32(p, n);
	memcpy(p + 4, type, 4);
	write_be32(p + HEAD + n, libdeflate_crc32(0, p + 4, n + 4));
	return p + FRAME + n;
}

/* Writes the rows, each after its filter number: 0, none; 1, the difference from the previous pixel. */
static void
filter_rows(const struct img *in, uint8_t number, uint8_t *to)
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
encode_png(struct libdeflate_compressor *z, const struct img *in, uint8_t number, struct buf *out)
{
	static const uint8_t signature[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
	size_t all = in->h * ((size_t)in->w * in->c + 1), bound = libdeflate_zlib_compress_bound(z, all), n;
	uint8_t *p, *rows;

	ERR_TRY(buf_room(out, sizeof(signature) + 3 * FRAME + 13 + bound + all));
	p = out->p + out->n;
	memcpy(p, signature, sizeof(signature));
	p += sizeof(signature);
	memset(p + HEAD, 0, 13);
	write_be32(p + HEAD, in->w);
	write_be32(p + HEAD + 4, in->h);
	p[HEAD + 8] = 8;
	p[HEAD + 9] = in->c == 1 ? 0 : 2;
	p = finish_chunk(p, "IHDR", 13);
	rows = p + 2 * FRAME + bound;
	filter_rows(in, number, rows);
	n = libdeflate_zlib_compress(z, rows, all, p + HEAD, bound);
	assert(n > 0);
	p = finish_chunk(p, "IDAT", (uint32_t)n);
	p = finish_chunk(p, "IEND", 0);
	out->n = (size_t)(p - out->p);
	return 0;
}

int
img_encode_png(const struct img *in, struct buf *out)
{
	bool small = (uint64_t)in->w * in->h <= STORED_MOST;
	struct libdeflate_compressor *z;
	int e;

	assert(in->c == 1 || in->c == 3);
	if (in->h * ((uint64_t)in->w * in->c + 1) > MOST)
		return err_fail(ERR_LIMIT, "PNG: %ux%u is too large", in->w, in->h);
	if ((z = libdeflate_alloc_compressor(small ? 0 : 1)) == NULL)
		return err_nomem();
	e = encode_png(z, in, small ? 0 : 1, out);
	libdeflate_free_compressor(z);
	return e;
}
