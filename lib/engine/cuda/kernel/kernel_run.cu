/*
 * kernel_run - a CUDA kernel for each body of kernel.h, with a thread for each index.
 *
 * Compiled with -fmad=false, so that the bits are those of the CPU.
 */
#include "engine/cuda/kernel/kernel.h"

#include "engine/cuda/device/device_in.h"

#define THREADS	256u
#define BLOCKS	32u	/* most per multiprocessor; threads loop over further indices */

static unsigned
blocks_for(const struct device *d, uint32_t count)
{
	uint32_t want = (count + THREADS - 1) / THREADS, most = d->processors * BLOCKS;

	return want < most ? want : most;
}

/* Returns the status of this launch.  cudaGetLastError() may report an earlier call of a library. */
static int
launch_kernel(struct device *d, const void *kernel, void **with, uint32_t count, const char *name)
{
	if (count == 0)
		return 0;
	return device_check(d, cudaLaunchKernel(kernel, dim3(blocks_for(d, count)), dim3(THREADS), with, 0,
	    d->stream[0]), name);
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
		static const void *const by_type[KERNEL_TYPES] = { (const void *)name##_kernel<KERNEL_F32>, \
			(const void *)name##_kernel<KERNEL_BF16>, (const void *)name##_kernel<KERNEL_F16>, \
			(const void *)name##_kernel<KERNEL_MIXED> }; \
		struct kernel_##name copy = *a; \
		void *with[] = { &copy, &count }; \
		return launch_kernel(d, by_type[type], with, count, #name); \
	}

KERNEL_LIST(KERNEL_DEFINE)
