/*
 * exif - EXIF bytes in, which way is up out.
 *
 * EXIF is a TIFF file inside a picture: "II" or "MM" for the byte order, 42,
 * the place of the first directory; there the entry 0x112 says 1 to 8.
 * Source: CIPA DC-008 (Exif 2.3), 4.6.
 */
#ifndef IMAGE_EXIF_H
#define IMAGE_EXIF_H

#include <stddef.h>
#include <stdint.h>

struct exif {
	unsigned	 turn;		/* 1 to 8, see turn.h; 1 also when nothing sensible is said */
	size_t		 at;		/* the two bytes that say so; 0: there are none */
};

/* Looks through n bytes from the byte order on, or from "Exif\0\0" before it. */
struct exif	 exif_read(const uint8_t *p, size_t n);
/* Writes there that the picture is upright. */
void		 exif_set_upright(uint8_t *p, const struct exif *x);

#endif
