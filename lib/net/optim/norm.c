/* norm - the exact sum of squares of floats, and its root. */
#include "net/optim/norm.h"
#include "base/buf.h"

#include <math.h>
#include <string.h>

#define LOWEST	(-298)		/* the exponent of bit 0: the smallest float is 2^-149 */
#define CHUNK	65536u		/* squares of 48 bits that a bin holds */
#define BINS	256u		/* one for each exponent of a float */
#define LANES	4u		/* bins of each exponent, so that neighbours do not wait for one another */
#define NONFINITE	44u		/* bit of the last word where infinities and NaNs are counted: bit 620 */

/* Adds v at bit `at` and propagates the carry. */
static void
add_at(struct norm *s, uint64_t v, uint32_t at)
{
	uint32_t i = at / 64, shift = at % 64;
	uint64_t part = v << shift, rest = shift > 0 ? v >> (64 - shift) : 0;
	uint64_t carry;

	s->word[i] += part;
	carry = s->word[i] < part;
	for (i++; (rest != 0 || carry != 0) && i < NORM_WORDS; i++) {
		part = rest + carry;	/* rest is below 2^63 */
		s->word[i] += part;
		carry = s->word[i] < part;
		rest = 0;
	}
}

/* Adds squares of equal exponents as multiples of one unit. */
static void
add_chunk(struct norm *s, const float *x, size_t n)
{
	uint64_t bin[LANES][BINS];

	memset(bin, 0, sizeof(bin));
	for (size_t i = 0; i < n; i++) {
		uint32_t u, e;
		uint64_t m;

		memcpy(&u, x + i, sizeof(u));
		e = u >> 23 & 255;
		m = (u & 0x7fffff) | (uint32_t)(e > 0) << 23;
		bin[i % LANES][e] += m * m;
	}
	for (uint32_t e = 0; e < BINS - 1; e++)
		for (uint32_t l = 0; l < LANES; l++)
			if (bin[l][e] != 0)
				add_at(s, bin[l][e], 2 * (e > 0 ? e : 1) - 2);
}

/* Whether x has an infinity or a NaN.  add_chunk() would miss infinities: their mantissas are 0. */
static int
has_nonfinite(const float *x, size_t n)
{
	uint32_t any = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t u;

		memcpy(&u, x + i, sizeof(u));
		any |= (u >> 23 & 255) == 255;
	}
	return (int)any;
}

void
norm_add(struct norm *s, const float *x, size_t n)
{
	for (size_t at = 0; at < n; at += CHUNK) {
		size_t some = n - at < CHUNK ? n - at : CHUNK;

		if (has_nonfinite(x + at, some))
			s->word[NORM_WORDS - 1] |= 1ull << NONFINITE;
		else
			add_chunk(s, x + at, some);
	}
}

void
norm_add_sum(struct norm *s, const struct norm *other)
{
	uint64_t carry = 0;

	for (uint32_t i = 0; i < NORM_WORDS; i++) {
		uint64_t sum = s->word[i] + other->word[i];
		uint64_t over = sum < s->word[i];

		s->word[i] = sum + carry;
		carry = over | (s->word[i] < sum);
	}
}

double
norm_root(const struct norm *s)
{
	double v = 0;

	if (s->word[NORM_WORDS - 1] >> NONFINITE != 0)
		return (double)NAN;
	for (uint32_t i = 0; i < NORM_WORDS; i++)
		v += ldexp((double)s->word[i], (int)(64 * i) + LOWEST);
	return sqrt(v);
}

void
norm_put(const struct norm *s, uint8_t *to)
{
	for (uint32_t i = 0; i < NORM_WORDS; i++)
		le_put64(to + 8 * i, s->word[i]);
}

void
norm_get(struct norm *s, const uint8_t *from)
{
	for (uint32_t i = 0; i < NORM_WORDS; i++)
		s->word[i] = le_get64(from + 8 * i);
}
