/*
 * rng - random numbers that depend on (seed, epoch, index) only.
 *
 * Three numbers start a stream.  Equal numbers give equal streams on every machine, and no stream depends on how much
 * was drawn from another.
 * Method: SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014); the start is
 * mixed from the three numbers.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
	uint64_t s;
};

struct rng rng_start(uint64_t seed, uint64_t epoch, uint64_t index);
uint64_t rng_u64(struct rng *r);
/* Uniform in [0, n), without bias; n > 0. */
uint64_t rng_below(struct rng *r, uint64_t n);
/* Uniform in [0, 1), 24 bits. */
float	 rng_f32(struct rng *r);
/* Mean 0, variance 1 (Box and Muller, 1958). */
float	 rng_normal(struct rng *r);
/* Shuffles p[0..n) (Fisher and Yates). */
void	 rng_shuffle_u32(struct rng *r, uint32_t *p, size_t n);

#endif
