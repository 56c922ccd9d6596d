/*
 * choose - the fastest of several kernels for a convolution, from the autotune cache or by a race.
 *
 * A race takes the median of CHOOSE_RUNS timed runs of each candidate. Of equal ones the first in
 * the library's order wins. Keys and names are those of engine/autotune_cache.h.
 */
#ifndef ENGINE_CUDA_DEVICE_CHOOSE_H
#define ENGINE_CUDA_DEVICE_CHOOSE_H

#include "engine/cuda/device/dnn.h"

#define CHOOSE_RUNS	5	/* odd, so that the median is one of them */
#define CHOOSE_MOST	8	/* most in a race */

struct choose_candidates {
	uint32_t n;		/* 1..CHOOSE_MOST */
	char	 name[CHOOSE_MOST][ENGINE_CHOICE];
	/*
	 * Runs candidate i; us [CHOOSE_RUNS] gets microseconds. Returns false if it does not run.
	 */
	bool	 (*race)(void *arg, uint32_t i, double *us);
	void	*arg;
};

/* Returns the number of the candidate to use: the first one if none runs. */
uint32_t choose_kernel(const struct device *d, const struct dnn_shape *shape, const struct engine_tune *tune,
	     const struct choose_candidates *candidates);

#endif
