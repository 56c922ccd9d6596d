/*
 * img_jpeg_scan - a JPEG in, its header and whether all of it is there out: no pixels.
 *
 * libjpeg knows warnings by number, where turbojpeg keeps the text of the first.
 */
#ifndef IMAGE_IMG_JPEG_SCAN_H
#define IMAGE_IMG_JPEG_SCAN_H

#include "image/exif.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct img_jpeg_head {
	uint32_t	 h, w;
	uint32_t	 c;		/* channels as stored: 1, 3 or 4 */
	bool		 inverted;	/* CMYK as Adobe stores it: 255 - ink */
	bool		 ycc;		/* YCbCr of 8 bits, or grey: chroma every 1 or 2 pixels, as here */
	uint32_t	 sub_h, sub_w;
	struct exif	 exif;		/* its place counts from the file's start */
};

struct img_jpeg_scan;

/* Returns 0, ERR_NOTSUP (libjpeg is not the one that this was made for) or ERR_NOMEM. */
int	 img_jpeg_scan_new(struct img_jpeg_scan **s);
void	 img_jpeg_scan_free(struct img_jpeg_scan *s);	/* NULL is fine */
/* Returns 0, ERR_FORMAT, ERR_LIMIT (more pixels) or ERR_NOMEM. */
int	 img_jpeg_scan_head(struct img_jpeg_scan *s, const uint8_t *data, size_t n, uint32_t pixels,
	    struct img_jpeg_head *head);
/*
 * Decodes all codes up to the end of the image.  Returns 0; ERR_FORMAT when
 * some are bad or missing; ERR_LIMIT or ERR_NOMEM.  Trifles that lose no pixel
 * pass: bytes too many before a marker, which many photographs of ImageNet
 * have, versions and colour codes that nobody knows.
 */
int	 img_jpeg_scan_check(struct img_jpeg_scan *s, const uint8_t *data, size_t n);

#endif
