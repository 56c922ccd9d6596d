/*
 * img_pnm - decodes PBM, PGM and PPM (PNM), as text or bytes.  For img.
 *
 * The contracts are those of img.h.  The room buffer grows to the image's size.  Samples are scaled from the maximum
 * in the header to 255.  Of several images in a file the first is read.
 */
#ifndef IMAGE_IMG_PNM_H
#define IMAGE_IMG_PNM_H

#include "image/img.h"

int	 img_pnm_head(const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head);
int	 img_pnm_decode(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room, struct img *out);

#endif
