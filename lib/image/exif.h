/*
 * exif - reads the orientation from EXIF metadata.
 *
 * EXIF is a TIFF file inside an image: "II" or "MM" for the byte order, 42, and the offset of the first
 * directory.  The directory's entry 0x112 is the orientation, 1 to 8.  Source: CIPA DC-008 (Exif 2.3), 4.6.
 */
#ifndef IMAGE_EXIF_H
#define IMAGE_EXIF_H

#include <stddef.h>
#include <stdint.h>

struct exif {
	unsigned	 orientation;		/* 1 to 8, see orient.h; 1 if there is no valid entry */
	size_t		 at;		/* offset of the two bytes that hold it; 0: there are none */
};

/* Reads n bytes that start with the byte order, or with "Exif\0\0" before it. */
struct exif	 exif_read(const uint8_t *p, size_t n);
/* Sets the orientation in p to 1, upright. */
void		 exif_set_upright(uint8_t *p, const struct exif *x);

#endif
