/*
 * img_png_exif - reads the orientation of a PNG.  For img_png.
 *
 * Since 2017 a chunk of its own holds EXIF, eXIf.  ImageMagick has always written it as a text (tEXt or zTXt) with
 * the key "Raw profile type exif" or "Raw profile type APP1", and still does:
 *
 *	"\nexif\n" | spaces and the number of bytes, decimal | "\n" | the bytes as hexadecimal digits, in lines
 *
 * Source: PNG third edition, 11.3.4.5; ImageMagick, coders/png.c.
 */
#ifndef IMAGE_IMG_PNG_EXIF_H
#define IMAGE_IMG_PNG_EXIF_H

#include "base/buf.h"

#include <libdeflate.h>

/* Returns 1 to 8, see orient.h; 1 if there is no valid orientation.  room is scratch memory for a text. */
unsigned img_png_exif(struct libdeflate_decompressor *d, const uint8_t *p, size_t n, struct buf *room);

#endif
