/* kernel_muon - the elementwise parts of net/optim/muon.h, for all matrices at once. */
#ifndef ENGINE_CUDA_KERNEL_KERNEL_MUON_H
#define ENGINE_CUDA_KERNEL_KERNEL_MUON_H

/* A matrix: values [first, + count) of the weights and [at, + count) of the work area. */
struct kernel_matrix {
	uint32_t at, first, count;
	uint32_t group;		/* its rates */
	float	 rows, factor;	/* factor: multiplies the learning rate */
};

/* Is a matrix with these rates updated in this step? */
KERNEL_BODY int
kernel_matrix_learns(const struct kernel_rates *rates, const uint32_t *bad)
{
	return *bad == 0 && rates->lr > 0;
}

/*
 * Index: place in the work area. Adds the gradient to the momentum; u gets the matrix to
 * orthogonalize.
 */
struct kernel_muon_momentum {
	const struct kernel_matrix *matrix;	/* [n] sorted by `at` */
	uint32_t n;
	float	*u, *state;
	const float *g;
	const struct kernel_rates *rates;
	const uint32_t *bad;
	float	 momentum, clip;
};

KERNEL_BODY void
kernel_muon_momentum_at(const struct kernel_muon_momentum *a, uint32_t i, KERNEL_ANY_TYPE)
{
	const struct kernel_matrix *m = &a->matrix[kernel_find(a->matrix, sizeof(*a->matrix), a->n, i)];
	const struct kernel_rates *rates = &a->rates[m->group];
	uint32_t j = m->first + (i - m->at);
	float d, v;

	if (i - m->at >= m->count)
		return;
	d = a->g[j] * rates->scale;
	d = d > a->clip ? a->clip : d;
	d = d < -a->clip ? -a->clip : d;
	v = a->momentum * a->state[j] + d;
	a->u[i] = d + a->momentum * v;
	if (kernel_matrix_learns(rates, a->bad))
		a->state[j] = v;
}

/* Index as above.  u / (|u| + eps). */
struct kernel_muon_scale {
	const struct kernel_matrix *matrix;
	uint32_t n;
	float	*u;
	const double *squares;	/* [n] */
	float	 eps;
};

KERNEL_BODY void
kernel_muon_scale_at(const struct kernel_muon_scale *a, uint32_t i, KERNEL_ANY_TYPE)
{
	uint32_t k = kernel_find(a->matrix, sizeof(*a->matrix), a->n, i);

	if (i - a->matrix[k].at < a->matrix[k].count)
		a->u[i] *= (float)(1 / (sqrt(a->squares[k]) + (double)a->eps));
}

/* Index as above.  Updates the weights with the orthogonalized x. */
struct kernel_muon {
	const struct kernel_matrix *matrix;
	uint32_t n;
	float	*w;
	const float *x;
	/* [n] of w before the update, to scale w to rows of norm 1 first; or NULL */
	const double *squares;
	const struct kernel_rates *rates;
	const uint32_t *bad;
};

KERNEL_BODY void
kernel_muon_at(const struct kernel_muon *a, uint32_t i, KERNEL_ANY_TYPE)
{
	uint32_t k = kernel_find(a->matrix, sizeof(*a->matrix), a->n, i);
	const struct kernel_matrix *m = &a->matrix[k];
	const struct kernel_rates *rates = &a->rates[m->group];
	uint32_t j = m->first + (i - m->at);
	float w;

	if (i - m->at >= m->count || !kernel_matrix_learns(rates, a->bad))
		return;
	w = a->w[j];
	if (a->squares != NULL && a->squares[k] > 0)
		w *= (float)(sqrt((double)m->rows) / sqrt(a->squares[k]));
	a->w[j] = rates->shrink * w - rates->lr * m->factor * a->x[i];
}

#endif
