/* bn_join - joins the sums of all samples for one group of channels, in f64. */
#include "engine/cpu/bn/bn_join.h"
#include "engine/cpu/cpu_vec.h"

#include <string.h>

_Static_assert(BN_LANES == CPU_VEC, "a group is a vector");

/* The mean of channel l in sample i; off gets its distance from the first pixel. */
ISA_INLINE double
sample_mean(const struct bn_sums *g, size_t i, size_t l, bool bf16, double *off)
{
	*off = g->s[i * g->s_step + l] / g->pixels;
	return cpu_read(g->x, i * g->x_step + l, bf16) + *off;
}

ISA_INLINE void
join_moments(const struct bn_sums *g, size_t width, bool bf16, float *to_mean, float *to_var)
{
	const double n = (double)g->samples;
	double mean[BN_LANES] = { 0 }, squares[BN_LANES] = { 0 }, off;

	for (size_t i = 0; i < g->samples; i++)
		for (size_t l = 0; l < width; l++)
			mean[l] += sample_mean(g, i, l, bf16, &off);
	for (size_t l = 0; l < width; l++)
		mean[l] /= n;
	for (size_t i = 0; i < g->samples; i++) {
		const float *s = g->s + i * g->s_step;

		for (size_t l = 0; l < width; l++) {
			const double d = sample_mean(g, i, l, bf16, &off) - mean[l];

			squares[l] += s[width + l] - s[l] * off + g->pixels * d * d;
		}
	}
	for (size_t l = 0; l < width; l++) {
		to_mean[l] = (float)mean[l];
		to_var[l] = squares[l] > 0 ? (float)(squares[l] / (n * g->pixels)) : 0;
	}
}

/* A width and a type that are constants let the compiler use vectors. */
ISA_CLONES(extern, void, bn_join_moments, (const struct bn_sums *g, float *mean, float *var), (g, mean, var))
{
	if (g->width != BN_LANES)
		join_moments(g, g->width, g->bf16, mean, var);
	else if (g->bf16)
		join_moments(g, BN_LANES, true, mean, var);
	else
		join_moments(g, BN_LANES, false, mean, var);
}

ISA_INLINE void
join_sums(const struct bn_sums *g, size_t values, double *to)
{
	double sum[2 * BN_LANES] = { 0 };

	for (size_t i = 0; i < g->samples; i++)
		for (size_t l = 0; l < values; l++)
			sum[l] += g->s[i * g->s_step + l];
	memcpy(to, sum, values * sizeof(*to));
}

ISA_CLONES(extern, void, bn_join_sums, (const struct bn_sums *g, double *to), (g, to))
{
	if (g->width == BN_LANES)
		join_sums(g, 2 * BN_LANES, to);
	else
		join_sums(g, 2 * g->width, to);
}
