/*
 * kernel_run - a CUDA kernel for each body of kernel.h, with a thread for each index or a block for each body.
 *
 * Compiled with -fmad=false, so that the bits are those of the CPU.
 */
#include "engine/cuda/kernel/kernel.h"

#include "engine/cuda/device/device_in.h"

/*
 * Starts at most as many blocks as the multiprocessors hold at once; their threads loop over further indices.
 * Returns the status of this launch.  cudaGetLastError() may report an earlier call of a library.
 */
static int
launch_kernel(struct device *d, const void *kernel, void **with, uint32_t count, const char *name)
{
	const uint32_t threads = kernel_block(count, d->processors), want = (count + threads - 1) / threads;
	int each = 1;
	uint32_t most;
	int e;

	if (count == 0)
		return 0;
	if ((e = device_check(d, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, (int)threads, 0),
	    name)) < 0)
		return e;
	most = d->processors * (uint32_t)each;
	return device_check(d, cudaLaunchKernel(kernel, dim3(want < most ? want : most), dim3(threads), with, 0,
	    d->stream[0]), name);
}

#define KERNEL_DEFINE(name) \
	template <int TYPE> __global__ void __launch_bounds__(KERNEL_THREADS) \
	name##_kernel(const struct kernel_##name a, uint32_t count) \
	{ \
		for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) \
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

/* The kernels of each type and width, and a function that launches the one that fits. */
#define KERNEL_DEFINE_RUN(name, kernel, launch) \
	extern "C" int \
	kernel_run_##name(struct device *d, const struct kernel_##name *a, int type) \
	{ \
		static const void *const narrow[KERNEL_TYPES] = { (const void *)kernel<KERNEL_F32, 1>, \
			(const void *)kernel<KERNEL_BF16, 1>, (const void *)kernel<KERNEL_F16, 1>, \
			(const void *)kernel<KERNEL_MIXED, 1> }; \
		static const void *const wide[KERNEL_MIXED] = { (const void *)kernel<KERNEL_F32, KERNEL_WIDTH>, \
			(const void *)kernel<KERNEL_BF16, KERNEL_WIDTH>, \
			(const void *)kernel<KERNEL_F16, KERNEL_WIDTH> }; \
		const struct kernel_grid grid = kernel_##name##_grid(a); \
		const bool is_wide = grid.width > 1 && type != KERNEL_MIXED; \
		struct kernel_##name copy = *a; \
		return launch(d, is_wide ? wide[type] : narrow[type], &copy, grid, is_wide, #name); \
	}

static int
launch_wide(struct device *d, const void *kernel, void *a, struct kernel_grid grid, bool is_wide, const char *name)
{
	uint32_t count = is_wide ? grid.count : grid.count * grid.width;
	void *with[] = { a, &count };

	return launch_kernel(d, kernel, with, count, name);
}

static int
launch_blocks(struct device *d, const void *kernel, void *a, struct kernel_grid grid, bool, const char *name)
{
	return device_check(d, cudaLaunchKernel(kernel, dim3(grid.count), dim3(KERNEL_THREADS), &a, 0, d->stream[0]),
	    name);
}

#define KERNEL_DEFINE_WIDE(name) \
	template <int TYPE, uint32_t WIDTH> __global__ void __launch_bounds__(KERNEL_THREADS) \
	name##_kernel(const struct kernel_##name a, uint32_t count) \
	{ \
		for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) \
			kernel_##name##_at(&a, i, TYPE, WIDTH); \
	} \
	KERNEL_DEFINE_RUN(name, name##_kernel, launch_wide)

/* tests/gpu/verdict knows these kernels by their name. */
#define KERNEL_DEFINE_BLOCK(name) \
	template <int TYPE, uint32_t WIDTH> __global__ void __launch_bounds__(KERNEL_THREADS, 2) \
	name##_block_kernel(const struct kernel_##name a) \
	{ \
		__shared__ struct kernel_shared shared; \
		kernel_##name##_block(&a, blockIdx.x, TYPE, WIDTH, &shared); \
	} \
	KERNEL_DEFINE_RUN(name, name##_block_kernel, launch_blocks)

KERNEL_LIST(KERNEL_DEFINE)
KERNEL_WIDE_LIST(KERNEL_DEFINE_WIDE)
KERNEL_BLOCK_LIST(KERNEL_DEFINE_BLOCK)
