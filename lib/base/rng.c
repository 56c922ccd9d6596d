/* rng - random numbers that depend on (seed, epoch, index) only. */
#include "base/rng.h"

#include <math.h>

#define GOLDEN 0x9e3779b97f4a7c15u	/* 2^64 divided by the golden ratio */

static uint64_t
mix_bits(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

struct rng
rng_start(uint64_t seed, uint64_t epoch, uint64_t index)
{
	uint64_t s = mix_bits(seed + GOLDEN);

	s = mix_bits(s ^ (epoch + 1) * GOLDEN);
	s = mix_bits(s ^ (index + 1) * 0xd1342543de82ef95u);
	return (struct rng){ s };
}

uint64_t
rng_u64(struct rng *r)
{
	return mix_bits(r->s += GOLDEN);
}

uint64_t
rng_below(struct rng *r, uint64_t n)
{
	uint64_t least = -n % n;	/* 2^64 mod n: rejecting smaller values removes the bias */
	uint64_t v;

	do
		v = rng_u64(r);
	while (v < least);
	return v % n;
}

float
rng_f32(struct rng *r)
{
	return (float)(rng_u64(r) >> 40) * 0x1p-24f;
}

float
rng_normal(struct rng *r)
{
	double u = 1.0 - (double)(rng_u64(r) >> 11) * 0x1p-53;	/* in (0, 1], so that the logarithm is finite */
	double v = (double)(rng_u64(r) >> 11) * 0x1p-53;

	return (float)(sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
}

void
rng_shuffle_u32(struct rng *r, uint32_t *p, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t k = (size_t)rng_below(r, i);
		uint32_t t = p[i - 1];

		p[i - 1] = p[k];
		p[k] = t;
	}
}
