/*
 * join - sums the gradients of several GPUs of one process during their backward passes.
 *
 * The thread of each plan submits the slices of its backward pass once their kernels are enqueued.  The last thread
 * to submit a slice enqueues NCCL's sum and the download for all devices, on DEVICE_DOWNLOAD, after the
 * slice's kernels.  With the device optimizer each device gets the sum, and nothing is downloaded.  No
 * thread waits for a GPU, and a sum starts on all GPUs or on none.  If a pass fails on one device, it ends
 * with ERR_STOP on the others, and so do all later passes.  Sums that are under way end too: those of a lost GPU's
 * peers would wait for it without end, and a host that waits for their results with them.
 *
 * With three GPUs and more the order of the additions is NCCL's; on one machine it is the same in every
 * run.
 * Threads: one for each plan of a pass; join_open() and join_close() between passes.
 */
#ifndef ENGINE_CUDA_JOIN_H
#define ENGINE_CUDA_JOIN_H

#include "engine/cuda/exec_plan.h"

/* Joins dev [n] as one group, in this order.  Returns 0, ERR_NOTSUP (no NCCL), ERR_NOMEM or ERR_SYS. */
int	 join_open(struct engine_dev *const *dev, uint32_t n);
/* Ends the group of dev, if there is one. */
void	 join_close(struct engine_dev *dev);
int	 join_describe(const struct engine_dev *dev, struct buf *out);	/* "NCCL 2.28.9" */

/* Slice k of p's pass is enqueued and its event `computed` recorded. */
int	 join_submit(struct engine_plan *p, uint32_t k);
/*
 * After p has submitted all slices: waits until slice k's event `downloaded` is recorded, which with the device
 * optimizer follows the sum.  Returns 0 or ERR_STOP.
 */
int	 join_wait(struct engine_plan *p, uint32_t k);
/* A pass of p, or its wait for one, has failed. */
void	 join_fail(struct engine_plan *p);

#endif
