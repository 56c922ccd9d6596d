/*
 * img_png_chunk - reads the chunks of a PNG.  For img_png.
 *
 *	0x89 PNG \r \n 0x1a \n, then chunks: u32 length | type | data | u32 CRC, big-endian
 *
 * Source: W3C, Portable Network Graphics, second edition.
 */
#ifndef IMAGE_IMG_PNG_CHUNK_H
#define IMAGE_IMG_PNG_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMG_PNG_CHUNK_FIRST	8u	/* where the first chunk starts */

struct img_png_chunk {
	const uint8_t	*type;		/* 4 bytes; the data follow them */
	uint32_t	 n;		/* bytes of data */
};

struct img_png_ihdr {
	uint32_t	 h, w;
	uint8_t		 depth, type, interlace;	/* as in the file */
};

uint32_t img_png_chunk_be32(const uint8_t *p);
/*
 * Reads the chunk at *at and advances *at past it.  Returns false if the chunk is not complete.  Does not check the
 * CRC.
 */
bool	 img_png_chunk_next(const uint8_t *p, size_t n, size_t *at, struct img_png_chunk *c);
/* Whether the chunk has that type, four letters. */
bool	 img_png_chunk_is(const struct img_png_chunk *c, const char *type);
/* Reads the first chunk.  Returns false if it is not a valid IHDR. */
bool	 img_png_chunk_ihdr(const uint8_t *p, size_t n, struct img_png_ihdr *h);

#endif
