/* kernels - the bodies of the GPU's kernels, in loops over their indices. */
#include "emu/emu.h"

#include "engine/cuda/kernel/kernel.h"

#define KERNEL_DEFINE(name) \
	struct name##_call { \
		struct kernel_##name a; \
		uint32_t count; \
		int	 type; \
	}; \
	static void \
	name##_run(void *arg) \
	{ \
		const struct name##_call *c = arg; \
		const struct kernel_##name a = c->a; \
		emu_log(#name); \
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
		emu_enqueue(d, name##_run, &(struct name##_call){ *a, count, type }, sizeof(struct name##_call)); \
		return 0; \
	}

KERNEL_LIST(KERNEL_DEFINE)
