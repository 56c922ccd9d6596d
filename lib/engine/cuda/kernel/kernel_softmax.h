/*
 * kernel_softmax - probabilities and loss from scores, as in ref_softmax.c and ref_target.c, and a test for
 * finite values.
 */
#ifndef ENGINE_CUDA_KERNEL_KERNEL_SOFTMAX_H
#define ENGINE_CUDA_KERNEL_KERNEL_SOFTMAX_H

/* The target of a sample: (1 - share) of class y and share of class other, and the weight of its loss. */
struct kernel_label {
	int32_t	 y, other;
	float	 share, weight;
};

/*
 * Index: sample. prob [n, c], the loss, and the number of classes before y, the lower of equals
 * first. If prob is NaN all classes are before y.  With targets the rank is 0 if all outputs are on
 * their targets' side of 1/2, else beyond the first five.
 */
struct kernel_softmax {
	struct kernel_view x;
	const struct kernel_label *label;
	float	*prob, *loss;
	uint32_t *rank;
	float	 smooth;
	const float *target;	/* [n, c]; NULL: samples have classes */
	int	 squared;	/* with targets: the loss is the squared error, else sigmoid cross-entropy */
	const float *positive;	/* with targets and not squared: [c], of samples.h */
};

KERNEL_BODY void
kernel_targets_at(const struct kernel_softmax *a, uint32_t i, int type)
{
	uint32_t c = a->x.c, right = !a->squared;
	double sum = 0;

	for (uint32_t k = 0; k < c; k++) {
		float x = kernel_at(a->x, i, k, type), t = a->target[(size_t)i * c + k], away = x - t;
		float p = a->squared ? x : 1 / (1 + expf(-x));

		a->prob[(size_t)i * c + k] = p;
		if (isnan(t))
			continue;
		sum += a->squared ? away * away : (x > 0 ? x : 0) - x * t + log1pf(expf(-fabsf(x)));
		if (!a->squared)
			sum += (a->positive[k] - 1) * t * ((x < 0 ? -x : 0) + log1pf(expf(-fabsf(x))));
		right &= t >= 0.5f ? p >= 0.5f : p < 0.5f;
	}
	a->loss[i] = (float)((double)a->label[i].weight * sum / c);
	a->rank[i] = right ? 0 : c + 5;
}

KERNEL_BODY void
kernel_softmax_at(const struct kernel_softmax *a, uint32_t i, int type)
{
	const struct kernel_label *l = &a->label[i];
	uint32_t c = a->x.c, rank = 0, y = (uint32_t)l->y;
	float *prob = a->prob + (size_t)i * c, top = kernel_at(a->x, i, 0, type);
	double sum = 0, scores = 0, aimed;

	if (a->target != NULL) {
		kernel_targets_at(a, i, type);
		return;
	}
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
		rank += !(prob[k] < prob[y] || (prob[k] == prob[y] && k >= y));
	/* log p is x - top - log sum, which is finite even if p underflows. */
	aimed = (1 - (double)l->share) * (kernel_at(a->x, i, (uint32_t)l->y, type) - top) +
	    (double)l->share * (kernel_at(a->x, i, (uint32_t)l->other, type) - top);
	a->loss[i] = (float)((double)l->weight * (log(sum) - (1 - (double)a->smooth) * aimed - a->smooth * scores / c));
	a->rank[i] = rank;
}

/*
 * With KERNEL_MANY classes and more two kernels compute the same, by a warp for each sample.  Lane l has classes l,
 * l + KERNEL_WARP and so on.  The first kernel sums up the scores of each lane relative to the lane's highest one.
 */
#define KERNEL_MANY	64u

struct kernel_softmax_part {
	double	 sum, scores;	/* sums of exp(x - top) and of x - top */
	float	 top;
	uint32_t n;		/* classes */
};

/* Index: sample KERNEL_WARP + lane. */
struct kernel_softmax_parts {
	struct kernel_view x;
	struct kernel_softmax_part *part;	/* [n, KERNEL_WARP] */
	uint32_t *rank;				/* [n] becomes 0 */
};

KERNEL_BODY void
kernel_softmax_parts_at(const struct kernel_softmax_parts *a, uint32_t i, int type)
{
	const uint32_t sample = i / KERNEL_WARP, lane = i % KERNEL_WARP;
	struct kernel_softmax_part part = { 0, 0, kernel_at(a->x, sample, lane, type), 0 };

	for (uint32_t k = lane + KERNEL_WARP; k < a->x.c; k += KERNEL_WARP) {
		float x = kernel_at(a->x, sample, k, type);

		if (x > part.top)
			part.top = x;
	}
	for (uint32_t k = lane; k < a->x.c; k += KERNEL_WARP) {
		float d = kernel_at(a->x, sample, k, type) - part.top;

		part.sum += expf(d);
		part.scores += d;
		part.n++;
	}
	a->part[i] = part;
	if (lane == 0)
		a->rank[sample] = 0;
}

