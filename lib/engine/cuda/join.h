/*
 * join - the plans of several GPUs of one process go backward together, and their gradients are added up on the way.
 *
 * Each plan's thread hands in its slices of the pass backward as it enqueues them.  Who is the last to hand in a slice
 * enqueues for all of them, on DEVICE_COPY behind the slice's kernels, NCCL's sum onto the first GPU and the copy down
 * from there: nobody waits for a GPU, and a sum is begun by all GPUs or by none, so that one that fails leaves no other
 * waiting for it.  A pass that failed on one ends those of the others with ERR_STOP, and every one after it.
 *
 * The order in which NCCL adds is its own for three GPUs and more; on one machine it is the same on every run.
 * Threads: a thread for each plan of a pass; join_open() and join_close() while there is none.
 */
#ifndef ENGINE_CUDA_JOIN_H
#define ENGINE_CUDA_JOIN_H

#include "engine/cuda/plan.h"

/*
 * Makes dev [n] one group, in this order. Returns 0, ERR_NOTSUP (no NCCL), ERR_NOMEM or ERR_SYS;
 * those leave them apart.
 */
int	 join_open(struct engine_dev *const *dev, uint32_t n);
/* Parts the group of dev, if there is one. */
void	 join_close(struct engine_dev *dev);
int	 join_describe(const struct engine_dev *dev, struct buf *out);	/* "NCCL 2.28.9" */

/* Slice k of p's pass is enqueued and its mark `born` put. */
int	 join_slice(struct engine_plan *p, uint32_t k);
/*
 * When p has handed in all: waits until slice k is in from everybody, and its mark `ready` that of
 * this pass. 0 or ERR_STOP.
 */
int	 join_wait(struct engine_plan *p, uint32_t k);
void	 join_fail(struct engine_plan *p);	/* p's pass ends here */

#endif
