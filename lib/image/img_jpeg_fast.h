/*
 * img_jpeg_fast - JPEG bytes in, pixels or planes out, of the pictures that nothing is wrong with: serves img_jpeg.
 *
 * What turbojpeg does, to the last bit, with the codes read by huff.h.  What it does not take, turbojpeg is to be asked for.
 */
#ifndef IMAGE_IMG_JPEG_FAST_H
#define IMAGE_IMG_JPEG_FAST_H

#include "image/img.h"
#include "image/img_jpeg_scan.h"
#include "image/resize.h"

struct img_jpeg_fast;

/* *f is NULL where the build has no jpegint.h: then no picture is taken.  Returns 0 or ERR_NOMEM. */
int	 img_jpeg_fast_new(struct img_jpeg_fast **f);
void	 img_jpeg_fast_free(struct img_jpeg_fast *f);	/* NULL is fine */

/*
 * A part of a picture of h by w pixels, as pixels of c channels, 1 or 3, those that decoding all of it gives; what lies
 * outside is not made, though its codes are read.  Returns 1; or 0 where the picture has anything odd about it, is of
 * another size or not of baseline codes, what is in p then being of no use.
 */
int	 img_jpeg_fast_region(struct img_jpeg_fast *f, const uint8_t *data, size_t n, uint32_t h, uint32_t w,
	    const struct img_region *part, uint32_t c, uint8_t *p);
/*
 * The planes of a picture whose head was read, each shrunk by 1, 2, 4 or 8, chroma no less than luma, and of the size
 * that is left; there is room for a row and a column more.  Returns the same.
 */
int	 img_jpeg_fast_planes(struct img_jpeg_fast *f, const uint8_t *data, size_t n, const struct img_jpeg_head *head,
	    const unsigned shrink[3], const struct resize_plane plane[3]);

#endif
