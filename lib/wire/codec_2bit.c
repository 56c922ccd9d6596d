/* codec_2bit - numbers as 0, +s and -s in two bits each: serves codec. */
#include "wire/codec_in.h"
#include "base/isa.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define BLOCK	CODEC_BLOCK
#define LANES	16	/* partial sums, so that every instruction set adds in the same order */
#define NUMBERS	4	/* numbers in a byte */
#define PART	0.7	/* part of the mean below which a number is sent as 0 */

enum code { ZERO, PLUS, MINUS, NOT_FINITE };

static size_t
count_2bit_bytes(struct codec c, size_t n)
{
	(void)c;
	return sizeof(float) + (n + NUMBERS - 1) / NUMBERS;
}

/* Adds the sizes of finite numbers from `least` on to sum[0], and counts them in sum[1]. */
ISA_CLONES(static, void, sum_sizes, (const float *v, const float *before, size_t n, float least, double *sum),
    (v, before, n, least, sum))
{
	double part[LANES] = { 0 };
	uint32_t count[LANES] = { 0 };
	float x[BLOCK];

	for (size_t i = 0; i < n; i += BLOCK) {
		codec_load_block(v + i, before != NULL ? before + i : NULL, n - i, x);
		for (size_t k = 0; k < BLOCK; k++) {
			float size = fabsf(x[k]);

			size = size >= least ? size : 0;
			x[k] = size < INFINITY ? size : 0;
		}
		for (size_t k = 0; k < BLOCK; k += LANES)
			for (size_t l = 0; l < LANES; l++) {
				part[l] += (double)x[k + l];
				count[l] += x[k + l] > 0;
			}
	}
	sum[0] = sum[1] = 0;
	for (size_t l = 0; l < LANES; l++) {
		sum[0] += part[l];
		sum[1] += count[l];
	}
}

/* x[BLOCK] as codes and residuals; least > 0. */
ISA_INLINE void
encode_block(const float *restrict x, float least, float s, uint8_t *restrict code, float *restrict left)
{
	for (size_t k = 0; k < BLOCK; k++) {
		float size = fabsf(x[k]), q = copysignf(s, x[k]), rest = size >= least ? x[k] - q : x[k];
		uint32_t sent = x[k] > 0 ? PLUS : MINUS;

		sent = size >= least ? sent : ZERO;
		code[k] = (uint8_t)(size < INFINITY ? sent : NOT_FINITE);
		left[k] = size < INFINITY ? rest : 0;
	}
}

ISA_CLONES(static, void, encode_codes, (const float *v, const float *before, size_t n, float least, float s,
    float *after, uint8_t *to), (v, before, n, least, s, after, to))
{
	float x[BLOCK], left[BLOCK];
	uint8_t code[BLOCK];

	for (size_t i = 0; i < n; i += BLOCK) {
		size_t some = n - i < BLOCK ? n - i : BLOCK;

		codec_load_block(v + i, before != NULL ? before + i : NULL, some, x);
		encode_block(x, least, s, code, left);
		for (size_t k = 0; k < some; k += NUMBERS)
			*to++ = (uint8_t)(code[k] | code[k + 1] << 2 | code[k + 2] << 4 | code[k + 3] << 6);
		if (after != NULL)
			memcpy(after + i, left, some * sizeof(*left));
	}
}

static void
encode_2bit(struct codec c, const float *v, const float *before, size_t n, float *after, void *to)
{
	float least = (float)c.x, s = least;
	double sum[2];

	if (c.x == 0 && n > 0) {
		sum_sizes(v, before, n, 0, sum);
		least = (float)(PART * sum[0] / (double)n);
		sum_sizes(v, before, n, least, sum);
		s = sum[1] > 0 ? (float)(sum[0] / sum[1]) : 0;
	}
	memcpy(to, &s, sizeof(s));
	/* If all are 0, none is sent. */
	encode_codes(v, before, n, least > 0 ? least : 1, s, after, (uint8_t *)to + sizeof(s));
}

static void
add_2bit(struct codec c, const void *from, size_t n, float *to)
{
	const uint8_t *byte = (const uint8_t *)from + sizeof(float);
	float q[NUMBERS];

	(void)c;
	memcpy(&q[PLUS], from, sizeof(q[PLUS]));
	q[ZERO] = 0;
	q[MINUS] = -q[PLUS];
	q[NOT_FINITE] = NAN;
	for (size_t i = 0; i < n; i++)
		to[i] += q[byte[i / NUMBERS] >> 2 * (i % NUMBERS) & 3];
}

const struct codec_row codec_2bit = { "2bit", .most = 1e6, .bytes = count_2bit_bytes,
	.encode = encode_2bit, .add = add_2bit };
