/*
 * img_png_exif - which way a PNG is up, from its chunks: serves img_png.
 *
 * Since 2017 EXIF stands in a chunk of its own, eXIf.  Before that ImageMagick wrote it, and still does, as a text, tEXt or
 * zTXt, called "Raw profile type exif" or "Raw profile type APP1":
 *
 *	"\nexif\n" | spaces and the number of bytes, decimal | "\n" | the bytes as hexadecimal digits, in lines
 *
 * Source: PNG third edition, 11.3.4.5; ImageMagick, coders/png.c.
 */
#ifndef IMAGE_IMG_PNG_EXIF_H
#define IMAGE_IMG_PNG_EXIF_H

#include "base/buf.h"

#include <libdeflate.h>

/* 1 to 8, see turn.h; 1 also when nothing sensible is said.  room is for a text that is unpacked. */
unsigned img_png_exif(struct libdeflate_decompressor *d, const uint8_t *p, size_t n, struct buf *room);

#endif
