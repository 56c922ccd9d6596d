/* codec_powersgd - a matrix as the product of two thin ones: serves codec. */
#include "wire/codec_in.h"
#include "base/isa.h"
#include "base/num.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define BLOCK	CODEC_BLOCK
#define LANES	16	/* partial sums, so that every instruction set adds in the same order */
#define MOST_RANK 64
#define ITERATIONS 2	/* steps of the power iteration */

/* The sizes of a slice; rank 0: its factors are no smaller, and it is sent as f32. */
struct shape {
	size_t	rows, cols, rank;
};

static struct shape
find_shape(struct codec c, size_t n)
{
	struct shape s = { c.cols > 0 ? n / c.cols : 0, c.cols, (size_t)c.x };

	s.rank = s.rank < s.rows ? s.rank : s.rows;
	s.rank = s.rank < s.cols ? s.rank : s.cols;
	if (s.rows * s.cols != n || s.rank * (s.rows + s.cols) >= n)
		s.rank = 0;
	return s;
}

static size_t
count_powersgd_bytes(struct codec c, size_t n)
{
	struct shape s = find_shape(c, n);

	return (s.rank > 0 ? s.rank * (s.rows + s.cols) : n) * sizeof(float);
}

/* p [rows, rank] = M * transposed q [rank, cols] */
ISA_CLONES(static, void, multiply_rows, (const float *v, const float *before, const struct shape *s, float *p,
    const float *q), (v, before, s, p, q))
{
	float x[BLOCK], y[BLOCK], part[MOST_RANK][LANES];

	for (size_t i = 0; i < s->rows; i++) {
		memset(part, 0, s->rank * sizeof(*part));
		for (size_t j = 0; j < s->cols; j += BLOCK) {
			size_t at = i * s->cols + j;

			codec_load_block(v + at, before != NULL ? before + at : NULL, s->cols - j, x);
			for (size_t k = 0; k < s->rank; k++) {
				codec_load_block(q + k * s->cols + j, NULL, s->cols - j, y);
				for (size_t b = 0; b < BLOCK; b += LANES)
					for (size_t l = 0; l < LANES; l++)
						part[k][l] += x[b + l] * y[b + l];
			}
		}
		for (size_t k = 0; k < s->rank; k++) {
			float sum = 0;

			for (size_t l = 0; l < LANES; l++)
				sum += part[k][l];
			p[i * s->rank + k] = sum;
		}
	}
}

ISA_INLINE void
add_product(float *restrict to, float by, const float *restrict x, size_t n)
{
	if (n == BLOCK)
		for (size_t b = 0; b < BLOCK; b++)
			to[b] += by * x[b];
	else
		for (size_t b = 0; b < n; b++)
			to[b] += by * x[b];
}

/* q [rank, cols] = transposed p [rows, rank] * M */
ISA_CLONES(static, void, multiply_columns, (const float *v, const float *before, const struct shape *s, const float *p,
    float *q), (v, before, s, p, q))
{
	float x[BLOCK];

	memset(q, 0, s->rank * s->cols * sizeof(*q));
	for (size_t i = 0; i < s->rows; i++)
		for (size_t j = 0; j < s->cols; j += BLOCK) {
			size_t at = i * s->cols + j, some = s->cols - j < BLOCK ? s->cols - j : BLOCK;

			codec_load_block(v + at, before != NULL ? before + at : NULL, some, x);
			for (size_t k = 0; k < s->rank; k++)
				add_product(q + k * s->cols + j, p[i * s->rank + k], x, some);
		}
}

