/*
 * img_jpeg - decodes JPEG to pixels or planes, and encodes it.  For img and transcode_planes.
 *
 * lib/image/jpeg: img_jpeg_scan reads and checks the header; img_jpeg_fast decodes by libjpeg-turbo's inner functions,
 * with the Huffman codes of huff and huff_table, or refuses; libturbojpeg decodes the rest.
 *
 * The contracts are those of img.h.  The room buffers grow to the image's size.
 */
#ifndef IMAGE_JPEG_IMG_JPEG_H
#define IMAGE_JPEG_IMG_JPEG_H

#include "image/jpeg/img_jpeg_scan.h"
#include "image/resize.h"

struct img_jpeg;

int	 img_jpeg_new(struct img_jpeg **j);
void	 img_jpeg_free(struct img_jpeg *j);	/* NULL is fine */

/* As img_jpeg_scan_head() and img_jpeg_scan_check(). */
int	 img_jpeg_head(struct img_jpeg *j, const uint8_t *data, size_t n, uint32_t pixels, struct img_jpeg_head *head);
int	 img_jpeg_check(struct img_jpeg *j, const uint8_t *data, size_t n);

int	 img_jpeg_decode(struct img_jpeg *j, const uint8_t *data, size_t n, uint32_t c, uint32_t pixels,
	    struct buf *room, struct img *out);
int	 img_jpeg_decode_rows(struct img_jpeg *j, const uint8_t *data, size_t n, uint32_t c, uint32_t pixels,
	    struct buf *room, img_row *fn, void *ctx);
/* Decodes a region on the fast path.  Returns 1, or 0 if that path refuses the image: then call img_jpeg_decode(). */
int	 img_jpeg_decode_region(struct img_jpeg *j, const uint8_t *data, size_t n, uint32_t h, uint32_t w,
	    const struct img_region *region, uint32_t c, uint8_t *p);
int	 img_jpeg_encode(struct img_jpeg *j, const struct img *in, int quality, bool dense, struct buf *out);

/*
 * Decodes an image whose header says ycc to planes Y, Cb, Cr, or Y alone if it is grey.  Each is decoded smaller by
 * shrink: 1, 2, 4 or 8, sizes rounded up, chroma at least as much as luma.  If the fast path refuses the image, all
 * are shrunk as luma, and shrink is set to say so.  room lends the planes.  Returns what img_decode() does.
 */
int	 img_jpeg_planes(struct img_jpeg *j, const uint8_t *data, size_t n, const struct img_jpeg_head *head,
	    unsigned shrink[3], struct buf *room, struct resize_plane plane[3]);
/*
 * Appends planes as a JPEG: one (grey) or three, chroma (h+1)/2 by (w+1)/2.  Luma must have room for one more row and
 * column, which the encoder fills if h or w is odd; planes of img_jpeg_planes() have it.
 */
int	 img_jpeg_encode_planes(struct img_jpeg *j, const struct resize_plane *plane, uint32_t planes, int quality,
	    struct buf *out);
/*
 * Appends the JPEG made upright without loss: its coefficients are moved, not computed again.  Returns 1, 0 if that
 * is not possible (nothing is appended), or what img_decode() does.
 */
int	 img_jpeg_orient(struct img_jpeg *j, const uint8_t *data, size_t n, const struct img_jpeg_head *head,
	    struct buf *out);

#endif
