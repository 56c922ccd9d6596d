/*
 * img - encoded pictures in, pixels out, and the reverse.
 *
 * JPEG through libjpeg-turbo, PNG through libspng; which of the two is told by
 * the first bytes.  The size in the header is looked at before memory is taken.
 * Pixels are u8, interleaved [h,w,c], R G B or grey; grey of a colour picture
 * is its luma (ITU-R BT.601), 16 bits become the upper 8, alpha is dropped,
 * CMYK is read as Adobe writes it (inverted).  EXIF orientation is not applied.
 */
#ifndef DATA_IMG_H
#define DATA_IMG_H

#include "base/buf.h"

#define IMG_PIXELS	(1u << 26)	/* width times height of the largest picture */
#define IMG_BYTES	(1u << 26)	/* of the longest encoded one */

struct img {
	const uint8_t	*p;
	uint32_t	 c, h, w;
};

/* What a thread needs to decode and encode.  Threads: each its own. */
struct img_codec;

/* Pictures of more pixels are refused.  Returns 0 or ERR_NOMEM. */
int	 img_codec_new(struct img_codec **k, uint32_t pixels);
void	 img_codec_free(struct img_codec *k);	/* NULL is fine */

/*
 * Decodes to c channels: 1, 3, or 0 for grey pictures as grey and others as
 * colour.  The pixels are lent until the next call on the codec.
 * Returns 0, ERR_FORMAT (also when the picture ends early), ERR_LIMIT, ERR_NOTSUP or ERR_NOMEM.
 */
int	 img_decode(struct img_codec *k, const uint8_t *data, size_t n, uint32_t c, struct img *out);

/* Appends the picture, encoded without loss and fast.  Returns 0, ERR_LIMIT or ERR_NOMEM. */
int	 img_encode_png(const struct img *in, struct buf *out);
/* Appends it as JPEG, quality 1..100, chroma at half size.  Returns the same. */
int	 img_encode_jpeg(struct img_codec *k, const struct img *in, int quality, struct buf *out);

#endif
