/*
 * kernel - the engine's own kernels: each is a body that runs for every index below a count.
 *
 * lib/engine/cuda/kernel has this header, kernel_block.h, a kernel_*.h for each kind of layer or update, and
 * kernel_run.cu.
 *
 * On a GPU a thread runs the body (kernel_run.cu). In the tests a loop on the CPU does, so that
 * arithmetic and indices are tested without a GPU. A body uses global memory alone and waits for no
 * other index, except sums over pixels, which are bodies of whole blocks (kernel_block.h): they add
 * in one order, so that equal input gives equal bits. Neighbouring indices are neighbouring channels, so that the
 * accesses of a warp are coalesced.
 *
 * Images are [n, h, w, c]. The channels of a pixel are adjacent, and pixels are ld values apart, so
 * that the inputs of a concatenation can be windows of its buffer. A body takes the type of the
 * values last; in a kernel it is a constant. Indices fit 32 bits, which exec_plan.c checks.
 *
 * C and C++ read this header and the kernel_*.h.
 */
#ifndef ENGINE_CUDA_KERNEL_KERNEL_H
#define ENGINE_CUDA_KERNEL_KERNEL_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define KERNEL_BODY static __host__ __device__ __forceinline__
#else
#define KERNEL_BODY static inline
#endif

/* The last parameter of a body whose values are all f32. */
#define KERNEL_ANY_TYPE int type __attribute__((unused))

/* KERNEL_MIXED: each view has a type of its own. */
enum kernel_type { KERNEL_F32, KERNEL_BF16, KERNEL_F16, KERNEL_MIXED, KERNEL_TYPES };

/* Pixels of c channels, ld values apart. */
struct kernel_view {
	void	*p;
	uint32_t c, ld;
	int	 type;
};

KERNEL_BODY uint32_t
kernel_size(int type)
{
	return type == KERNEL_F32 ? 4 : 2;
}

/* Rounds to nearest, ties to even; a NaN stays one. */
KERNEL_BODY uint16_t
kernel_to_bf16(float v)
{
#ifdef __CUDA_ARCH__
	/* CUDA 12.0 and 12.1 have __bfloat16_as_ushort() only for compute capability 8.0 and higher. */
	__nv_bfloat16 b = __float2bfloat16_rn(v);
	uint16_t bits;

	memcpy(&bits, &b, sizeof(bits));
	return bits;
#else
	uint32_t u;

	memcpy(&u, &v, sizeof(u));
	if ((u & 0x7fffffffu) > 0x7f800000u)
		return (uint16_t)(u >> 16 | 0x40);
	return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
#endif
}

KERNEL_BODY float
kernel_from_bf16(uint16_t h)
{
	uint32_t u = (uint32_t)h << 16;
	float v;

	memcpy(&v, &u, sizeof(v));
	return v;
}

KERNEL_BODY uint16_t
kernel_to_f16(float v)
{
#ifdef __CUDA_ARCH__
	return __half_as_ushort(__float2half_rn(v));
#else
	uint32_t u, sign, round, man;
	int exp;

	memcpy(&u, &v, sizeof(u));
	sign = u >> 16 & 0x8000;
	u &= 0x7fffffffu;
	if (u > 0x7f800000u)
		return (uint16_t)(sign | 0x7e00);
	if (u >= 0x477ff000u)	/* rounds to 65536 or more */
		return (uint16_t)(sign | 0x7c00);
	exp = (int)(u >> 23) - 127;
	if (exp < -25)
		return (uint16_t)sign;
	if (exp >= -14) {
		u -= 112u << 23;
		return (uint16_t)(sign | (u + 0xfffu + (u >> 13 & 1)) >> 13);
	}
	man = (u & 0x7fffffu) | 0x800000u;	/* subnormal: in units of 2^-24 */
	round = man >> (-exp - 1);
	man &= (1u << (-exp - 1)) - 1;
	if (man > 1u << (-exp - 2) || (man == 1u << (-exp - 2) && (round & 1)))
		round++;
	return (uint16_t)(sign | round);
#endif
}

KERNEL_BODY float
kernel_from_f16(uint16_t h)
{
#ifdef __CUDA_ARCH__
	return __half2float(__ushort_as_half(h));
#else
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, exp = h >> 10 & 31, man = h & 0x3ff, u;
	float v;

	if (exp == 0) {
		v = (float)man * 0x1p-24f;
		return sign ? -v : v;
	}
	u = sign | (exp == 31 ? 0x7f800000u : (exp + 112) << 23) | man << 13;
	memcpy(&v, &u, sizeof(v));
	return v;
#endif
}

