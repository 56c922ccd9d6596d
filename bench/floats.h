/*
 * floats - a gradient that is written and weights that are read: what a step without compute does with its arrays.
 *
 * By vectors, as the kernels of a training step and of the peers do: float by float the loops would take longer than the
 * exchange that they are part of.
 */
#ifndef BENCH_FLOATS_H
#define BENCH_FLOATS_H

#include <stddef.h>

#define FLOATS_LANES 4	/* of a vector that every x86-64 and arm64 has */
#define FLOATS_SUMS  4	/* so that the additions wait for memory and not for each other */

typedef float floats_vec __attribute__((vector_size(4 * FLOATS_LANES), aligned(4), may_alias));

static inline void
floats_fill(float *p, size_t n, float value)
{
	const floats_vec all = (floats_vec){ 0 } + value;
	size_t i = 0;

	for (; i + FLOATS_LANES <= n; i += FLOATS_LANES)
		*(floats_vec *)(p + i) = all;
	for (; i < n; i++)
		p[i] = value;
}

static inline float
floats_sum(const float *p, size_t n)
{
	floats_vec v[FLOATS_SUMS] = { 0 };
	float sum = 0;
	size_t i = 0;

	for (; i + FLOATS_SUMS * FLOATS_LANES <= n; i += FLOATS_SUMS * FLOATS_LANES)
#pragma GCC unroll 4
		for (size_t k = 0; k < FLOATS_SUMS; k++)
			v[k] += *(const floats_vec *)(p + i + k * FLOATS_LANES);
	for (; i < n; i++)
		sum += p[i];
	for (size_t k = 0; k < FLOATS_SUMS; k++)
		for (size_t l = 0; l < FLOATS_LANES; l++)
			sum += v[k][l];
	return sum;
}

#endif
