/*
 * kernel_sum - biases, sums and products of several inputs, and sums over the pixels of a channel.
 */
#ifndef ENGINE_CUDA_KERNEL_KERNEL_SUM_H
#define ENGINE_CUDA_KERNEL_KERNEL_SUM_H

#define KERNEL_PARTS	4u	/* inputs of one call */

/* y = x + bias, plus addend unless its p is NULL, then ReLU; m pixels.  bias NULL: 0.  y may be x. */
struct kernel_bias {
	struct kernel_view x, y, addend;
	uint32_t m;
	const float *bias;
	int	 relu;
};

KERNEL_BODY struct kernel_grid
kernel_bias_grid(const struct kernel_bias *a)
{
	return kernel_tiles(a->m, a->y.c, kernel_is_wide(a->x) && kernel_is_wide(a->y) && kernel_is_wide(a->addend));
}

KERNEL_BODY void
kernel_bias_at(const struct kernel_bias *a, uint32_t i, int type, uint32_t width)
{
	const struct kernel_tile t = kernel_tile_at(a->m, a->y.c, width, i);
	float x[KERNEL_PIXELS][KERNEL_WIDTH], addend[KERNEL_PIXELS][KERNEL_WIDTH], bias[KERNEL_WIDTH];

	kernel_load(a->x, t, type, width, x);
	if (a->addend.p != NULL)
		kernel_load(a->addend, t, type, width, addend);
	kernel_get_each(a->bias, t.ch, width, bias);
	KERNEL_UNROLL
	for (uint32_t p = 0; p < KERNEL_PIXELS; p++) {
		KERNEL_UNROLL
		for (uint32_t k = 0; k < width; k++) {
			float v = x[p][k] + bias[k];

			if (a->addend.p != NULL)
				v += addend[p][k];
			x[p][k] = a->relu && v <= 0 ? 0 : v;
		}
	}
	kernel_store(a->y, t, type, width, x);
}

/* The sum of each channel of x, times *scale, into to [c]. */
struct kernel_column_sums {
	struct kernel_view x;
	struct kernel_strips strips;
	float	*to;
	const float *scale;		/* NULL: 1 */
};

KERNEL_BODY struct kernel_grid
kernel_column_sums_grid(const struct kernel_column_sums *a)
{
	return kernel_blocks(&a->strips, kernel_is_wide(a->x));
}

KERNEL_BODY void
kernel_strip_sums(struct kernel_view v, struct kernel_tile s, int type, uint32_t width, float all[KERNEL_WIDTH])
{
	float x[KERNEL_PIXELS][KERNEL_WIDTH];

	for (uint32_t row = s.from; row < s.end; row += KERNEL_ROW) {
		float sum[KERNEL_WIDTH] = { 0 };

		for (uint32_t j = row; j < s.end && j < row + KERNEL_ROW; j += KERNEL_PIXELS) {
			const struct kernel_tile t = { j, 1, s.end, s.ch };

			kernel_load(v, t, type, width, x);
			KERNEL_UNROLL
			for (uint32_t p = 0; p < KERNEL_PIXELS; p++) {
				KERNEL_UNROLL
				for (uint32_t k = 0; k < width; k++)
					sum[k] += j + p < s.end ? x[p][k] : 0;
			}
		}
		KERNEL_UNROLL
		for (uint32_t k = 0; k < width; k++)
			all[k] += sum[k];
	}
}

KERNEL_BODY void
kernel_column_sums_block(const struct kernel_column_sums *a, uint32_t block, int type, uint32_t width,
	struct kernel_shared *shared)
{
	const struct kernel_part part = kernel_part_at(&a->strips, block);

	KERNEL_PHASE(i, part.strips * (part.channels / width)) {
		float all[KERNEL_SUMS][KERNEL_WIDTH] = { { 0 } };

		kernel_strip_sums(a->x, kernel_strip_at(&a->strips, &part, width, i), type, width, all[0]);
		kernel_put_strip(shared, width, i, 1, all);
	}
	if (!kernel_add_up(&a->strips, &part, 1, 0, shared))
		return;
	KERNEL_PHASE(k, part.channels)
		a->to[part.ch + k] = shared->total[0][k] * (a->scale != NULL ? *a->scale : 1);
}

/*
 * y = the sum of the first n of x, or their product if times, then ReLU, and 0 where passed, unless
 * its p is NULL, is not above 0: a ReLU's output, whose derivative this multiplies by. m pixels. One
 * input: a copy.
 */
struct kernel_combine {
	struct kernel_view x[KERNEL_PARTS], y, passed;
	uint32_t n, m;
	int	 times, relu;
};

KERNEL_BODY struct kernel_grid
kernel_combine_grid(const struct kernel_combine *a)
{
	int wide = kernel_is_wide(a->y) && kernel_is_wide(a->passed);

	for (uint32_t j = 0; j < a->n; j++)
		wide = wide && kernel_is_wide(a->x[j]);
	return kernel_tiles(a->m, a->y.c, wide);
}

KERNEL_BODY void
kernel_combine_at(const struct kernel_combine *a, uint32_t i, int type, uint32_t width)
{
	const struct kernel_tile t = kernel_tile_at(a->m, a->y.c, width, i);
	float all[KERNEL_PIXELS][KERNEL_WIDTH], x[KERNEL_PIXELS][KERNEL_WIDTH], passed[KERNEL_PIXELS][KERNEL_WIDTH];

	kernel_load(a->x[0], t, type, width, all);
	if (a->passed.p != NULL)
		kernel_load(a->passed, t, type, width, passed);
	KERNEL_UNROLL
	for (uint32_t j = 1; j < KERNEL_PARTS; j++) {
		if (j >= a->n)
			continue;
		kernel_load(a->x[j], t, type, width, x);
		KERNEL_UNROLL
		for (uint32_t p = 0; p < KERNEL_PIXELS; p++) {
			KERNEL_UNROLL
			for (uint32_t k = 0; k < width; k++)
				all[p][k] = a->times ? all[p][k] * x[p][k] : all[p][k] + x[p][k];
		}
	}
	KERNEL_UNROLL
	for (uint32_t p = 0; p < KERNEL_PIXELS; p++) {
		KERNEL_UNROLL
		for (uint32_t k = 0; k < width; k++)
			if ((a->relu && all[p][k] <= 0) || (a->passed.p != NULL && !(passed[p][k] > 0)))
				all[p][k] = 0;
	}
	kernel_store(a->y, t, type, width, all);
}

#endif
