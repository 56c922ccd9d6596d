/*
 * nccl - the GPUs of one process through NVIDIA's library of collectives: arrays that they have become their sum on the
 * first.
 *
 * libnccl.so.2 is opened when it is asked for, so that the module does without where there is none.  The few calls
 * used are declared in nccl.c as nccl.h of NCCL 2.28 has them; tests/gpu compares.  Any 2.x has them alike.
 */
#ifndef ENGINE_CUDA_DEVICE_NCCL_H
#define ENGINE_CUDA_DEVICE_NCCL_H

#include "engine/cuda/device/device.h"

struct nccl;

/*
 * Devices d [n] are lent until nccl_close(). ERR_NOTSUP without the library, ERR_NOMEM, or ERR_SYS
 * and the library's reason.
 */
int	 nccl_open(const struct cuda_host *host, struct device *const *d, uint32_t n, struct nccl **c);
void	 nccl_close(struct nccl *c);	/* NULL is fine; the devices have nothing to do any more */
void	 nccl_version(const struct nccl *c, unsigned v[3]);
/* Enqueues on DEVICE_COPY of each: g[0] [count] becomes the sum of all g [n], which lie on their devices. */
int	 nccl_sum(struct nccl *c, float *const *g, size_t count);

#endif
