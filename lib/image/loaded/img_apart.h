/*
 * img_apart - decodes an image in a separate process, with a library that is loaded for it.  For img.
 *
 * lib/image/loaded decodes formats whose libraries are loaded when an image needs them: img_heif and img_jxl call the
 * library, and img_apart does so in a separate process, so that a crash costs one image.
 *
 * These libraries have crashed on hostile images in many releases, and may print.  A forked child runs
 * them for one image: it answers with the header, and waits until the pixels are wanted.  It has only a socket to its
 * parent open, may open no files, and may map IMG_APART_MEMORY bytes and 40 more for each pixel of the limit, and take
 * IMG_APART_CPU seconds of a processor and IMG_APART_TIME in all.  If it dies, the image is damaged: ERR_FORMAT, with a
 * line that states the cause.  What it answers is checked.
 */
#ifndef IMAGE_LOADED_IMG_APART_H
#define IMAGE_LOADED_IMG_APART_H

#include "image/img.h"

#include <sys/types.h>

#define IMG_APART_MEMORY	((uint64_t)1 << 30)
#define IMG_APART_CPU		60u
#define IMG_APART_TIME		300u
#define IMG_APART_LIBRARY	256u

/* A library that decodes a format.  Its state is in IMG_APART_LIBRARY bytes, of which the child has a copy. */
struct img_apart {
	/* Loads it.  Returns 0 or ERR_NOTSUP, with a line that says what to install. */
	int		(*load)(void *library);
	/* As img_head(), in the child. */
	int		(*head)(void *library, const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head);
	/* Decodes the same image to p [h,w,c] of its header, in the child. */
	int		(*decode)(void *library, const struct img_head *head, uint8_t *p);
	const char	*name;		/* name in messages */
};

/*
 * HEIC and AVIF, and JPEG XL.  The libraries turn and mirror an image as the file says, so that its orientation is 1.
 * Of an animation the first frame is read.
 */
extern const struct img_apart img_heif, img_jxl;

/* The child that has answered with the header of an image.  All zeros: none. */
struct img_apart_child {
	pid_t		 pid;		/* 0: none */
	int		 fd;		/* the parent's end of the socket */
	uint64_t	 hash;		/* hash of the image */
	struct img_head	 head;
};

/*
 * As img_head() and img_decode(); also ERR_SYS.  Decoding an image goes on in the child that read its header, if that
 * was the last call, and else starts one.
 */
int	 img_apart_head(struct img_apart_child *child, const struct img_apart *a, const uint8_t *data, size_t n,
	    uint32_t pixels, struct img_head *head);
int	 img_apart_decode(struct img_apart_child *child, const struct img_apart *a, const uint8_t *data, size_t n,
	    uint32_t c, uint32_t pixels, struct buf *room, struct img *out);
/* Ends the child, if there is one. */
void	 img_apart_end(struct img_apart_child *child);

#endif
