/*
 * kernel_sum - biases, sums and products of several inputs, and sums over the pixels of a channel.
 */
#ifndef ENGINE_CUDA_KERNEL_KERNEL_SUM_H
#define ENGINE_CUDA_KERNEL_KERNEL_SUM_H

#define KERNEL_PARTS	4u	/* inputs of one call */

/* y = x + bias, plus addend unless its p is NULL, then ReLU.  bias NULL: 0.  y may be x. */
struct kernel_bias {
	struct kernel_view x, y, addend;
	const float *bias;
	int	 relu;
};

KERNEL_BODY void
kernel_bias_at(const struct kernel_bias *a, uint32_t i, int type)
{
	uint32_t m = i / a->y.c, ch = i % a->y.c;
	float v = kernel_at(a->x, m, ch, type) + (a->bias != NULL ? a->bias[ch] : 0);

	if (a->addend.p != NULL)
		v += kernel_at(a->addend, m, ch, type);
	kernel_set(a->y, m, ch, a->relu && v <= 0 ? 0 : v, type);
}

/* dx = dy where y > 0, else 0. */
struct kernel_relu_back {
	struct kernel_view y, dy, dx;
};

KERNEL_BODY void
kernel_relu_back_at(const struct kernel_relu_back *a, uint32_t i, int type)
{
	uint32_t m = i / a->dx.c, ch = i % a->dx.c;

	kernel_set(a->dx, m, ch, kernel_at(a->y, m, ch, type) > 0 ? kernel_at(a->dy, m, ch, type) : 0, type);
}

/* Index: strip c + channel.  sums [strips, c] of pixels [strip rows, + rows) of m. */
struct kernel_column_sums {
	struct kernel_view x;
	uint32_t m, rows;
	float	*sums;
};

KERNEL_BODY void
kernel_column_sums_at(const struct kernel_column_sums *a, uint32_t i, int type)
{
	uint32_t ch = i % a->x.c, from = i / a->x.c * a->rows, to = from + a->rows < a->m ? from + a->rows : a->m;
	float sum = 0;

	for (uint32_t k = from; k < to; k += KERNEL_ROW) {
		uint32_t end = k + KERNEL_ROW < to ? k + KERNEL_ROW : to;
		float s = 0;

		for (uint32_t j = k; j < end; j++)
			s += kernel_at(a->x, j, ch, type);
		sum += s;
	}
	a->sums[i] = sum;
}

/* Index: merged strip c + column.  Sums KERNEL_MERGE strips, times *scale. */
struct kernel_column_merge {
	const float *sums;	/* [strips, c] */
	float	*to;
	uint32_t c, strips;
	const float *scale;	/* NULL: 1 */
};

KERNEL_BODY void
kernel_column_merge_at(const struct kernel_column_merge *a, uint32_t i, KERNEL_ANY_TYPE)
{
	uint32_t ch = i % a->c, from = i / a->c * KERNEL_MERGE;
	uint32_t to = from + KERNEL_MERGE < a->strips ? from + KERNEL_MERGE : a->strips;
	double sum = 0;

	for (uint32_t s = from; s < to; s++)
		sum += a->sums[(size_t)s * a->c + ch];
	a->to[i] = (float)sum * (a->scale != NULL ? *a->scale : 1);
}

/* y = the sum of the first n of x, or their product if times, then ReLU.  One input: a copy. */
struct kernel_combine {
	struct kernel_view x[KERNEL_PARTS], y;
	uint32_t n;
	int	 times, relu;
};

KERNEL_BODY void
kernel_combine_at(const struct kernel_combine *a, uint32_t i, int type)
{
	uint32_t m = i / a->y.c, ch = i % a->y.c;
	float all = kernel_at(a->x[0], m, ch, type);

	for (uint32_t k = 1; k < KERNEL_PARTS; k++)
		if (k < a->n) {
			float x = kernel_at(a->x[k], m, ch, type);

			all = a->times ? all * x : all + x;
		}
	kernel_set(a->y, m, ch, a->relu && all <= 0 ? 0 : all, type);
}

#endif
