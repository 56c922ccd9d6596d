/*
 * conv - a picture as it came in, out as it is packed.
 *
 * A picture that needs nothing keeps its bytes, after a full decode has shown
 * that it is sound.  Resized, cropped or recoloured ones are encoded anew.
 */
#ifndef DATA_CONV_H
#define DATA_CONV_H

#include "data/resize.h"

#include <stdbool.h>

enum conv_encoding { CONV_AS_IT_WAS, CONV_JPEG, CONV_PNG };
enum conv_color { CONV_AS_STORED, CONV_COLOR, CONV_GREY };

struct conv_opt {
	uint32_t		 resize;	/* the shorter side, pixels; the longer by integer division; 0: as it is */
	bool			 crop;		/* then the centre square */
	enum conv_color		 color;
	enum resize_inter	 inter;		/* RESIZE_CUBIC is the best, and no slower than others */
	enum conv_encoding	 encoding;	/* of what is encoded anew */
	int			 quality;	/* of JPEG, 1..100; 0: 95 */
	bool			 pass;		/* bytes as they are, whatever is in them, after the check */
	uint32_t		 pixels;	/* of the largest picture; 0: IMG_PIXELS */
};

/* What a thread needs for it.  Threads: each its own. */
struct conv;

/* Returns 0, ERR_ARG (options that contradict each other) or ERR_NOMEM. */
int	 conv_new(struct conv **k, const struct conv_opt *opt);
void	 conv_free(struct conv *k);	/* NULL is fine */

/*
 * Appends what is packed of an encoded picture, or of raw pixels.
 * Returns 0, ERR_FORMAT, ERR_LIMIT, ERR_NOTSUP or ERR_NOMEM; then nothing is appended.
 */
int	 conv_encoded(struct conv *k, const uint8_t *data, size_t n, struct buf *out);
int	 conv_raw(struct conv *k, const struct img *in, struct buf *out);

#endif
