/* merge_sum - the arithmetic of a merge: f64 sums of weighted f32. */
#include "net/merge/merge_sum.h"
#include "base/isa.h"

ISA_CLONES(extern, void, merge_sum_add, (double *restrict sum, const float *restrict x, size_t n, double share),
    (sum, x, n, share))
{
	for (size_t k = 0; k < n; k++)
		sum[k] += share * (double)x[k];
}

ISA_CLONES(extern, void, merge_sum_round, (const double *restrict sum, size_t n, float *restrict to), (sum, n, to))
{
	for (size_t k = 0; k < n; k++)
		to[k] = (float)sum[k];
}
