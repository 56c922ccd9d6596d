/* planes - converts interleaved pixels to planes of floats. */
#ifndef BATCH_PLANES_H
#define BATCH_PLANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The conversion of a channel's pixels: x = (p - mean) * by + add. */
struct planes_line {
	const float	*mean;		/* f32 [h,w], or NULL: flat */
	float		 flat;
	float		 by, add;
};

/* Rows of pixels [w,c], c 1 or 3, stride bytes apart. */
struct planes_view {
	const uint8_t	*p;
	size_t		 stride;
};

/* Writes x f32 [c,h,w].  mirror reverses each row, with its mean. */
void	 planes_f32(const struct planes_line *line, const struct planes_view *v, uint32_t c, uint32_t h, uint32_t w,
	    bool mirror, float *x);

#endif
