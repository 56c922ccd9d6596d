/* rounded - what a codec of wire/codec.h makes of numbers, by plain arithmetic in f64. */
#ifndef TESTS_ROUNDED_H
#define TESTS_ROUNDED_H

#include "wire/codec.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

/* What bf16 and fp16 make of x; other codecs do not treat each number by itself. */
static inline float
rounded(enum codec_kind c, float x)
{
	return c == CODEC_BF16 ? (float)rounded_to((double)x, 8, -133, 0x1.fep127) :
	    c == CODEC_FP16 ? (float)rounded_to((double)x, 11, -24, 65504) : x;
}

/* What 2bit makes of x[n]; `least` is 0 if it chooses. */
static inline void
rounded_2bit(double least, const float *x, size_t n, float *q)
{
	double sum[16] = { 0 }, sizes = 0, count = 0, s = least;

	for (size_t i = 0; i < n; i++)
		sum[i % 16] += isfinite(x[i]) ? (double)fabsf(x[i]) : 0;
	for (int k = 0; k < 16; k++)
		sizes += sum[k];
	if (least == 0 && n > 0) {
		least = (double)(float)(0.7 * sizes / (double)n);
		sizes = 0;
		for (int k = 0; k < 16; k++)
			sum[k] = 0;
		for (size_t i = 0; i < n; i++)
			if (isfinite(x[i]) && (double)fabsf(x[i]) >= least) {
				sum[i % 16] += (double)fabsf(x[i]);
				count++;
			}
		for (int k = 0; k < 16; k++)
			sizes += sum[k];
		s = count > 0 ? sizes / count : 0;
	}
	for (size_t i = 0; i < n; i++)
		q[i] = !isfinite(x[i]) ? NAN : least > 0 && (double)fabsf(x[i]) >= least ? copysignf((float)s, x[i]) : 0;
}

/* Whether topk sends x[i] before x[j]: it is larger, or as large and first.  Infinity and NaN are above all. */
static inline bool
rounded_before(const float *x, size_t i, size_t j)
{
	float a = fabsf(x[i]), b = fabsf(x[j]);
	int order;

	if (isnan(a) || isnan(b)) {
		uint32_t u, v;

		memcpy(&u, &a, sizeof(u));
		memcpy(&v, &b, sizeof(v));
		order = (u > v) - (u < v);
	} else {
		order = (a > b) - (a < b);
	}
	return order > 0 || (order == 0 && i < j);
}

/* What topk makes of x[n]: fewer than k others are before each number that is sent. */
static inline void
rounded_topk(double share, const float *x, size_t n, float *q)
{
	size_t k = n == 0 ? 0 : (size_t)fmax(1, floor(share * (double)n + 0.5));

	for (size_t i = 0; i < n; i++) {
		size_t others = 0;

		for (size_t j = 0; j < n && others < k; j++)
			others += rounded_before(x, j, i);
		q[i] = others < k ? x[i] : 0;
	}
}

/* What powersgd makes of x[n], by its own functions: tests/lib/codec_test.c says what is expected of them. */
static inline void
rounded_product(struct codec c, const float *x, size_t n, float *q)
{
	void *bytes = malloc(codec_bytes(c, n) + 1);

	codec_encode(c, x, NULL, n, NULL, bytes);
	codec_decode(c, bytes, n, q);
	free(bytes);
}

/* What any codec makes of x[n]. */
static inline void
rounded_all(struct codec c, const float *x, size_t n, float *q)
{
	if (c.kind == CODEC_2BIT)
		rounded_2bit(c.x, x, n, q);
	else if (c.kind == CODEC_TOPK)
		rounded_topk(c.x, x, n, q);
	else if (c.kind == CODEC_POWERSGD)
		rounded_product(c, x, n, q);
	else
		for (size_t i = 0; i < n; i++)
			q[i] = rounded(c.kind, x[i]);
}

#endif
