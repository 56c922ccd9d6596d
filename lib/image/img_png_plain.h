/*
 * img_png_plain - a plain PNG in, its rows out, through libdeflate: serves img_png.
 *
 *	0x89 PNG \r \n 0x1a \n, then chunks: u32 length | type | data | u32 CRC, big-endian
 *
 * Plain is grey, colour, or either with alpha, of 8 bits, neither interlaced nor with a
 * palette: what data sets are made of.  Whatever is not plain, or not right, is left to libspng to judge.
 * Source: W3C, Portable Network Graphics, second edition.
 */
#ifndef IMAGE_IMG_PNG_PLAIN_H
#define IMAGE_IMG_PNG_PLAIN_H

#include "base/buf.h"

#include <libdeflate.h>
#include <stdbool.h>

#define IMG_PNG_SIGN	8u		/* bytes before the first chunk */

struct img_png_chunk {
	const uint8_t	*type;		/* 4 bytes; the data follow them */
	uint32_t	 n;		/* of data */
};

struct img_png_ihdr {
	uint32_t	 h, w;
	uint8_t		 depth, type, interlace;	/* as the file has them */
};

/* The chunk at *at, which moves behind it; false when no whole chunk stands there.  The CRC is not looked at. */
bool	 img_png_chunk(const uint8_t *p, size_t n, size_t *at, struct img_png_chunk *c);
/* Whether the type is that of four letters. */
bool	 img_png_is(const struct img_png_chunk *c, const char *type);
/* The first chunk's content; false when it is none. */
bool	 img_png_ihdr(const uint8_t *p, size_t n, struct img_png_ihdr *h);

/*
 * Inflates all rows, each behind its filter's byte, if the file is plain,
 * whole, and all its checksums fit: 1.  0 when somebody else has to look.  Or
 * ERR_NOMEM.  The rows are lent by room, and only when `pixels` allows them.
 */
int	 img_png_plain(struct libdeflate_decompressor *z, const uint8_t *p, size_t n, uint32_t pixels,
	    struct buf *room, struct img_png_ihdr *h, uint8_t **rows);
/* Channels of a plain one. */
uint32_t img_png_plain_channels(const struct img_png_ihdr *h);
/* Undoes the filters and puts the rows together at p, without those bytes; rows are those img_png_plain() lends. */
void	 img_png_plain_unfilter(const struct img_png_ihdr *h, uint8_t *rows, uint8_t *p);

#endif
