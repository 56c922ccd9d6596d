/* merge_sum - the arithmetic of a merge: f64 sums of weighted f32, the same bits on every machine. */
#ifndef NET_MERGE_MERGE_SUM_H
#define NET_MERGE_MERGE_SUM_H

#include <stddef.h>

/* sum += share * x */
void	 merge_sum_add(double *restrict sum, const float *restrict x, size_t n, double share);
void	 merge_sum_round(const double *restrict sum, size_t n, float *restrict to);

#endif
