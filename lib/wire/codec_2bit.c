/* codec_2bit - numbers as 0, +s and -s in two bits each: serves codec. */
#include "wire/codec_in.h"
#include "base/isa.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define LANES	16	/* partial sums, so that every instruction set adds in the same order */
#define NUMBERS	4	/* in a byte */
#define PART	0.7	/* of the mean: what is less is sent as 0 */

enum code { ZERO, PLUS, MINUS, NOT_FINITE };

static size_t
size_of_2bit(double x, size_t n)
{
	(void)x;
	return sizeof(float) + (n + NUMBERS - 1) / NUMBERS;
}

ISA_INLINE float
add_residual(const float *v, const float *before, size_t i)
{
	return before != NULL ? v[i] + before[i] : v[i];
}

/* Adds the sizes of finite numbers from `least` on to sum[0], and counts them in sum[1]. */
ISA_CLONES(static, void, sum_sizes, (const float *v, const float *before, size_t n, float least, double *sum),
    (v, before, n, least, sum))
{
	double part[LANES] = { 0 }, count[LANES] = { 0 };

	for (size_t i = 0; i < n; i += LANES)
		for (size_t k = 0; k < LANES && i + k < n; k++) {
			float size = fabsf(add_residual(v, before, i + k));
			bool counts = size >= least && size < INFINITY;

			part[k] += counts ? (double)size : 0;
			count[k] += counts;
		}
	sum[0] = sum[1] = 0;
	for (size_t k = 0; k < LANES; k++) {
		sum[0] += part[k];
		sum[1] += count[k];
	}
}

ISA_CLONES(static, void, encode_codes, (const float *v, const float *before, float *after, size_t n, float least,
    float s, uint8_t *to), (v, before, after, n, least, s, to))
{
	for (size_t i = 0; i < n; i += NUMBERS) {
		unsigned byte = 0;

		for (size_t k = 0; k < NUMBERS && i + k < n; k++) {
			float x = add_residual(v, before, i + k), size = fabsf(x);
			bool finite = size < INFINITY, sent = least > 0 && size >= least;
			enum code code = !finite ? NOT_FINITE : !sent ? ZERO : x > 0 ? PLUS : MINUS;

			byte |= (unsigned)code << 2 * k;
			if (after != NULL)
				after[i + k] = !finite ? 0 : !sent ? x : x > 0 ? x - s : x + s;
		}
		*to++ = (uint8_t)byte;
	}
}

static void
encode_2bit(double x, const float *v, const float *before, float *after, size_t n, void *to)
{
	float least = (float)x, s = least;
	double sum[2];

	if (x == 0 && n > 0) {
		sum_sizes(v, before, n, 0, sum);
		least = (float)(PART * sum[0] / (double)n);
		sum_sizes(v, before, n, least, sum);
		s = sum[1] > 0 ? (float)(sum[0] / sum[1]) : 0;
	}
	memcpy(to, &s, sizeof(s));
	encode_codes(v, before, after, n, least, s, (uint8_t *)to + sizeof(s));
}

static void
add_2bit(double x, const void *from, size_t n, float *to)
{
	const uint8_t *byte = (const uint8_t *)from + sizeof(float);
	float q[NUMBERS];

	(void)x;
	memcpy(&q[PLUS], from, sizeof(q[PLUS]));
	q[ZERO] = 0;
	q[MINUS] = -q[PLUS];
	q[NOT_FINITE] = NAN;
	for (size_t i = 0; i < n; i++)
		to[i] += q[byte[i / NUMBERS] >> 2 * (i % NUMBERS) & 3];
}

const struct codec_row codec_2bit = { "2bit", .most = 1e6, .bytes = size_of_2bit,
	.encode = encode_2bit, .add = add_2bit };