KERNEL_BODY float
kernel_get(const void *p, size_t i, int type)
{
	if (type == KERNEL_F32)
		return ((const float *)p)[i];
	return type == KERNEL_BF16 ? kernel_from_bf16(((const uint16_t *)p)[i]) :
	    kernel_from_f16(((const uint16_t *)p)[i]);
}

KERNEL_BODY void
kernel_put(void *p, size_t i, float v, int type)
{
	if (type == KERNEL_F32)
		((float *)p)[i] = v;
	else
		((uint16_t *)p)[i] = type == KERNEL_BF16 ? kernel_to_bf16(v) : kernel_to_f16(v);
}

/* Channel ch of pixel m. */
KERNEL_BODY float
kernel_at(struct kernel_view v, uint32_t m, uint32_t ch, int type)
{
	return kernel_get(v.p, (size_t)m * v.ld + ch, type == KERNEL_MIXED ? v.type : type);
}

KERNEL_BODY void
kernel_set(struct kernel_view v, uint32_t m, uint32_t ch, float x, int type)
{
	kernel_put(v.p, (size_t)m * v.ld + ch, x, type == KERNEL_MIXED ? v.type : type);
}

/*
 * The last entry of a table [n] that begins at or before i. Entries are `each` bytes apart, begin
 * with the u32 that they are sorted by, and the first begins at 0.
 */
KERNEL_BODY uint32_t
kernel_find(const void *table, size_t each, uint32_t n, uint32_t i)
{
	uint32_t from = 0;

	while (n > 1) {
		uint32_t half = n / 2;

		from = *(const uint32_t *)((const char *)table + (from + half) * each) <= i ? from + half : from;
		n -= half;
	}
	return from;
}

#include "engine/cuda/kernel/kernel_tile.h"
#include "engine/cuda/kernel/kernel_block.h"
#include "engine/cuda/kernel/kernel_act.h"
#include "engine/cuda/kernel/kernel_bn.h"
#include "engine/cuda/kernel/kernel_softmax.h"
#include "engine/cuda/kernel/kernel_lrn.h"
#include "engine/cuda/kernel/kernel_move.h"
#include "engine/cuda/kernel/kernel_opt.h"
#include "engine/cuda/kernel/kernel_learn.h"
#include "engine/cuda/kernel/kernel_muon.h"
#include "engine/cuda/kernel/kernel_pool.h"
#include "engine/cuda/kernel/kernel_sum.h"

/*
 * All kernels: X(name) has struct kernel_NAME and kernel_NAME_at(const struct kernel_NAME *, index,
 * type).
 */
#define KERNEL_LIST(X) \
	X(drop) X(bn_prepare) X(bn_fold) X(softmax) X(softmax_parts) X(softmax_lanes) X(softmax_back) X(finite) \
	X(lrn) X(lrn_back) X(permute) X(moves) X(pixels) X(pad) X(pad_back) \
	X(opt) X(accumulate) X(squares) X(sum_ranges) X(group_norms) X(statistics) X(average) X(swap) \
	X(muon_momentum) X(muon_scale) X(muon)

/*
 * Wide kernels: the body takes the width last, a constant in a kernel, and kernel_NAME_grid() says
 * which width fits and how many indices there are.
 */
#define KERNEL_WIDE_LIST(X) \
	X(act) X(act_back) X(bn) X(bn_back) X(pool) X(pool_back) X(bias) X(combine)

/* Wide kernels of whole blocks: kernel_NAME_block(..., block, type, width, shared memory). */
#define KERNEL_BLOCK_LIST(X) X(moments) X(bn_sums) X(column_sums)

struct device;

/*
 * Each enqueues its body for count indices, possibly 0, on DEVICE_MAIN, and copies *a. Returns 0 or
 * ERR_SYS with a line noted.
 */
#define KERNEL_DECLARE(name) \
	int kernel_run_##name(struct device *d, const struct kernel_##name *a, uint32_t count, int type);
/* The same for the indices of its grid. */
#define KERNEL_DECLARE_WIDE(name) \
	int kernel_run_##name(struct device *d, const struct kernel_##name *a, int type);
#ifdef __cplusplus
extern "C" {
#endif
KERNEL_LIST(KERNEL_DECLARE)
KERNEL_WIDE_LIST(KERNEL_DECLARE_WIDE)
KERNEL_BLOCK_LIST(KERNEL_DECLARE_WIDE)
#ifdef __cplusplus
}
#endif

#endif
