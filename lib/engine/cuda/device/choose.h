/*
 * choose - the fastest of several kernels for one convolution: the one that won before, or a race.
 *
 * A race lasts CHOOSE_RUNS timed runs of each way, of which the median counts; of
 * equal ones the earlier in the library's own order wins.  Keys and names are the
 * texts of engine/autotune_cache.h.
 */
#ifndef ENGINE_CUDA_DEVICE_CHOOSE_H
#define ENGINE_CUDA_DEVICE_CHOOSE_H

#include "engine/cuda/device/dnn.h"

#define CHOOSE_RUNS	5	/* odd: the median is one of them */
#define CHOOSE_WAYS	8	/* most that race */

struct choose_ways {
	uint32_t n;		/* 1..CHOOSE_WAYS */
	char	 name[CHOOSE_WAYS][ENGINE_CHOICE];
	/* Runs way i; us [CHOOSE_RUNS] gets microseconds.  false: this way does not run. */
	bool	 (*race)(void *arg, uint32_t i, double *us);
	void	*arg;
};

/* The way to take, below n: the first where none runs. */
uint32_t choose_way(const struct device *d, const struct dnn_shape *shape, const struct engine_tune *tune,
	     const struct choose_ways *ways);

#endif
