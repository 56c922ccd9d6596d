/*
 * kernels - the bodies of the GPU's kernels, in loops over their indices.
 *
 * TALLY_EMU_WIDTH=1: wide kernels handle one channel an index, as if no view were aligned.
 */
#include "emu/operands.h"

#include "engine/cuda/device/device.h"

#include <stdlib.h>

#define KERNEL_DEFINE(name) \
	struct name##_call { \
		struct kernel_##name a; \
		uint32_t count; \
		int	 type, device; \
	}; \
	static void \
	name##_run(void *arg) \
	{ \
		const struct name##_call *c = arg; \
		const struct kernel_##name a = c->a; \
		struct operands o = { #name, c->device, 0 }; \
		add_##name(&o, &a, c->count); \
		emu_log(#name, o.bytes); \
		if (c->type == KERNEL_F32) { \
			_Pragma("omp parallel for schedule(static) if (c->count > 4096)") \
			for (uint32_t i = 0; i < c->count; i++) \
				kernel_##name##_at(&a, i, KERNEL_F32); \
		} else { \
			_Pragma("omp parallel for schedule(static) if (c->count > 4096)") \
			for (uint32_t i = 0; i < c->count; i++) \
				kernel_##name##_at(&a, i, c->type); \
		} \
	} \
	int \
	kernel_run_##name(struct device *d, const struct kernel_##name *a, uint32_t count, int type) \
	{ \
		const struct name##_call c = { *a, count, type, cudart_device }; \
		emu_launch(device_stream(d, DEVICE_MAIN), name##_run, &c, sizeof(c)); \
		return 0; \
	}

/* As kernel_run.cu chooses. */
static struct kernel_grid
choose_grid(struct kernel_grid g, int type)
{
	if (type == KERNEL_MIXED || getenv("TALLY_EMU_WIDTH") != NULL)
		return (struct kernel_grid){ g.count * g.width, 1 };
	return g;
}

/* Blocks handle any number of channels. */
static struct kernel_grid
choose_blocks(struct kernel_grid g, int type)
{
	return (struct kernel_grid){ g.count, choose_grid(g, type).width };
}

/* A kernel over a grid, by loops with c, a pointer to its call, and its arguments a. */
#define KERNEL_DEFINE_GRID(name, choose, LOOPS) \
	struct name##_call { \
		struct kernel_##name a; \
		struct kernel_grid grid; \
		int	 type, device; \
	}; \
	static void \
	name##_run(void *arg) \
	{ \
		const struct name##_call *c = arg; \
		const struct kernel_##name a = c->a; \
		struct operands o = { #name, c->device, 0 }; \
		add_##name(&o, &a); \
		emu_log(#name, o.bytes); \
		if (c->grid.width > 1) \
			emu_log("wide", 0); \
		LOOPS(name) \
	} \
	int \
	kernel_run_##name(struct device *d, const struct kernel_##name *a, int type) \
	{ \
		const struct name##_call c = { *a, choose(kernel_##name##_grid(a), type), type, cudart_device }; \
		emu_launch(device_stream(d, DEVICE_MAIN), name##_run, &c, sizeof(c)); \
		return 0; \
	}

#define KERNEL_WIDE_LOOPS(name) \
	if (c->type == KERNEL_F32 && c->grid.width > 1) { \
		_Pragma("omp parallel for schedule(static) if (c->grid.count > 512)") \
		for (uint32_t i = 0; i < c->grid.count; i++) \
			kernel_##name##_at(&a, i, KERNEL_F32, KERNEL_WIDTH); \
	} else { \
		_Pragma("omp parallel for schedule(static) if (c->grid.count > 512)") \
		for (uint32_t i = 0; i < c->grid.count; i++) \
			kernel_##name##_at(&a, i, c->type, c->grid.width); \
	}

/* Shared memory begins as NaN. */
#define KERNEL_BLOCK_LOOPS(name) \
	_Pragma("omp parallel for schedule(dynamic) if (c->grid.count > 2)") \
	for (uint32_t b = 0; b < c->grid.count; b++) { \
		struct kernel_shared shared; \
		memset(&shared, 0xff, sizeof(shared)); \
		if (c->grid.width > 1) \
			kernel_##name##_block(&a, b, c->type, KERNEL_WIDTH, &shared); \
		else \
			kernel_##name##_block(&a, b, c->type, 1, &shared); \
	}

#define KERNEL_DEFINE_WIDE(name) KERNEL_DEFINE_GRID(name, choose_grid, KERNEL_WIDE_LOOPS)
#define KERNEL_DEFINE_BLOCK(name) KERNEL_DEFINE_GRID(name, choose_blocks, KERNEL_BLOCK_LOOPS)

KERNEL_LIST(KERNEL_DEFINE)
KERNEL_WIDE_LIST(KERNEL_DEFINE_WIDE)
KERNEL_BLOCK_LIST(KERNEL_DEFINE_BLOCK)