/* Makes the columns of p orthonormal, each to those before it; one that depends on them becomes 0, or nearly any. */
static void
orthonormalize_columns(float *p, const struct shape *s)
{
	for (size_t k = 0; k < s->rank; k++) {
		double size = 0;

		for (size_t before = 0; before < k; before++) {
			double dot = 0;

			for (size_t i = 0; i < s->rows; i++)
				dot += (double)p[i * s->rank + k] * (double)p[i * s->rank + before];
			for (size_t i = 0; i < s->rows; i++)
				p[i * s->rank + k] -= (float)dot * p[i * s->rank + before];
		}
		for (size_t i = 0; i < s->rows; i++)
			size += (double)p[i * s->rank + k] * (double)p[i * s->rank + k];
		for (size_t i = 0; i < s->rows; i++)
			p[i * s->rank + k] = size > 0 ? (float)((double)p[i * s->rank + k] / sqrt(size)) : 0;
	}
}

/* Adds p * q to `to`, or sets `to` to what v and before are more, unless v is NULL.  Factors have any alignment. */
ISA_CLONES(static, void, expand_factors, (const uint8_t *p, const uint8_t *q, const struct shape *s, const float *v,
    const float *before, float *to), (p, q, s, v, before, to))
{
	float sum[BLOCK], x[BLOCK], y[BLOCK];

	for (size_t i = 0; i < s->rows; i++)
		for (size_t j = 0; j < s->cols; j += BLOCK) {
			size_t at = i * s->cols + j, some = s->cols - j < BLOCK ? s->cols - j : BLOCK;

			memset(sum, 0, sizeof(sum));
			memset(y, 0, sizeof(y));
			for (size_t k = 0; k < s->rank; k++) {
				float by;

				memcpy(&by, p + (i * s->rank + k) * sizeof(by), sizeof(by));
				memcpy(y, q + (k * s->cols + j) * sizeof(by), some * sizeof(by));
				for (size_t b = 0; b < BLOCK; b++)
					sum[b] += by * y[b];
			}
			codec_load_block(v != NULL ? v + at : to + at, before != NULL ? before + at : NULL, some, x);
			for (size_t b = 0; b < some; b++)
				to[at + b] = v != NULL ? x[b] - sum[b] : x[b] + sum[b];
		}
}

static void
encode_powersgd(struct codec c, const float *v, const float *before, size_t n, float *after, void *to)
{
	struct shape s = find_shape(c, n);
	float *p = to, *q = p + s.rows * s.rank;
	uint32_t bits = 1;

	for (size_t i = 0; i < n && s.rank == 0; i++) {
		p[i] = before != NULL ? v[i] + before[i] : v[i];
		if (after != NULL)
			after[i] = 0;
	}
	if (s.rank == 0)
		return;
	/* Signs without a pattern: they are the same each time, and so are the bytes. */
	for (size_t i = 0; i < s.rank * s.cols; i++) {
		bits = bits * 1664525u + 1013904223u;
		q[i] = bits >> 31 ? 1 : -1;
	}
	for (int i = 0; i < ITERATIONS; i++) {
		multiply_rows(v, before, &s, p, q);
		orthonormalize_columns(p, &s);
		multiply_columns(v, before, &s, p, q);
	}
	if (num_finite(p, s.rank * (s.rows + s.cols))) {
		if (after != NULL)
			expand_factors(to, (const uint8_t *)q, &s, v, before, after);
		return;
	}
	for (size_t i = 0; i < s.rank * (s.rows + s.cols); i++)
		p[i] = NAN;
	if (after != NULL)
		memset(after, 0, n * sizeof(*after));
}

static void
add_powersgd(struct codec c, const void *from, size_t n, float *to)
{
	struct shape s = find_shape(c, n);

	for (size_t i = 0; i < n && s.rank == 0; i++) {
		float x;

		memcpy(&x, (const uint8_t *)from + i * sizeof(x), sizeof(x));
		to[i] += x;
	}
	if (s.rank > 0)
		expand_factors(from, (const uint8_t *)from + s.rows * s.rank * sizeof(float), &s, NULL, NULL, to);
}

const struct codec_row codec_powersgd = { "powersgd", .usual = 4, .least = 1, .most = MOST_RANK, .whole = true,
	.bytes = count_powersgd_bytes, .encode = encode_powersgd, .add = add_powersgd };
