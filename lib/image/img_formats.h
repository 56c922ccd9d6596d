/*
 * img_formats - the decoders that keep no state from image to image.  For img.
 *
 * The contracts are those of img_head() and img_decode().  The room buffer grows to the image's size.
 *
 *	bmp	all kinds that Windows and OS/2 1.x write: 1 to 32 bits a pixel, colours by a palette or by masks, and
 *		run lengths.  Alpha is dropped.
 *	gif	the first frame, in the size of the GIF's screen or more if the frame reaches beyond, with the
 *		background's colour around it.  Transparent pixels keep their colour.
 *	pnm	PBM, PGM and PPM, as text or bytes.  Samples are scaled from the maximum in the header to 255.  Of
 *		several images in a file the first is read.
 *	tiff	the first page of all files that libtiff can turn into RGB of 8 bits.  Colours that are
 *		stored multiplied by their alpha are divided by it.
 *	webp	of animations the first frame.  Pixels outside it are black.
 */
#ifndef IMAGE_IMG_FORMATS_H
#define IMAGE_IMG_FORMATS_H

#include "image/img.h"

typedef int img_format_head(const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head);
typedef int img_format_decode(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room,
    struct img *out);

img_format_head img_bmp_head, img_gif_head, img_pnm_head, img_tiff_head, img_webp_head;
img_format_decode img_bmp_decode, img_gif_decode, img_pnm_decode, img_tiff_decode, img_webp_decode;

#endif
