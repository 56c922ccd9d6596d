/*
 * transcode - converts an image to the form in which it is packed.
 *
 * An image that needs no change keeps its bytes, after all of it was decoded as a check.  The options ask for
 * changes.  Without any, transcode changes what readers would show wrong.  It makes the image upright by its EXIF
 * orientation, without loss where JPEG coefficients can be moved.  CMYK becomes RGB, and 16 bits a channel become
 * 8.  WebP becomes JPEG, or PNG if it was lossless; BMP, GIF, PNM and TIFF become PNG.
 *
 * JPEG to JPEG is resized by its planes without conversion to RGB, and decoded at 1/2, 1/4 or 1/8 if each side then has
 * at least five times the pixels of the result.  A new JPEG has chroma at half size, unless a JPEG with denser chroma
 * is only made upright.  With quality 100 a JPEG is resized in RGB at its full size, as for PNG, and has dense chroma.
 * A new JPEG has no metadata.
 *
 * A JPEG or PNG of IMG_LARGE pixels or more is decoded row by row when it is resized, unless it is an interlaced PNG.
 * libjpeg has all coefficients of a progressive JPEG in memory.
 */
#ifndef IMAGE_TRANSCODE_H
#define IMAGE_TRANSCODE_H

#include "image/resize.h"

#include <stdbool.h>

enum transcode_encoding { TRANSCODE_AS_IT_WAS, TRANSCODE_JPEG, TRANSCODE_PNG };
enum transcode_color { TRANSCODE_AS_STORED, TRANSCODE_COLOR, TRANSCODE_GREY };

struct transcode_opt {
	uint32_t		 resize;	/* new length of the shorter side, pixels; 0: unchanged */
	bool			 crop;		/* crop the result to the square in its centre */
	/* half of an odd margin is rounded to an even offset, as in torchvision; else down, as in MXNet */
	bool			 crop_even;
	enum transcode_color		 color;
	enum resize_inter	 inter;		/* im2rec's default is RESIZE_CUBIC */
	enum transcode_encoding	 encoding;	/* as it was: JPEG, or PNG if the source is lossless */
	int			 quality;	/* quality of JPEG, 1..100; 0: 95 */
	/* check the image and keep its bytes, whatever its orientation and colours */
	bool			 pass;
	uint32_t		 pixels;	/* most pixels of an image; 0: IMG_PIXELS */
};

/* Threads: one struct for each. */
struct transcode;

/* Returns 0, ERR_ARG (options that contradict each other), ERR_NOTSUP (see img_codec_new()) or ERR_NOMEM. */
int	 transcode_new(const struct transcode_opt *opt, struct transcode **k);
void	 transcode_free(struct transcode *k);	/* NULL is fine */

/*
 * Transcodes an encoded image, or raw pixels.  *out [*m] is data itself if its bytes are kept, else lent until the
 * next call.  Returns 0, ERR_FORMAT, ERR_LIMIT, ERR_PIXELS, ERR_NOTSUP or ERR_NOMEM.
 */
int	 transcode_encoded(struct transcode *k, const uint8_t *data, size_t n, const uint8_t **out, size_t *m);
int	 transcode_raw(struct transcode *k, const struct img *in, const uint8_t **out, size_t *m);

#endif
