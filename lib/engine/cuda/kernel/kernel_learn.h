/* kernel_learn - what stands around an update where the weights are: sums of pieces, norms, statistics, averages. */
#ifndef ENGINE_CUDA_KERNEL_KERNEL_LEARN_H
#define ENGINE_CUDA_KERNEL_KERNEL_LEARN_H

#define KERNEL_LANES	32u	/* sums of a strip, which are taken side by side */
#define KERNEL_STRIP	2048u	/* most numbers of a strip */
#define KERNEL_GROUP	64u	/* strips whose sums become one, at most */

enum kernel_average_way { KERNEL_REST, KERNEL_COPY, KERNEL_TOWARDS, KERNEL_BACK };

/* What changes from step to step and is one for all weights; stands in the device's memory as kernel_pace. */
struct kernel_now {
	double	 n;	/* samples of the step */
	float	 by;	/* how far the average goes */
	int	 way, aux_way;	/* enum kernel_average_way: of the weights, of the statistics */
};

/* sum = x by, or is more by that. */
struct kernel_gather {
	const float *x;
	float	*sum, by;
	int	 first;
};

KERNEL_BODY void
kernel_gather_at(const struct kernel_gather *a, uint32_t i, int type)
{
	float v = a->x[i] * a->by;

	(void)type;
	a->sum[i] = a->first ? v : a->sum[i] + v;
}

/* Numbers [first, first + count) of an array. */
struct kernel_strip {
	uint32_t first, count;
};

/* Index = strip KERNEL_LANES + lane: the sum of squares of each KERNEL_LANES-th number of a strip. */
struct kernel_squares {
	const float *x;
	const struct kernel_strip *strip;
	double	*sums;		/* [strips, KERNEL_LANES] */
};

KERNEL_BODY void
kernel_squares_at(const struct kernel_squares *a, uint32_t i, int type)
{
	const struct kernel_strip *s = &a->strip[i / KERNEL_LANES];
	const float *x = a->x + s->first;
	double sum = 0;

	(void)type;
	for (uint32_t k = i % KERNEL_LANES; k < s->count; k += KERNEL_LANES)
		sum += (double)x[k] * (double)x[k];
	a->sums[i] = sum;
}

/* to[i] = the sum of from [begin[i], begin[i + 1]); without begin of the i-th `each`. */
struct kernel_joined {
	const double *from;
	double	*to;
	const uint32_t *begin;
	uint32_t each;
};

KERNEL_BODY void
kernel_joined_at(const struct kernel_joined *a, uint32_t i, int type)
{
	uint32_t from = a->begin != NULL ? a->begin[i] : i * a->each,
	    to = a->begin != NULL ? a->begin[i + 1] : from + a->each;
	double sum = 0;

	(void)type;
	for (uint32_t k = from; k < to; k++)
		sum += a->from[k];
	a->to[i] = sum;
}

/* Index = range: what norms make of its pace, as opt_shrink() and opt_trust() have it. */
struct kernel_paces {
	struct kernel_pace *pace;	/* [n] */
	const struct kernel_now *now;
	const double *g, *w;		/* [n] squares of the sums of gradients, and of weights; w NULL: not wanted */
	const float *wd;		/* [n] decay; less than 0: no trust */
	uint32_t n;
	float	 clip_norm, trust, eps;
};

KERNEL_BODY void
kernel_paces_at(const struct kernel_paces *a, uint32_t i, int type)
{
	double shrink = 1, all = 0, w, d;

	(void)type;
	if (a->clip_norm > 0) {
		for (uint32_t k = 0; k < a->n; k++)
			all += a->g[k];
		shrink = (double)a->clip_norm / (sqrt(all) / a->now->n + 1e-6);
		shrink = shrink >= 1 ? 1 : shrink;
	}
	a->pace[i].scale = (float)(1 / (a->now->n / shrink));
	if (a->w == NULL || a->wd[i] < 0)
		return;
	w = sqrt(a->w[i]);
	d = shrink * sqrt(a->g[i]) / a->now->n;
	if (w != 0 && d != 0)
		a->pace[i].lr *= (float)((double)a->trust * w / (d + (double)a->wd[i] * w + (double)a->eps));
}

/* Running statistics: aux = momentum aux + (1 - momentum) of the step's. */
struct kernel_fold {
	float	*aux;
	const float *x;
	const struct kernel_now *now;
	const uint32_t *bad;
	int	 accumulate;	/* x is a sum, weighted by samples */
	float	 momentum;
};

KERNEL_BODY void
kernel_fold_at(const struct kernel_fold *a, uint32_t i, int type)
{
	float n = (float)a->now->n, x = a->accumulate ? a->x[i] / n : a->x[i];

	(void)type;
	/* Times n and by 1 / n, since that is what statistics meet on their way through a server. */
	if (*a->bad == 0)
		a->aux[i] = a->momentum * a->aux[i] + (1 - a->momentum) * (x * n * (float)(1 / a->now->n));
}

/* net/optim/average.h */
struct kernel_average {
	float	*a, *w;
	const struct kernel_now *now;
	const uint32_t *bad;
	int	 aux;
};

KERNEL_BODY void
kernel_average_at(const struct kernel_average *a, uint32_t i, int type)
{
	int way = a->aux ? a->now->aux_way : a->now->way;

	(void)type;
	if (way == KERNEL_REST || *a->bad != 0)
		return;
	if (way == KERNEL_COPY) {
		a->a[i] = a->w[i];
		return;
	}
	a->a[i] = a->a[i] + a->now->by * (a->w[i] - a->a[i]);
	if (way == KERNEL_BACK)
		a->w[i] = a->a[i];
}

struct kernel_swap {
	float	*a, *b;
};

KERNEL_BODY void
kernel_swap_at(const struct kernel_swap *a, uint32_t i, int type)
{
	float v = a->a[i];

	(void)type;
	a->a[i] = a->b[i];
	a->b[i] = v;
}

#endif
