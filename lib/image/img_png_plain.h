/*
 * img_png_plain - decodes common PNGs fast, with libdeflate.  For img_png.
 *
 *	0x89 PNG \r \n 0x1a \n, then chunks: u32 length | type | data | u32 CRC, big-endian
 *
 * A plain PNG is grey or colour, with or without alpha, of 8 bits, not interlaced and without a palette, as data sets
 * have them.  libspng decodes or refuses all others, and damaged ones.  Source: W3C, Portable Network Graphics,
 * second edition.
 */
#ifndef IMAGE_IMG_PNG_PLAIN_H
#define IMAGE_IMG_PNG_PLAIN_H

#include "base/buf.h"

#include <libdeflate.h>
#include <stdbool.h>

#define IMG_PNG_SIGN	8u		/* bytes before the first chunk */

struct img_png_chunk {
	const uint8_t	*type;		/* 4 bytes; the data follow them */
	uint32_t	 n;		/* bytes of data */
};

struct img_png_ihdr {
	uint32_t	 h, w;
	uint8_t		 depth, type, interlace;	/* as in the file */
};

/*
 * Reads the chunk at *at and advances *at past it.  Returns false if the chunk is not complete.  Does not check the
 * CRC.
 */
bool	 img_png_chunk(const uint8_t *p, size_t n, size_t *at, struct img_png_chunk *c);
/* Whether the chunk has that type, four letters. */
bool	 img_png_is(const struct img_png_chunk *c, const char *type);
/* Reads the first chunk.  Returns false if it is not a valid IHDR. */
bool	 img_png_ihdr(const uint8_t *p, size_t n, struct img_png_ihdr *h);

/*
 * Inflates all rows, each after its filter byte, into room, which lends them.  Returns 1; 0 if the file is not plain,
 * is damaged or has more than that many pixels, so that libspng must decode it; or ERR_NOMEM.
 */
int	 img_png_plain(struct libdeflate_decompressor *z, const uint8_t *p, size_t n, uint32_t pixels,
	    struct buf *room, struct img_png_ihdr *h, uint8_t **rows);
/* Channels of a plain PNG. */
uint32_t img_png_plain_channels(const struct img_png_ihdr *h);
/* Undoes the filters of the rows of img_png_plain(), and writes the pixels to p. */
void	 img_png_plain_unfilter(const struct img_png_ihdr *h, uint8_t *rows, uint8_t *p);

#endif
