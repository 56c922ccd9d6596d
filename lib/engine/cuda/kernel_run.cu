/* kernel_run - a body of kernel.h into a kernel, a thread for an index; compiled with -fmad=false, so that bits are those of the CPU. */
#include "engine/cuda/kernel.h"

#include "engine/cuda/device_in.h"

#define THREADS	256u
#define BLOCKS	32u	/* a multiprocessor at most: threads go on to further indices */

static unsigned
blocks(const struct device *d, uint32_t count)
{
	uint32_t want = (count + THREADS - 1) / THREADS, most = d->processors * BLOCKS;

	return want < most ? want : most;
}

#define KERNEL_DEFINE(name) \
	template <int TYPE> __global__ void __launch_bounds__(THREADS) \
	name##_kernel(const struct kernel_##name a, uint32_t count) \
	{ \
		for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) \
			kernel_##name##_at(&a, i, TYPE); \
	} \
	extern "C" int \
	kernel_run_##name(struct device *d, const struct kernel_##name *a, uint32_t count, int type) \
	{ \
		if (count == 0) \
			return 0; \
		if (type == KERNEL_F32) \
			name##_kernel<KERNEL_F32><<<blocks(d, count), THREADS, 0, d->stream[0]>>>(*a, count); \
		else if (type == KERNEL_BF16) \
			name##_kernel<KERNEL_BF16><<<blocks(d, count), THREADS, 0, d->stream[0]>>>(*a, count); \
		else \
			name##_kernel<KERNEL_F16><<<blocks(d, count), THREADS, 0, d->stream[0]>>>(*a, count); \
		return device_ok(d, cudaGetLastError(), #name); \
	}

KERNEL_LIST(KERNEL_DEFINE)
