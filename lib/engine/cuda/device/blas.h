/*
 * blas - matrix products of one shape: c [m, n] = alpha a b + beta d, all dense and row by row.
 *
 * a is stored [m, k], or [k, m] when a_turned; b [k, n], or [n, k] when b_turned; d as c.
 * Several products stand side by side in each of them.
 * Sums are f32.  blas.c asks cuBLASLt for it, tests/emu loops.
 */
#ifndef ENGINE_CUDA_DEVICE_BLAS_H
#define ENGINE_CUDA_DEVICE_BLAS_H

#include "engine/cuda/device/device.h"

#include <stdbool.h>

struct blas_shape {
	uint32_t m, n, k;
	bool	 a_turned, b_turned;
	int	 type, c_type;	/* enum kernel_type: of a and b; of c */
	bool	 tf32;		/* as in dnn.h */
	float	 alpha, beta;	/* beta 0: d is not read */
	uint32_t count;		/* products */
};

/* The GPU's.  c is neither a nor b, and may be d. */
struct blas_places {
	const void *a, *b, *d;
	void	*c, *scratch;
};

struct blas;

/* As their namesakes of dnn.h. */
int	 blas_open(struct device *d, const struct blas_shape *shape, struct blas **b, size_t *scratch);
void	 blas_close(struct blas *b);
int	 blas_bind(struct blas *b, const struct blas_places *at);
int	 blas_run(struct blas *b);

#endif
