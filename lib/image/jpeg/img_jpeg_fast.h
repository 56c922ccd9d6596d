/*
 * img_jpeg_fast - decodes undamaged baseline JPEGs to pixels or planes.  For img_jpeg.
 *
 * The result equals that of turbojpeg to the last bit; huff.h makes it faster.  The caller decodes with turbojpeg
 * what this refuses.
 */
#ifndef IMAGE_JPEG_IMG_JPEG_FAST_H
#define IMAGE_JPEG_IMG_JPEG_FAST_H

#include "image/img.h"
#include "image/jpeg/img_jpeg_scan.h"
#include "image/resize.h"

struct img_jpeg_fast;

/* *f is NULL if the build has no jpegint.h of a known version: every image is then refused.  Returns 0 or ERR_NOMEM. */
int	 img_jpeg_fast_new(struct img_jpeg_fast **f);
void	 img_jpeg_fast_free(struct img_jpeg_fast *f);	/* NULL is fine */

/*
 * Decodes a region of an image of h by w pixels to c channels, 1 or 3, as decoding the whole image would.  It reads
 * all codes but makes only the region's pixels.  Returns 1; or 0 if the image is damaged, unusual, not baseline or of
 * another size: p is then undefined.
 */
int	 img_jpeg_fast_region(struct img_jpeg_fast *f, const uint8_t *data, size_t n, uint32_t h, uint32_t w,
	    const struct img_region *region, uint32_t c, uint8_t *p);
/*
 * Decodes the planes of an image with that header, each smaller by shrink: 1, 2, 4 or 8, chroma at least as much as
 * luma.  The planes have the resulting sizes, and room for one more row and column.  Returns the same.
 */
int	 img_jpeg_fast_planes(struct img_jpeg_fast *f, const uint8_t *data, size_t n, const struct img_jpeg_head *head,
	    const unsigned shrink[3], const struct resize_plane plane[3]);

#endif
