/* kernel_muon - the parts of net/optim/muon.h that are no products, for all matrices at once. */
#ifndef ENGINE_CUDA_KERNEL_KERNEL_MUON_H
#define ENGINE_CUDA_KERNEL_KERNEL_MUON_H

/* A matrix: numbers [first, + count) of the weights, [at, + count) of the room where it is worked on. */
struct kernel_matrix {
	uint32_t at, first, count;
	uint32_t group;		/* the number of its pace */
	float	 rows, step;	/* rows; what the rate is multiplied by */
};

/* The last of matrices [n] that begins at or before i, the first of which begins at 0. */
KERNEL_BODY uint32_t
kernel_matrix_of(const struct kernel_matrix *m, uint32_t n, uint32_t i)
{
	uint32_t from = 0;

	while (n > 1) {
		uint32_t half = n / 2;

		from = m[from + half].at <= i ? from + half : from;
		n -= half;
	}
	return from;
}

/* Does a matrix of that pace learn in this step? */
KERNEL_BODY int
kernel_matrix_learns(const struct kernel_pace *pace, const uint32_t *bad)
{
	return *bad == 0 && pace->lr > 0;
}

/* Index = place in the room: the momentum takes the gradient, and u becomes what is to be made orthogonal. */
struct kernel_muon_gather {
	const struct kernel_matrix *matrix;	/* [n] by `at` */
	uint32_t n;
	float	*u, *state;
	const float *g;
	const struct kernel_pace *pace;
	const uint32_t *bad;
	float	 momentum, clip;
};

KERNEL_BODY void
kernel_muon_gather_at(const struct kernel_muon_gather *a, uint32_t i, int type)
{
	const struct kernel_matrix *m = &a->matrix[kernel_matrix_of(a->matrix, a->n, i)];
	const struct kernel_pace *pace = &a->pace[m->group];
	uint32_t j = m->first + (i - m->at);
	float d, v;

	(void)type;
	if (i - m->at >= m->count)
		return;
	d = a->g[j] * pace->scale;
	d = d > a->clip ? a->clip : d;
	d = d < -a->clip ? -a->clip : d;
	v = a->momentum * a->state[j] + d;
	a->u[i] = d + a->momentum * v;
	if (kernel_matrix_learns(pace, a->bad))
		a->state[j] = v;
}

/* Index as above: u / (|u| + eps). */
struct kernel_muon_scale {
	const struct kernel_matrix *matrix;
	uint32_t n;
	float	*u;
	const double *squares;	/* [n] */
	float	 eps;
};

KERNEL_BODY void
kernel_muon_scale_at(const struct kernel_muon_scale *a, uint32_t i, int type)
{
	uint32_t k = kernel_matrix_of(a->matrix, a->n, i);

	(void)type;
	if (i - a->matrix[k].at < a->matrix[k].count)
		a->u[i] *= (float)(1 / (sqrt(a->squares[k]) + (double)a->eps));
}

/* Index as above: the weights take what was made orthogonal, x. */
struct kernel_muon {
	const struct kernel_matrix *matrix;
	uint32_t n;
	float	*w;
	const float *x;
	const double *squares;	/* [n] of w before, which first becomes as long as rows of norm 1 are; or NULL */
	const struct kernel_pace *pace;
	const uint32_t *bad;
};

KERNEL_BODY void
kernel_muon_at(const struct kernel_muon *a, uint32_t i, int type)
{
	uint32_t k = kernel_matrix_of(a->matrix, a->n, i);
	const struct kernel_matrix *m = &a->matrix[k];
	const struct kernel_pace *pace = &a->pace[m->group];
	uint32_t j = m->first + (i - m->at);
	float w;

	(void)type;
	if (i - m->at >= m->count || !kernel_matrix_learns(pace, a->bad))
		return;
	w = a->w[j];
	if (a->squares != NULL && a->squares[k] > 0)
		w *= (float)(sqrt((double)m->rows) / sqrt(a->squares[k]));
	a->w[j] = pace->shrink * w - pace->lr * m->step * a->x[i];
}

#endif
