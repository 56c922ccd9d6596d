/*
 * img - encoded pictures in, pixels out, and the reverse.
 *
 * JPEG through libjpeg-turbo, most of its codes read by huff.h; PNG through libdeflate and libspng, WebP through
 * libwebp; which it is, is told by the first bytes.  The size in the header is looked at before memory is taken.
 * Pixels are u8, interleaved [h,w,c], R G B or grey; grey of a colour picture
 * is its luma (ITU-R BT.601), 16 bits become the upper 8, alpha is dropped.
 * CMYK is ink, or 255 - ink where an Adobe marker stands.  EXIF orientation is told, not applied.
 */
#ifndef IMAGE_IMG_H
#define IMAGE_IMG_H

#include "base/buf.h"

#include <stdbool.h>

#define IMG_PIXELS	(1u << 26)	/* width times height of the largest picture */
#define IMG_BYTES	(1u << 26)	/* of the longest encoded one */

struct img {
	const uint8_t	*p;
	uint32_t	 c, h, w;
};

/* Of a picture, inside it. */
struct img_region {
	uint32_t	 y, x, h, w;
};

enum img_format { IMG_JPEG, IMG_PNG, IMG_WEBP };

/* What a picture says of itself before it is decoded. */
struct img_head {
	enum img_format	 format;
	uint32_t	 c, h, w;	/* as img_decode() gives them for c = 0 */
	unsigned	 turn;		/* EXIF's orientation, 1 to 8: see turn.h */
	bool		 odd;		/* CMYK, or 16 bits a channel, which many readers show wrong */
	bool		 lossless;
	uint32_t	 sub_h, sub_w;	/* of a JPEG that img_jpeg_planes() takes: pixels of a chroma sample; else 0 */
};

/* What a thread needs to decode and encode.  Threads: each its own. */
struct img_codec;

/* Pictures of more pixels are refused.  Returns 0, ERR_NOTSUP (a libjpeg that this was not made for) or ERR_NOMEM. */
int	 img_codec_new(struct img_codec **k, uint32_t pixels);
void	 img_codec_free(struct img_codec *k);	/* NULL is fine */

/*
 * Each returns 0, ERR_FORMAT (also when the picture ends early), ERR_LIMIT, ERR_NOTSUP (another format; the line names
 * it where it is known) or ERR_NOMEM.
 */
int	 img_head(struct img_codec *k, const uint8_t *data, size_t n, struct img_head *head);
/* Whether img_decode() would decode it, all of it; where pixels are not needed to tell, none are made. */
int	 img_check(struct img_codec *k, const uint8_t *data, size_t n);
/*
 * Decodes to c channels: 1, 3, or 0 for grey pictures as grey and others as
 * colour.  The pixels are lent until the next call on the codec.
 */
int	 img_decode(struct img_codec *k, const uint8_t *data, size_t n, uint32_t c, struct img *out);

/*
 * Decodes a part of a picture that img_head() says is h by w, to pixels p [part->h,part->w,c], c 1 or 3: those that
 * img_decode() gives.  All of it is looked at, so that what is broken is so for any part.
 */
int	 img_decode_region(struct img_codec *k, const uint8_t *data, size_t n, uint32_t h, uint32_t w,
	    const struct img_region *part, uint32_t c, uint8_t *p);

/* Appends the picture, encoded without loss and fast.  Returns 0, ERR_LIMIT or ERR_NOMEM. */
int	 img_encode_png(const struct img *in, struct buf *out);
/* Appends it as JPEG, quality 1..100, chroma at half size or as dense as luma.  Returns the same. */
int	 img_encode_jpeg(struct img_codec *k, const struct img *in, int quality, bool dense, struct buf *out);

/* Pixels of 1 to 4 channels (2 and 4: the last is alpha, and dropped) to 1 or 3; q may be p when they do not grow. */
void	 img_convert_channels(const uint8_t *p, uint32_t from, size_t pixels, uint32_t c, uint8_t *q);

#endif