/* Index: sample KERNEL_WARP + lane.  Each lane adds up all parts in one order. */
struct kernel_softmax_lanes {
	struct kernel_softmax to;
	const struct kernel_softmax_part *part;
};

KERNEL_BODY void
kernel_count(uint32_t *to, uint32_t n)
{
#ifdef __CUDA_ARCH__
	atomicAdd(to, n);
#else
	__atomic_add_fetch(to, n, __ATOMIC_RELAXED);
#endif
}

KERNEL_BODY void
kernel_softmax_lanes_at(const struct kernel_softmax_lanes *a, uint32_t i, int type)
{
	const struct kernel_softmax *to = &a->to;
	const uint32_t sample = i / KERNEL_WARP, lane = i % KERNEL_WARP, c = to->x.c;
	const struct kernel_label *l = &to->label[sample];
	const struct kernel_softmax_part *part = a->part + (size_t)sample * KERNEL_WARP;
	float top = part[0].top, aimed, other, before;
	double sum = 0, scores = 0, aim;
	uint32_t rank = 0;

	for (uint32_t k = 1; k < KERNEL_WARP; k++)
		top = part[k].top > top ? part[k].top : top;
	for (uint32_t k = 0; k < KERNEL_WARP; k++) {
		sum += part[k].sum * exp((double)part[k].top - (double)top);
		scores += part[k].scores + part[k].n * ((double)part[k].top - (double)top);
	}
	aimed = kernel_at(to->x, sample, (uint32_t)l->y, type) - top;
	other = kernel_at(to->x, sample, (uint32_t)l->other, type) - top;
	before = (float)(expf(aimed) / sum);
	for (uint32_t k = lane; k < c; k += KERNEL_WARP) {
		float p = (float)(expf(kernel_at(to->x, sample, k, type) - top) / sum);

		to->prob[(size_t)sample * c + k] = p;
		rank += !(p < before || (p == before && k >= (uint32_t)l->y));
	}
	kernel_count(&to->rank[sample], rank);
	if (lane > 0)
		return;
	aim = (1 - (double)l->share) * aimed + (double)l->share * other;
	to->loss[sample] = (float)((double)l->weight * (log(sum) - (1 - (double)to->smooth) * aim -
	    to->smooth * scores / c));
}

/* dx = weight scale (p - q), or that of ref_target.c.  Index: sample c + class. */
struct kernel_softmax_back {
	const float *prob;
	const struct kernel_label *label;
	struct kernel_view dx;
	float	 smooth;
	const float *scale;	/* NULL: 1 */
	const float *target;	/* [n, c]; NULL: samples have classes */
	int	 squared;	/* with targets: the loss is the squared error, else sigmoid cross-entropy */
	const float *positive;	/* with targets and not squared: [c], of samples.h */
};

KERNEL_BODY void
kernel_softmax_back_at(const struct kernel_softmax_back *a, uint32_t i, int type)
{
	uint32_t c = a->dx.c, n = i / c, k = i % c;
	const struct kernel_label *l = &a->label[n];
	float sure = 1 - a->smooth, q = a->smooth / (float)c;

	if (a->target != NULL) {
		q = (a->squared ? 2 : 1) * l->weight / (float)c;
		q *= isnan(a->target[i]) ? 0 : a->prob[i] - a->target[i] +
		    (a->squared ? 0 : (a->positive[k] - 1) * a->target[i] * (a->prob[i] - 1));
		kernel_set(a->dx, n, k, q * (a->scale != NULL ? *a->scale : 1), type);
		return;
	}
	q += (k == (uint32_t)l->y ? sure * (1 - l->share) : 0) + (k == (uint32_t)l->other ? sure * l->share : 0);
	kernel_set(a->dx, n, k, l->weight * (a->prob[i] - q) * (a->scale != NULL ? *a->scale : 1), type);
}

/* *bad becomes the place after the last value of x that is not finite, unless it is larger already. */
struct kernel_finite {
	const float *x;
	uint32_t *bad;
};

KERNEL_BODY void
kernel_raise(uint32_t *to, uint32_t v)
{
#ifdef __CUDA_ARCH__
	if (*(volatile const uint32_t *)to < v)
		atomicMax(to, v);
#else
	uint32_t was = __atomic_load_n(to, __ATOMIC_RELAXED);

	while (was < v && !__atomic_compare_exchange_n(to, &was, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
#endif
}

KERNEL_BODY void
kernel_finite_at(const struct kernel_finite *a, uint32_t i, KERNEL_ANY_TYPE)
{
	if (!(fabsf(a->x[i]) <= 3.402823466e38f))
		kernel_raise(a->bad, i + 1);
}

#endif
