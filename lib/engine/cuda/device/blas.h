/*
 * blas - matrix products of one shape: c [m, n] = alpha a b + beta d, all dense and row-major.
 *
 * a is stored [m, k], or [k, m] if a_transposed; b [k, n], or [n, k] if b_transposed; d as c. Each
 * may hold several matrices side by side. Sums are f32. blas.c uses cuBLASLt.
 */
#ifndef ENGINE_CUDA_DEVICE_BLAS_H
#define ENGINE_CUDA_DEVICE_BLAS_H

#include "engine/cuda/device/device.h"

#include <stdbool.h>

struct blas_shape {
	uint32_t m, n, k;
	bool	 a_transposed, b_transposed;
	int	 type, c_type;	/* enum kernel_type: of a and b; of c */
	bool	 tf32;		/* as in dnn.h */
	float	 alpha, beta;	/* beta 0: d is not read */
	uint32_t count;		/* products */
};

/* GPU addresses.  c may be d, but neither a nor b. */
struct blas_places {
	const void *a, *b, *d;
	void	*c, *scratch;
};

struct blas;

/* As dnn_open() to dnn_run(). */
int	 blas_open(struct device *d, const struct blas_shape *shape, struct blas **b, size_t *scratch);
void	 blas_close(struct blas *b);
void	 blas_bind(struct blas *b, const struct blas_places *at);
int	 blas_run(struct blas *b);

#endif
