/*
 * blas - one matrix product of one shape: c [m, n] = a b, all dense and row by row.
 *
 * a is stored [m, k], or [k, m] when a_turned; b [k, n], or [n, k] when b_turned.
 * Sums are f32.  blas.c asks cuBLASLt for it, tests/emu loops.
 */
#ifndef ENGINE_CUDA_BLAS_H
#define ENGINE_CUDA_BLAS_H

#include "engine/cuda/device.h"

#include <stdbool.h>

struct blas_shape {
	uint32_t m, n, k;
	bool	 a_turned, b_turned;
	int	 type, c_type;	/* enum kernel_type: of a and b; of c */
	bool	 tf32;		/* as in dnn.h */
};

struct blas;

/* As their namesakes of dnn.h. */
int	 blas_open(struct device *d, const struct blas_shape *shape, struct blas **b, size_t *scratch);
void	 blas_close(struct blas *b);
int	 blas_bind(struct blas *b, const void *a, const void *bb, void *c, void *scratch);
int	 blas_run(struct blas *b);

#endif
