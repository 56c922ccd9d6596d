/*
 * transcode - a picture as it came in, out as it is packed.
 *
 * A picture that needs nothing keeps its bytes, after all of it has been
 * decoded.  Needed is what the options ask for, and without any what readers
 * would show wrong: EXIF's orientation is applied, without loss where the codes
 * of a JPEG can be moved; CMYK becomes R G B; 16 bits a channel become 8; WebP
 * becomes JPEG, or PNG when it was without loss.
 *
 * JPEG to JPEG goes by its planes, never through RGB, and is decoded at 1/2,
 * 1/4 or 1/8 when that is still large enough.  What is encoded anew has chroma
 * at half size (not where a JPEG is turned only, and would lose by it) and no metadata.
 */
#ifndef IMAGE_TRANSCODE_H
#define IMAGE_TRANSCODE_H

#include "image/resize.h"

#include <stdbool.h>

enum transcode_encoding { TRANSCODE_AS_IT_WAS, TRANSCODE_JPEG, TRANSCODE_PNG };
enum transcode_color { TRANSCODE_AS_STORED, TRANSCODE_COLOR, TRANSCODE_GREY };

struct transcode_opt {
	uint32_t		 resize;	/* the shorter side, pixels; the longer by integer division; 0: as it is */
	bool			 crop;		/* then the centre square */
	enum transcode_color		 color;
	enum resize_inter	 inter;		/* RESIZE_CUBIC is the best, and no slower than others */
	enum transcode_encoding	 encoding;	/* as it was: JPEG as JPEG, without loss as PNG */
	int			 quality;	/* of JPEG, 1..100; 0: 95 */
	bool			 pass;		/* bytes as they are, orientation, CMYK and all, after the check */
	uint32_t		 pixels;	/* of the largest picture; 0: IMG_PIXELS */
};

/* What a thread needs for it.  Threads: each its own. */
struct transcode;

/* Returns 0, ERR_ARG (options that contradict each other), ERR_NOTSUP (see img_codec_new()) or ERR_NOMEM. */
int	 transcode_new(struct transcode **k, const struct transcode_opt *opt);
void	 transcode_free(struct transcode *k);	/* NULL is fine */

/*
 * What is packed of an encoded picture, or of raw pixels: *out is data itself when its bytes stay, else lent until the
 * next call.  Returns 0, ERR_FORMAT, ERR_LIMIT, ERR_NOTSUP or ERR_NOMEM.
 */
int	 transcode_encoded(struct transcode *k, const uint8_t *data, size_t n, const uint8_t **out, size_t *m);
int	 transcode_raw(struct transcode *k, const struct img *in, const uint8_t **out, size_t *m);

#endif
