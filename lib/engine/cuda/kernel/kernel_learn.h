/*
 * kernel_learn - what accompanies an update: sums over micro-batches, norms, running statistics,
 * averages.
 */
#ifndef ENGINE_CUDA_KERNEL_KERNEL_LEARN_H
#define ENGINE_CUDA_KERNEL_KERNEL_LEARN_H

#define KERNEL_LANES	32u	/* partial sums of a strip */
#define KERNEL_STRIP	2048u	/* most values of a strip */
#define KERNEL_STRIPS	64u	/* most strips of a group */

enum kernel_average_way { KERNEL_AVERAGE_KEEP, KERNEL_AVERAGE_COPY, KERNEL_AVERAGE_TOWARDS, KERNEL_AVERAGE_BACK };

/* Values in GPU memory that change with each step and are the same for all weights. */
struct kernel_step {
	double	 n;	/* samples of the step */
	float	 by;	/* how far the average moves */
	int	 way, aux_way;	/* enum kernel_average_way: of the weights; of the statistics */
};

/* sum += by x; first: sum = by x. */
struct kernel_accumulate {
	const float *x;
	float	*sum, by;
	int	 first;
	const uint32_t *bad;	/* not 0: change nothing; or NULL */
};

KERNEL_BODY void
kernel_accumulate_at(const struct kernel_accumulate *a, uint32_t i, KERNEL_ANY_TYPE)
{
	float v = a->x[i] * a->by;

	if (a->bad != NULL && *a->bad != 0)
		return;
	a->sum[i] = a->first ? v : a->sum[i] + v;
}

/* Values [first, first + count) of an array. */
struct kernel_strip {
	uint32_t first, count;
};

/*
 * Index: strip KERNEL_LANES + lane. The sum of squares of every KERNEL_LANES-th value of a strip.
 */
struct kernel_squares {
	const float *x;
	const struct kernel_strip *strip;
	double	*sums;		/* [strips, KERNEL_LANES] */
};

KERNEL_BODY void
kernel_squares_at(const struct kernel_squares *a, uint32_t i, KERNEL_ANY_TYPE)
{
	const struct kernel_strip *s = &a->strip[i / KERNEL_LANES];
	const float *x = a->x + s->first;
	double sum = 0;

	for (uint32_t k = i % KERNEL_LANES; k < s->count; k += KERNEL_LANES)
		sum += (double)x[k] * (double)x[k];
	a->sums[i] = sum;
}

/* to[i] = the sum of from [begin[i], begin[i + 1]), or without begin of the i-th `each` values. */
struct kernel_sum_ranges {
	const double *from;
	double	*to;
	const uint32_t *begin;
	uint32_t each;
};

KERNEL_BODY void
kernel_sum_ranges_at(const struct kernel_sum_ranges *a, uint32_t i, KERNEL_ANY_TYPE)
{
	uint32_t from = a->begin != NULL ? a->begin[i] : i * a->each,
	    to = a->begin != NULL ? a->begin[i + 1] : from + a->each;
	double sum = 0;

	for (uint32_t k = from; k < to; k++)
		sum += a->from[k];
	a->to[i] = sum;
}

/* Index: group.  Changes its rates by norms, as opt_shrink() and opt_trust(). */
struct kernel_group_norms {
	struct kernel_rates *rates;	/* [n] */
	const struct kernel_step *step;
	/* [n] sums of the squares of gradients and of weights; w NULL: no trust ratio */
	const double *g, *w;
	const float *wd;		/* [n] decay; below 0: no trust ratio */
	uint32_t n;
	float	 clip_norm, trust, eps;
};

KERNEL_BODY void
kernel_group_norms_at(const struct kernel_group_norms *a, uint32_t i, KERNEL_ANY_TYPE)
{
	double shrink = 1, all = 0, w, d;

	if (a->clip_norm > 0) {
		for (uint32_t k = 0; k < a->n; k++)
			all += a->g[k];
		shrink = (double)a->clip_norm / (sqrt(all) / a->step->n + 1e-6);
		shrink = shrink >= 1 ? 1 : shrink;
	}
	a->rates[i].scale = (float)(1 / (a->step->n / shrink));
	if (a->w == NULL || a->wd[i] < 0)
		return;
	w = sqrt(a->w[i]);
	d = shrink * sqrt(a->g[i]) / a->step->n;
	if (w != 0 && d != 0)
		a->rates[i].lr *= (float)((double)a->trust * w / (d + (double)a->wd[i] * w + (double)a->eps));
}

/* Running statistics: aux = momentum aux + (1 - momentum) x. */
struct kernel_statistics {
	float	*aux;
	const float *x;
	const struct kernel_step *step;
	const uint32_t *bad;
	int	 accumulate;	/* x is a sum, weighted by samples */
	float	 momentum;
};

KERNEL_BODY void
kernel_statistics_at(const struct kernel_statistics *a, uint32_t i, KERNEL_ANY_TYPE)
{
	float n = (float)a->step->n, x = a->accumulate ? a->x[i] / n : a->x[i];

	/* Times n and by 1 / n: the same rounding as on the way through a server. */
	if (*a->bad == 0)
		a->aux[i] = a->momentum * a->aux[i] + (1 - a->momentum) * (x * n * (float)(1 / a->step->n));
}

/* The average of net/optim/average.h. */
struct kernel_average {
	float	*a, *w;
	const struct kernel_step *step;
	const uint32_t *bad;
	int	 aux;
};

KERNEL_BODY void
kernel_average_at(const struct kernel_average *a, uint32_t i, KERNEL_ANY_TYPE)
{
	int way = a->aux ? a->step->aux_way : a->step->way;

	if (way == KERNEL_AVERAGE_KEEP || *a->bad != 0)
		return;
	if (way == KERNEL_AVERAGE_COPY) {
		a->a[i] = a->w[i];
		return;
	}
	a->a[i] = a->a[i] + a->step->by * (a->w[i] - a->a[i]);
	if (way == KERNEL_AVERAGE_BACK)
		a->w[i] = a->a[i];
}

struct kernel_swap {
	float	*a, *b;
};

KERNEL_BODY void
kernel_swap_at(const struct kernel_swap *a, uint32_t i, KERNEL_ANY_TYPE)
{
	float v = a->a[i];

	a->a[i] = a->b[i];
	a->b[i] = v;
}

#endif
