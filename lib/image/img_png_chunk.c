/* img_png_chunk - reads the chunks of a PNG.  For img_png. */
#include "image/img_png_chunk.h"

#include <string.h>

#define CHUNK_MOST	0x7fffffffu

uint32_t
img_png_chunk_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

bool
img_png_chunk_next(const uint8_t *p, size_t n, size_t *at, struct img_png_chunk *c)
{
	if (n < 12 || *at > n - 12)
		return false;
	c->n = img_png_chunk_be32(p + *at);
	c->type = p + *at + 4;
	if (c->n > CHUNK_MOST || c->n > n - *at - 12)
		return false;
	*at += 12 + (size_t)c->n;
	return true;
}

bool
img_png_chunk_is(const struct img_png_chunk *c, const char *type)
{
	return memcmp(c->type, type, 4) == 0;
}

bool
img_png_chunk_ihdr(const uint8_t *p, size_t n, struct img_png_ihdr *h)
{
	struct img_png_chunk c;
	size_t at = IMG_PNG_CHUNK_FIRST;

	if (!img_png_chunk_next(p, n, &at, &c) || !img_png_chunk_is(&c, "IHDR") || c.n != 13)
		return false;
	*h = (struct img_png_ihdr){ .w = img_png_chunk_be32(c.type + 4), .h = img_png_chunk_be32(c.type + 8),
	    .depth = c.type[12], .type = c.type[13], .interlace = c.type[16] };
	return c.type[14] == 0 && c.type[15] == 0;	/* the only methods of compression and filtering */
}
