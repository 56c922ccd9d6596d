/* codec_topk - the numbers of the largest size, with their indices: serves codec. */
#include "wire/codec_in.h"

#include <stdint.h>
#include <string.h>

#define DIGIT	11			/* bits; three digits have those of a size */
#define DIGITS	(1u << DIGIT)

static size_t
count_sent(double x, size_t n)
{
	size_t k = (size_t)(x * (double)n + 0.5);

	return k == 0 && n > 0 ? 1 : k < n ? k : n;
}

static size_t
count_topk_bytes(struct codec c, size_t n)
{
	return count_sent(c.x, n) * (sizeof(uint32_t) + sizeof(float));
}

static float
add_residual(const float *v, const float *before, size_t i)
{
	return before != NULL ? v[i] + before[i] : v[i];
}

/*
 * Returns the size, as bits, of the k-th largest number; *ties is how many of exactly this size are among the k.  Bits
 * order as sizes do, infinity and NaN above all.  Each pass finds one more digit, the highest first.
 */
static uint32_t
find_least(const float *v, const float *before, size_t n, size_t k, size_t *ties)
{
	uint32_t least = 0, known = 0;

	for (int shift = 2 * DIGIT; shift >= 0; shift -= DIGIT) {
		size_t count[DIGITS] = { 0 };
		uint32_t digit = DIGITS - 1;

		for (size_t i = 0; i < n; i++) {
			uint32_t size = codec_magnitude(add_residual(v, before, i));

			if ((size & known) == least)
				count[size >> shift & (DIGITS - 1)]++;
		}
		for (; count[digit] < k; digit--)
			k -= count[digit];
		least |= digit << shift;
		known |= (DIGITS - 1) << shift;
	}
	*ties = k;
	return least;
}

static void
encode_topk(struct codec c, const float *v, const float *before, size_t n, float *after, void *to)
{
	size_t k = count_sent(c.x, n), ties = 0, sent = 0;
	uint8_t *index = to, *number = index + k * sizeof(uint32_t);
	uint32_t least = k > 0 ? find_least(v, before, n, k, &ties) : 0;

	for (size_t i = 0; i < n; i++) {
		float value = add_residual(v, before, i);
		uint32_t size = codec_magnitude(value), at = (uint32_t)i;
		bool is_sent = size > least || (size == least && ties > 0);

		ties -= is_sent && size == least;
		if (is_sent) {
			memcpy(index + sent * sizeof(at), &at, sizeof(at));
			memcpy(number + sent++ * sizeof(value), &value, sizeof(value));
		}
		if (after != NULL)
			after[i] = is_sent || size >= CODEC_INF ? 0 : value;
	}
}

static bool
is_valid_topk(struct codec c, const void *from, size_t n)
{
	size_t k = count_sent(c.x, n);

	for (uint64_t i = 0, before = 0; i < k; i++) {
		uint32_t at;

		memcpy(&at, (const uint8_t *)from + i * sizeof(at), sizeof(at));
		if (at >= n || (i > 0 && at <= before))
			return false;
		before = at;
	}
	return true;
}

static void
add_topk(struct codec c, const void *from, size_t n, float *to)
{
	size_t k = count_sent(c.x, n);
	const uint8_t *index = from, *number = index + k * sizeof(uint32_t);

	for (size_t i = 0; i < k; i++) {
		uint32_t at;
		float value;

		memcpy(&at, index + i * sizeof(at), sizeof(at));
		memcpy(&value, number + i * sizeof(value), sizeof(value));
		to[at] += value;
	}
}

const struct codec_row codec_topk = { "topk", .usual = 0.01, .least = 1e-6, .most = 1, .bytes = count_topk_bytes,
	.encode = encode_topk, .valid = is_valid_topk, .add = add_topk };
