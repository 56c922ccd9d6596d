/*
 * img_so - loads decoders that the build does not need.  For img_heif and img_jxl.
 *
 * lib/image/loaded decodes formats whose libraries are loaded when an image needs them: img_so loads a library,
 * img_heif and img_jxl call it, and img_apart does so in a separate process, so that a crash costs one image.
 */
#ifndef IMAGE_LOADED_IMG_SO_H
#define IMAGE_LOADED_IMG_SO_H

#include <stdbool.h>
#include <stddef.h>

struct img_so_symbol {
	const char	*name;
	void		*to;		/* the address of a pointer to the function */
	bool		 optional;	/* the pointer is NULL if the library lacks it */
};

/*
 * Loads the first library of `names`, which ends with NULL, and sets the functions.  The library stays loaded until the
 * process ends.  Returns 0 or ERR_NOTSUP.
 */
int	 img_so_load(const char *const *names, const struct img_so_symbol *symbols, size_t n);

#endif
