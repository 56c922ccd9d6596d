/*
 * kernel_head - scores into probabilities and the loss, formulas as in ref_softmax.c; and whether
 * numbers are finite.
 */
#ifndef ENGINE_CUDA_KERNEL_KERNEL_HEAD_H
#define ENGINE_CUDA_KERNEL_KERNEL_HEAD_H

/* What a sample is of: (1 - share) of class y and share of class other. */
struct kernel_label {
	int32_t	 y, other;
	float	 share;
};

/*
 * Index = sample: prob [n, c], its loss, and how many classes come before y, the lower of equals
 * first; all where p is no number.
 */
struct kernel_softmax {
	struct kernel_view x;
	const struct kernel_label *label;
	float	*prob, *loss;
	uint32_t *before;
	float	 smooth;
};

KERNEL_BODY void
kernel_softmax_at(const struct kernel_softmax *a, uint32_t i, int type)
{
	const struct kernel_label *l = &a->label[i];
	uint32_t c = a->x.c, before = 0, y = (uint32_t)l->y;
	float *prob = a->prob + (size_t)i * c, top = kernel_at(a->x, i, 0, type);
	double sum = 0, scores = 0, aimed;

	for (uint32_t k = 1; k < c; k++) {
		float x = kernel_at(a->x, i, k, type);

		if (x > top)
			top = x;
	}
	for (uint32_t k = 0; k < c; k++) {
		float x = kernel_at(a->x, i, k, type), e = expf(x - top);

		prob[k] = e;
		sum += e;
		scores += x - top;
	}
	for (uint32_t k = 0; k < c; k++)
		prob[k] = (float)(prob[k] / sum);
	for (uint32_t k = 0; k < c; k++)
		before += !(prob[k] < prob[y] || (prob[k] == prob[y] && k >= y));
	/* log p is x - top - log sum, finite where p is too small for a float. */
	aimed = (1 - (double)l->share) * (kernel_at(a->x, i, (uint32_t)l->y, type) - top) +
	    (double)l->share * (kernel_at(a->x, i, (uint32_t)l->other, type) - top);
	a->loss[i] = (float)(log(sum) - (1 - (double)a->smooth) * aimed - a->smooth * scores / c);
	a->before[i] = before;
}

/* dx = scale (p - q), index = sample c + class. */
struct kernel_softmax_back {
	const float *prob;
	const struct kernel_label *label;
	struct kernel_view dx;
	float	 smooth;
	const float *scale;	/* NULL: 1 */
};

KERNEL_BODY void
kernel_softmax_back_at(const struct kernel_softmax_back *a, uint32_t i, int type)
{
	uint32_t c = a->dx.c, n = i / c, k = i % c;
	const struct kernel_label *l = &a->label[n];
	float sure = 1 - a->smooth, q = a->smooth / (float)c;

	q += (k == (uint32_t)l->y ? sure * (1 - l->share) : 0) + (k == (uint32_t)l->other ? sure * l->share : 0);
	kernel_set(a->dx, n, k, (a->prob[i] - q) * (a->scale != NULL ? *a->scale : 1), type);
}

/* *bad becomes 1 when one of x is not finite: whoever writes it writes the same. */
struct kernel_finite {
	const float *x;
	uint32_t *bad;
};

KERNEL_BODY void
kernel_finite_at(const struct kernel_finite *a, uint32_t i, int type)
{
	(void)type;
	if (!(fabsf(a->x[i]) <= 3.402823466e38f))
		*a->bad = 1;
}

#endif
