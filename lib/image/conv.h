/*
 * conv - a picture as it came in, out as it is packed.
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
#ifndef IMAGE_CONV_H
#define IMAGE_CONV_H

#include "image/resize.h"

#include <stdbool.h>

enum conv_encoding { CONV_AS_IT_WAS, CONV_JPEG, CONV_PNG };
enum conv_color { CONV_AS_STORED, CONV_COLOR, CONV_GREY };

struct conv_opt {
	uint32_t		 resize;	/* the shorter side, pixels; the longer by integer division; 0: as it is */
	bool			 crop;		/* then the centre square */
	enum conv_color		 color;
	enum resize_inter	 inter;		/* RESIZE_CUBIC is the best, and no slower than others */
	enum conv_encoding	 encoding;	/* as it was: JPEG as JPEG, without loss as PNG */
	int			 quality;	/* of JPEG, 1..100; 0: 95 */
	bool			 pass;		/* bytes as they are, orientation, CMYK and all, after the check */
	uint32_t		 pixels;	/* of the largest picture; 0: IMG_PIXELS */
};

/* What a thread needs for it.  Threads: each its own. */
struct conv;

/* Returns 0, ERR_ARG (options that contradict each other), ERR_NOTSUP (see img_codec_new()) or ERR_NOMEM. */
int	 conv_new(struct conv **k, const struct conv_opt *opt);
void	 conv_free(struct conv *k);	/* NULL is fine */

/*
 * What is packed of an encoded picture, or of raw pixels: *out is data itself when its bytes stay, else lent until the
 * next call.  Returns 0, ERR_FORMAT, ERR_LIMIT, ERR_NOTSUP or ERR_NOMEM.
 */
int	 conv_encoded(struct conv *k, const uint8_t *data, size_t n, const uint8_t **out, size_t *m);
int	 conv_raw(struct conv *k, const struct img *in, const uint8_t **out, size_t *m);

#endif
