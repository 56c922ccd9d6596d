/* codec_in - a codec as a row of functions, and those that have a file of their own: serves codec. */
#ifndef WIRE_CODEC_IN_H
#define WIRE_CODEC_IN_H

#include "wire/codec.h"

/* As the functions of codec.h with the same names. */
struct codec_row {
	const char *name;
	double	 usual, least, most;	/* of the codec's number; most 0: there is none */
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
codec_size(float x)
{
	union { float f; unsigned u; } v = { x };

	return v.u & 0x7fffffffu;
}

#endif
