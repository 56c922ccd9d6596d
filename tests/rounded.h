/* rounded - what a codec of wire/codec.h makes of a number, by plain arithmetic in f64. */
#ifndef TESTS_ROUNDED_H
#define TESTS_ROUNDED_H

#include "wire/codec.h"

#include <math.h>

/* x with this many bits, but no multiples of less than 2^least, and at most `most`. */
static inline double
rounded_to(double x, int bits, int least, double most)
{
	double unit;
	int e;

	if (x == 0 || !isfinite(x))
		return x;
	frexp(x, &e);
	unit = ldexp(1, e - bits > least ? e - bits : least);
	x = nearbyint(x / unit) * unit;
	return fabs(x) > most ? copysign(most, x) : x;
}

static inline float
rounded(enum codec c, float x)
{
	return c == CODEC_BF16 ? (float)rounded_to((double)x, 8, -133, 0x1.fep127) :
	    c == CODEC_FP16 ? (float)rounded_to((double)x, 11, -24, 65504) : x;
}

#endif
