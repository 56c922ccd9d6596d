/*
 * nccl - sums over the GPUs of one process by NCCL.
 *
 * The module opens libnccl.so.2 on demand, so that it works without. nccl.c declares the few calls
 * itself, as nccl.h of NCCL 2.28 has them; tests/gpu compares. They are the same from 2.4 on.
 */
#ifndef ENGINE_CUDA_DEVICE_NCCL_H
#define ENGINE_CUDA_DEVICE_NCCL_H

#include "engine/cuda/device/device.h"

struct nccl;

/*
 * d [n] must stay open until nccl_close(). Returns 0, ERR_NOTSUP without the library, ERR_NOMEM, or
 * ERR_SYS with the library's reason.
 */
int	 nccl_open(const struct cuda_host *host, struct device *const *d, uint32_t n, struct nccl **c);
void	 nccl_close(struct nccl *c);	/* NULL is fine; the devices must be idle */
void	 nccl_version(const struct nccl *c, unsigned v[3]);
/* Enqueues on DEVICE_DOWNLOAD of each device: g[0] [count], or with all each g[k], becomes the sum of all g [n]. */
int	 nccl_sum(struct nccl *c, float *const *g, size_t count, bool all);
/*
 * Ends the sums that were enqueued and lets nothing follow them but nccl_close().  The sum of one GPU waits for all
 * others, without end if one of them is lost.  Other threads may wait for the devices.
 */
void	 nccl_abort(struct nccl *c);

#endif
