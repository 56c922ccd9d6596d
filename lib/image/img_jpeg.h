/*
 * img_jpeg - JPEG bytes in, pixels or planes out, and the reverse: serves img and conv.
 *
 * Contracts are those of img.h; room grows to the picture's size.
 */
#ifndef IMAGE_IMG_JPEG_H
#define IMAGE_IMG_JPEG_H

#include "image/img_jpeg_scan.h"
#include "image/resize.h"

struct img_jpeg;

int	 img_jpeg_new(struct img_jpeg **j);
void	 img_jpeg_free(struct img_jpeg *j);	/* NULL is fine */

/* See img_jpeg_scan.h. */
int	 img_jpeg_head(struct img_jpeg *j, const uint8_t *data, size_t n, uint32_t pixels, struct img_jpeg_head *head);
int	 img_jpeg_check(struct img_jpeg *j, const uint8_t *data, size_t n);

int	 img_jpeg_decode(struct img_jpeg *j, const uint8_t *data, size_t n, uint32_t c, uint32_t pixels,
	    struct buf *room, struct img *out);
/* The part, where nothing is odd about the picture: returns 1; else 0, and img_jpeg_decode() is to be asked. */
int	 img_jpeg_decode_region(struct img_jpeg *j, const uint8_t *data, size_t n, uint32_t h, uint32_t w, const struct img_region *part,
	    uint32_t c, uint8_t *p);
int	 img_jpeg_encode(struct img_jpeg *j, const struct img *in, int quality, bool dense, struct buf *out);

/*
 * The planes Y, Cb, Cr, or Y alone of a grey one, of a picture whose head says ycc; each shrunk by 1, 2, 4 or 8, sizes
 * rounded up, chroma no less than luma.  Where something is odd about the picture, all are shrunk as luma is, and
 * shrink says so.  They are lent by room.  Returns what img_decode() does.
 */
int	 img_jpeg_planes(struct img_jpeg *j, const uint8_t *data, size_t n, const struct img_jpeg_head *head,
	    unsigned shrink[3], struct buf *room, struct resize_plane plane[3]);
/*
 * Appends planes as a JPEG: one, grey, or three, chroma (h+1)/2 by (w+1)/2.  Luma has room for a row more and rows for a
 * pixel more, which are written where h or w is odd; those of img_jpeg_planes() have.
 */
int	 img_jpeg_encode_planes(struct img_jpeg *j, const struct resize_plane *plane, uint32_t planes, int quality,
	    struct buf *out);
/*
 * Appends the JPEG upright, its codes moved, not made anew; its head says how it lies.
 * Returns 1; 0 when that cannot be done without loss, nothing appended; or what img_decode() does.
 */
int	 img_jpeg_orient(struct img_jpeg *j, const uint8_t *data, size_t n, const struct img_jpeg_head *head,
	    struct buf *out);

#endif
