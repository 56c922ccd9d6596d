/* codec_in - the functions of one codec, and the codecs with a file of their own: serves codec. */
#ifndef WIRE_CODEC_IN_H
#define WIRE_CODEC_IN_H

#include "base/isa.h"
#include "wire/codec.h"

#include <string.h>

/* The functions do what those of codec.h with the same names do. */
struct codec_row {
	const char *name;
	double	 usual, least, most;	/* default and bounds of the codec's number; most 0: it has none */
	bool	 whole;			/* the number is an integer */
	size_t	 (*bytes)(struct codec c, size_t n);
	void	 (*encode)(struct codec c, const float *v, const float *before, size_t n, float *after, void *to);
	bool	 (*valid)(struct codec c, const void *from, size_t n);	/* NULL: any bytes are */
	void	 (*decode)(const void *from, size_t n, float *to);	/* NULL: add() to zeros */
	void	 (*add)(struct codec c, const void *from, size_t n, float *to);	/* NULL: not codec_updates() */
};

extern const struct codec_row codec_2bit, codec_topk, codec_powersgd;

/* The bits of a float without its sign.  Those of infinity are CODEC_INF, and those of NaN are greater. */
#define CODEC_INF	0x7f800000u
static inline unsigned
codec_magnitude(float x)
{
	union { float f; unsigned u; } v = { x };

	return v.u & 0x7fffffffu;
}

#define CODEC_BLOCK	64	/* numbers of one loop without branches */

/* Fills a block with n numbers, plus their residuals unless `before` is NULL, and then zeros. */
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
