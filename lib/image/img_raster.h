/*
 * img_raster - decodes uncompressed BMP of 8, 24 and 32 bits, and PGM and PPM (PNM).  For img.
 *
 * The contracts are those of img.h.  The room buffer grows to the image's size.  turbojpeg decodes; it reads only
 * files, so that the bytes pass through one in memory.
 */
#ifndef IMAGE_IMG_RASTER_H
#define IMAGE_IMG_RASTER_H

#include "image/img.h"

int	 img_bmp_head(const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head);
int	 img_bmp_decode(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room, struct img *out);
int	 img_pnm_head(const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head);
int	 img_pnm_decode(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room, struct img *out);

#endif
