/* codec_in - a codec as a row of functions, and those that have a file of their own: serves codec. */
#ifndef WIRE_CODEC_IN_H
#define WIRE_CODEC_IN_H

#include "base/isa.h"
#include "wire/codec.h"

#include <string.h>

/* As the functions of codec.h with the same names. */
struct codec_row {
	const char *name;
	double	 usual, least, most;	/* of the codec's number; most 0: there is none */
	bool	 whole;			/* it has no fraction */
	size_t	 (*bytes)(struct codec c, size_t n);
	void	 (*encode)(struct codec c, const float *v, const float *before, float *after, size_t n, void *to);
	bool	 (*valid)(struct codec c, const void *from, size_t n);	/* NULL: any bytes are */
	void	 (*decode)(const void *from, size_t n, float *to);	/* NULL: what add() makes of zeros */
	void	 (*add)(struct codec c, const void *from, size_t n, float *to);	/* NULL: not codec_updates() */
};

extern const struct codec_row codec_2bit, codec_topk, codec_powersgd;

/* The bits of a float without its sign, and those of infinity; those of NaN are above. */
#define CODEC_INF	0x7f800000u
static inline unsigned
codec_magnitude(float x)
{
	union { float f; unsigned u; } v = { x };

	return v.u & 0x7fffffffu;
}

#define CODEC_BLOCK	64	/* numbers that are treated at a time, in loops without branches */

/* Loads up to CODEC_BLOCK sums of numbers and residuals, and then zeros. */
ISA_INLINE void
codec_load_block(const float *restrict v, const float *restrict before, size_t n, float *restrict x)
{
	if (n >= CODEC_BLOCK && before != NULL)
		for (size_t k = 0; k < CODEC_BLOCK; k++)
			x[k] = v[k] + before[k];
	else if (n >= CODEC_BLOCK)
		memcpy(x, v, CODEC_BLOCK * sizeof(*x));
	else
		for (size_t k = 0; k < CODEC_BLOCK; k++)
			x[k] = k >= n ? 0 : before != NULL ? v[k] + before[k] : v[k];
}

#endif
