/*
 * img_apart - decodes an image in a separate process.  For img_heif and img_jxl.
 *
 * The libraries that these load have crashed on hostile images in many releases, and may print.  A forked child runs
 * them for one image.  It has only a pipe open, may open no files, and may map IMG_APART_MEMORY bytes and 40 more for
 * each pixel of the limit, and take IMG_APART_CPU seconds of a
 * processor and IMG_APART_TIME in all.  If it dies, the image is damaged: ERR_FORMAT, with a line
 * that states the cause.  What it answers is checked.
 */
#ifndef IMAGE_LOADED_IMG_APART_H
#define IMAGE_LOADED_IMG_APART_H

#include "image/img.h"

#define IMG_APART_MEMORY	((uint64_t)1 << 30)
#define IMG_APART_CPU		60u
#define IMG_APART_TIME		300u

/*
 * Decodes n bytes, as img_head() does, and if room is not NULL also the pixels, [h,w,c] of head, to room.  It runs in
 * the child, which has a copy of `library`.
 */
typedef int img_apart_decoder(const void *library, const uint8_t *data, size_t n, uint32_t pixels,
	    struct img_head *head, struct buf *room);

struct img_apart {
	img_apart_decoder	*decode;
	const void		*library;
	const char		*name;		/* of the library, for messages */
};

/* As img_head() and img_decode(); also ERR_SYS. */
int	 img_apart_head(const struct img_apart *a, const uint8_t *data, size_t n, uint32_t pixels,
	    struct img_head *head);
int	 img_apart_decode(const struct img_apart *a, const uint8_t *data, size_t n, uint32_t c, uint32_t pixels,
	    struct buf *room, struct img *out);

#endif
