/*
 * img_jpeg_scan - reads the header of a JPEG and checks all of it, without making pixels.
 *
 * It uses libjpeg, which numbers its warnings, because turbojpeg keeps only the text of the first.
 */
#ifndef IMAGE_JPEG_IMG_JPEG_SCAN_H
#define IMAGE_JPEG_IMG_JPEG_SCAN_H

#include "image/exif.h"
#include "image/img.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Scans that an image of the most pixels may have; libjpeg's own have 10. */
#define IMG_JPEG_SCAN_SHARE	16

struct img_jpeg_head {
	uint32_t	 h, w;
	uint32_t	 c;		/* channels as stored: 1, 3 or 4 */
	bool		 inverted;	/* CMYK as Adobe stores it: 255 - ink */
	bool		 ycc;		/* grey or YCbCr of 8 bits, with a chroma sample every 1 or 2 pixels */
	uint32_t	 sub_h, sub_w;	/* pixels of a chroma sample */
	struct exif	 exif;		/* its offset counts from the start of the file */
};

struct img_jpeg_scan;

/* The most pixels that the scans of an image may have together, where images may have that many. */
uint64_t img_jpeg_scan_most(uint32_t pixels);
/*
 * The pixels that the scans of a JPEG have together: 0 if it has one scan; UINT64_MAX if no plain walk leads to its
 * size.
 */
uint64_t img_jpeg_scan_work(const uint8_t *data, size_t n);
/* Returns the number of scans in those bytes, or more. */
uint64_t img_jpeg_scan_count(const uint8_t *p, size_t n);
/* Returns 0, ERR_NOTSUP (libjpeg has another version than the build) or ERR_NOMEM. */
int	 img_jpeg_scan_new(struct img_jpeg_scan **s);
void	 img_jpeg_scan_free(struct img_jpeg_scan *s);	/* NULL is fine */
/*
 * Returns 0, ERR_FORMAT, ERR_PIXELS (more than that many), ERR_LIMIT (too many scans of them), ERR_NOTSUP (2 channels,
 * or more than 4) or ERR_NOMEM.
 */
int	 img_jpeg_scan_head(struct img_jpeg_scan *s, const uint8_t *data, size_t n, uint32_t pixels,
	    struct img_jpeg_head *head);
/*
 * Decodes an image row by row to c channels, 4 as stored, with room for a row at `row`, and gives fn each.  Returns the
 * first error of fn, or as img_jpeg_scan_check().
 */
int	 img_jpeg_scan_rows(struct img_jpeg_scan *s, const uint8_t *data, size_t n, uint32_t c, uint8_t *row,
	    img_row *fn, void *ctx);
/*
 * Decodes all codes up to the end of the image.  Returns 0, ERR_FORMAT if some are bad or missing, ERR_LIMIT or
 * ERR_NOMEM.  Accepts defects that lose no pixel: extra bytes before a marker, which many ImageNet images have, and
 * unknown versions and colour codes.
 */
int	 img_jpeg_scan_check(struct img_jpeg_scan *s, const uint8_t *data, size_t n);

#endif
