/*
 * learn - the optimizer where the weights are: what of it stands in the GPU's memory, and how it is found there.
 *
 * An update is a list of kernels that is recorded once.  What changes from step to
 * step, the rate, the number of samples and what hangs on them, goes up in one small
 * copy before it is played, and nobody waits.
 */
#ifndef ENGINE_CUDA_LEARN_H
#define ENGINE_CUDA_LEARN_H

#include "engine/cuda/plan.h"

/* Squares of ranges: sums of lanes, then of strips, of groups and of ranges, each in one order. */
struct learn_norms {
	uint32_t nstrip, ngroup;	/* 0: no norms are needed */
	bool	 each;			/* of the weights too */
	char	*held;			/* the GPU's */
	size_t	 strip, group_of, range_of, wd;		/* bytes into it: kernel_strip [nstrip], u32 [ngroup + 1], [nrange + 1], f32 */
	size_t	 lanes, strips, groups, g, w;		/* f64 [nstrip, KERNEL_LANES], [nstrip], [ngroup], [nrange] twice */
};

struct learn {
	struct opt_hyper hyper;
	struct engine_range *range;
	uint32_t nrange;
	struct engine_fold *fold;
	uint32_t nfold;
	bool	 pieces, averages;
	uint32_t averaged;
	uint64_t t;		/* of the last update */
	bool	 added;		/* pieces since the last update */
	bool	 shown;		/* the average stands where the weights do */
	bool	 flying;	/* `up` may be on its way */
	char	*held;		/* the GPU's */
	size_t	 state, sum, stats, average, bad, now, pace;	/* bytes into it */
	char	*up;		/* pinned: now and pace as in `held`, then u32 bad on its way down */
	size_t	 up_bytes;
	struct learn_norms norms;
};

/* learn_norms.c.  Returns 0 or ERR_NOMEM, ERR_SYS. */
int	 learn_norms_make(struct engine_plan *p, struct learn *l);
/* Enqueues what makes paces of norms, g [P] being the gradients. */
int	 learn_norms_run(struct engine_plan *p, const struct learn *l, const float *g);

#endif
