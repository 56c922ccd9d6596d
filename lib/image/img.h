/*
 * img - decodes images (JPEG, PNG, WebP, BMP, GIF, PNM, TIFF, HEIC, AVIF, JPEG XL), and encodes JPEG and PNG.
 *
 * lib/image decodes, encodes, resizes and converts images.  Read it in this order: img; its codecs jpeg/img_jpeg,
 * img_png, img_formats and, in loaded/, img_apart, which img alone calls (img_jpeg also serves transcode_planes); exif
 * and orient; resize; transcode.  Parts of one module have headers of their own: img_png_plain, img_png_chunk and
 * img_png_exif; resize_axis and resize_pass; transcode_shape.
 *
 * JPEG is decoded by libjpeg-turbo, with most Huffman codes read by huff.h; PNG by libdeflate and libspng; WebP by
 * libwebp; GIF by giflib; TIFF by libtiff; BMP and PNM here.  libheif (HEIC, AVIF) and libjxl (JPEG XL) are loaded when
 * an image needs them; where one is not installed, the image is refused with ERR_NOTSUP and a line that names it.  The
 * first bytes tell the format.  The size in the header is checked before memory is allocated.
 *
 * Pixels are u8, interleaved [h,w,c], RGB or grey.  Grey of a colour image is its luma (ITU-R BT.601).  PNG keeps the
 * upper 8 of 16 bits a channel; TIFF and PNM are scaled.  Alpha is dropped.  CMYK of JPEG is ink, or 255 - ink if the
 * file has an Adobe marker; libtiff converts that of TIFF.  Height and width may be any number from 1, odd ones too,
 * within the limit of pixels.  EXIF orientation is reported, not applied.
 */
#ifndef IMAGE_IMG_H
#define IMAGE_IMG_H

#include "base/buf.h"

#include <stdbool.h>

/* Limits unless the user sets others. */
#define IMG_PIXELS	(1u << 26)	/* width times height of the largest image */
#define IMG_BYTES	(1u << 26)	/* bytes of the longest encoded image */
/* Pixels from which an image is read row by row if it can be, which is slower. */
#define IMG_LARGE	(1u << 24)

struct img {
	const uint8_t	*p;
	uint32_t	 c, h, w;
};

/*
 * The place in a side of n pixels that place i shows, if the side is continued by its mirror images, in which the pixel
 * at the edge is not repeated (BORDER_REFLECT_101 of OpenCV).
 */
static inline uint32_t
img_reflect(int64_t i, uint32_t n)
{
	int64_t period = n > 1 ? 2 * ((int64_t)n - 1) : 1, at = i % period;

	at += at < 0 ? period : 0;
	return (uint32_t)(at < n ? at : period - at);
}

/* A rectangle inside an image, in pixels. */
struct img_region {
	uint32_t	 y, x, h, w;
};

enum img_format { IMG_JPEG, IMG_PNG, IMG_WEBP, IMG_BMP, IMG_GIF, IMG_PNM, IMG_TIFF, IMG_HEIF, IMG_JXL };

/* The header of an encoded image. */
struct img_head {
	enum img_format	 format;
	uint32_t	 c, h, w;	/* as img_decode() returns them for c = 0 */
	unsigned	 orientation;		/* EXIF's, 1 to 8: see orient.h */
	bool		 odd;		/* CMYK or over 8 bits a channel, which many readers show wrong */
	bool		 lossless;
	bool		 by_rows;	/* img_decode_rows() decodes the image */
	uint32_t	 sub_h, sub_w;	/* pixels of a chroma sample if img_jpeg_planes() accepts the image; else 0 */
};

/* The state of decoders and encoders.  Threads: one codec for each. */
struct img_codec;

/*
 * The codec refuses images of more pixels.  Returns 0, ERR_NOTSUP (libjpeg has another version than the build) or
 * ERR_NOMEM.
 */
int	 img_codec_new(uint32_t pixels, struct img_codec **k);
void	 img_codec_free(struct img_codec *k);	/* NULL is fine */

/*
 * This and the next four return 0, ERR_FORMAT (also if the image ends early), ERR_LIMIT, ERR_PIXELS, ERR_NOTSUP
 * (another format, which the line names if it is known), ERR_SYS (no process for HEIC, AVIF or JPEG XL starts) or
 * ERR_NOMEM.
 */
int	 img_head(struct img_codec *k, const uint8_t *data, size_t n, struct img_head *head);
/* Whether img_decode() would decode all of the image, found without making pixels where possible. */
int	 img_check(struct img_codec *k, const uint8_t *data, size_t n);
/*
 * Decodes to c channels: 1, 3, or 0 (grey images to 1, others to 3).  The pixels are lent until the next call on the
 * codec.  A process for HEIC, AVIF or JPEG XL that img_head() has just started for the same image serves both calls.
 */
int	 img_decode(struct img_codec *k, const uint8_t *data, size_t n, uint32_t c, struct img *out);

/*
 * Decodes an image whose header says by_rows to c channels, and gives fn each row from the top down, of the pixels that
 * img_decode() returns.  Only a few rows are in memory, or the coefficients of a progressive JPEG.  fn returns 0 or an
 * error, which ends the decoding and is returned.
 */
typedef int img_row(void *ctx, const uint8_t *row);
int	 img_decode_rows(struct img_codec *k, const uint8_t *data, size_t n, uint32_t c, img_row *fn, void *ctx);

/*
 * Decodes a region of an image that is h by w by img_head(), to pixels p [region->h,region->w,c], c 1 or 3, equal to
 * those of img_decode().  It checks all of the image, so that a damaged image fails for every region.
 */
int	 img_decode_region(struct img_codec *k, const uint8_t *data, size_t n, uint32_t h, uint32_t w,
	    const struct img_region *region, uint32_t c, uint8_t *p);

/* The usual suffix of a file of the image's format, without a dot, by its first bytes; NULL if they are unknown. */
const char *img_suffix(const uint8_t *data, size_t n);

/* Appends the image as PNG, encoded for speed.  Returns 0, ERR_LIMIT or ERR_NOMEM. */
int	 img_encode_png(const struct img *in, struct buf *out);
/* Appends the image as JPEG, quality 1..100, chroma at half size or (dense) as dense as luma.  Returns the same. */
int	 img_encode_jpeg(struct img_codec *k, const struct img *in, int quality, bool dense, struct buf *out);

/*
 * Converts pixels of `from` channels, 1 to 4, to c channels, 1 or 3.  Drops alpha, the last of 2 or 4.  q may be p if
 * c <= from.
 */
void	 img_convert_channels(const uint8_t *p, uint32_t from, size_t pixels, uint32_t c, uint8_t *q);

#endif
