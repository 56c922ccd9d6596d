/*
 * kernel_bn - batch norm, with a ReLU after it if the net has one; formulas as in ref_bn.c.
 */
#ifndef ENGINE_CUDA_KERNEL_KERNEL_BN_H
#define ENGINE_CUDA_KERNEL_KERNEL_BN_H

/* Index: channel.  rstd from the variance, and the batch's statistics.  gamma NULL: 1. */
struct kernel_bn_prepare {
	const float *mean, *m2;		/* [c]; m2 / m is the variance */
	const float *gamma;
	float	*mean_to, *var_to;	/* the batch's statistics, or NULL */
	float	*saved;			/* [3, c]: mean, rstd, gamma */
	uint32_t c;
	float	 m, eps;
};

KERNEL_BODY void
kernel_bn_prepare_channel(const struct kernel_bn_prepare *a, uint32_t ch, float mean, float m2)
{
	float var = m2 / a->m;

	if (a->mean_to != NULL) {
		a->mean_to[ch] = mean;
		a->var_to[ch] = var;
	}
	a->saved[ch] = mean;
	a->saved[a->c + ch] = 1 / sqrtf(var + a->eps);
	a->saved[2 * a->c + ch] = a->gamma != NULL ? a->gamma[ch] : 1;
}

KERNEL_BODY void
kernel_bn_prepare_at(const struct kernel_bn_prepare *a, uint32_t i, KERNEL_ANY_TYPE)
{
	kernel_bn_prepare_channel(a, i, a->mean[i], a->m2[i]);
}

/* The mean and variance of each channel of x, and what they make of `to`, whose mean and m2 are unused. */
struct kernel_moments {
	struct kernel_view x;
	struct kernel_strips strips;
	struct kernel_bn_prepare to;
};

KERNEL_BODY struct kernel_grid
kernel_moments_grid(const struct kernel_moments *a)
{
	return kernel_blocks(&a->strips, kernel_is_wide(a->x));
}

/* Mean and sum of squared deviations of a strip. */
KERNEL_BODY void
kernel_strip_moments(struct kernel_view v, struct kernel_tile s, int type, uint32_t width,
	float all[KERNEL_SUMS][KERNEL_WIDTH])
{
	const float n = (float)(s.end - s.from);
	float x[KERNEL_PIXELS][KERNEL_WIDTH], pivot[KERNEL_WIDTH];

	kernel_get_channels(v, s.from, s.ch, type, width, pivot);
	for (uint32_t row = s.from; row < s.end; row += KERNEL_ROW) {
		float sum[KERNEL_WIDTH] = { 0 }, squares[KERNEL_WIDTH] = { 0 };

		for (uint32_t j = row; j < s.end && j < row + KERNEL_ROW; j += KERNEL_PIXELS) {
			const struct kernel_tile t = { j, 1, s.end, s.ch };

			kernel_load(v, t, type, width, x);
			KERNEL_UNROLL
			for (uint32_t p = 0; p < KERNEL_PIXELS; p++) {
				KERNEL_UNROLL
				for (uint32_t k = 0; k < width; k++) {
					float d = j + p < s.end ? x[p][k] - pivot[k] : 0;

					sum[k] += d;
					squares[k] += d * d;
				}
			}
		}
		KERNEL_UNROLL
		for (uint32_t k = 0; k < width; k++) {
			all[0][k] += sum[k];
			all[1][k] += squares[k];
		}
	}
	KERNEL_UNROLL
	for (uint32_t k = 0; k < width; k++) {
		float sum = all[0][k], m2 = all[1][k] - sum * (sum / n);

		all[0][k] = pivot[k] + sum / n;
		all[1][k] = m2 > 0 || m2 != m2 ? m2 : 0;
	}
}

KERNEL_BODY void
kernel_moments_block(const struct kernel_moments *a, uint32_t block, int type, uint32_t width,
	struct kernel_shared *shared)
{
	const struct kernel_part part = kernel_part_at(&a->strips, block);

	KERNEL_PHASE(i, part.strips * (part.channels / width)) {
		float all[KERNEL_SUMS][KERNEL_WIDTH] = { { 0 }, { 0 } };

		kernel_strip_moments(a->x, kernel_strip_at(&a->strips, &part, width, i), type, width, all);
		kernel_put_strip(shared, width, i, 2, all);
	}
	if (!kernel_add_up(&a->strips, &part, 2, 1, shared))
		return;
	KERNEL_PHASE(k, part.channels)
		kernel_bn_prepare_channel(&a->to, part.ch + k, shared->total[0][k], shared->total[1][k]);
}

/*
 * Index: channel. Batch norm by running statistics, as a factor of the weights before it and a
 * bias.
 */
struct kernel_bn_fold {
	const float *mean, *var, *beta;
	const float *gamma, *bias;	/* gamma NULL: 1; bias of the layer before, NULL: 0 */
	float	*to;			/* [2, c]: bias, factor */
	uint32_t c;
	float	 eps;
};

KERNEL_BODY void
kernel_bn_fold_at(const struct kernel_bn_fold *a, uint32_t i, KERNEL_ANY_TYPE)
{
	float factor = (a->gamma != NULL ? a->gamma[i] : 1) * (1 / sqrtf(a->var[i] + a->eps));

	a->to[i] = ((a->bias != NULL ? a->bias[i] : 0) - a->mean[i]) * factor + a->beta[i];
	a->to[a->c + i] = factor;
}

/* Of the channels of an index: what kernel_bn_prepare() saved, and beta. */
struct kernel_bn_channels {
	float	 mean[KERNEL_WIDTH], rstd[KERNEL_WIDTH], gamma[KERNEL_WIDTH], beta[KERNEL_WIDTH];
};

KERNEL_BODY void
kernel_bn_get_channels(const float *saved, const float *beta, uint32_t c, uint32_t ch, uint32_t width,
	struct kernel_bn_channels *to)
{
	kernel_get_each(saved, ch, width, to->mean);
	kernel_get_each(saved + c, ch, width, to->rstd);
	kernel_get_each(saved + 2 * (size_t)c, ch, width, to->gamma);
	kernel_get_each(beta, ch, width, to->beta);
}

/* y = batch norm of x, plus addend unless its p is NULL, then ReLU; m pixels. */
struct kernel_bn {
	struct kernel_view x, y, addend;
	uint32_t m;
	const float *saved, *beta;
	int	 relu;
};

KERNEL_BODY struct kernel_grid
kernel_bn_grid(const struct kernel_bn *a)
{
	return kernel_tiles(a->m, a->y.c, kernel_is_wide(a->x) && kernel_is_wide(a->y) && kernel_is_wide(a->addend));
}

KERNEL_BODY void
kernel_bn_at(const struct kernel_bn *a, uint32_t i, int type, uint32_t width)
{
	const struct kernel_tile t = kernel_tile_at(a->m, a->y.c, width, i);
	float x[KERNEL_PIXELS][KERNEL_WIDTH], addend[KERNEL_PIXELS][KERNEL_WIDTH];
	struct kernel_bn_channels b;

	kernel_load(a->x, t, type, width, x);
	if (a->addend.p != NULL)
		kernel_load(a->addend, t, type, width, addend);
	kernel_bn_get_channels(a->saved, a->beta, a->y.c, t.ch, width, &b);
	KERNEL_UNROLL
	for (uint32_t p = 0; p < KERNEL_PIXELS; p++) {
		KERNEL_UNROLL
		for (uint32_t k = 0; k < width; k++) {
			float y = b.gamma[k] * ((x[p][k] - b.mean[k]) * b.rstd[k]) + b.beta[k];

			if (a->addend.p != NULL)
				y = y + addend[p][k];
			x[p][k] = a->relu && y <= 0 ? 0 : y;
		}
	}
	kernel_store(a->y, t, type, width, x);
}

/* Did the ReLU pass the batch norm of z, the normalized value of channel k? */
KERNEL_BODY int
kernel_bn_passed(const struct kernel_bn_channels *b, uint32_t k, float z)
{
	return b->gamma[k] * z + b->beta[k] > 0;
}

/*
 * The gradients of beta and gamma: sums of dz and dz z over all pixels, where z = (x - mean) rstd and
 * dz is dy where the ReLU passed.
 */
struct kernel_bn_sums {
	struct kernel_view x, dy;
	struct kernel_strips strips;
	const float *saved, *beta;
	int	 relu;
	float	*means;			/* [2, c]: both sums, divided by the number of pixels */
	float	*dbeta, *dgamma;	/* the sums times *scale; dgamma is 0 if fixed */
	int	 fixed;
	const float *scale;		/* NULL: 1 */
};

KERNEL_BODY struct kernel_grid
kernel_bn_sums_grid(const struct kernel_bn_sums *a)
{
	return kernel_blocks(&a->strips, kernel_is_wide(a->x) && kernel_is_wide(a->dy));
}

/* The sums of a strip. */
KERNEL_BODY void
kernel_strip_bn_sums(const struct kernel_bn_sums *a, struct kernel_tile s, int type, uint32_t width,
	float all[KERNEL_SUMS][KERNEL_WIDTH])
{
	float x[KERNEL_PIXELS][KERNEL_WIDTH], dy[KERNEL_PIXELS][KERNEL_WIDTH];
	struct kernel_bn_channels b;

	kernel_bn_get_channels(a->saved, a->beta, a->x.c, s.ch, width, &b);
	for (uint32_t row = s.from; row < s.end; row += KERNEL_ROW) {
		float beta[KERNEL_WIDTH] = { 0 }, gamma[KERNEL_WIDTH] = { 0 };

		for (uint32_t j = row; j < s.end && j < row + KERNEL_ROW; j += KERNEL_PIXELS) {
			const struct kernel_tile t = { j, 1, s.end, s.ch };

			kernel_load(a->x, t, type, width, x);
			kernel_load(a->dy, t, type, width, dy);
			KERNEL_UNROLL
			for (uint32_t p = 0; p < KERNEL_PIXELS; p++) {
				KERNEL_UNROLL
				for (uint32_t k = 0; k < width; k++) {
					float z = (x[p][k] - b.mean[k]) * b.rstd[k];

					if (j + p >= s.end || (a->relu && !kernel_bn_passed(&b, k, z)))
						continue;
					beta[k] += dy[p][k];
					gamma[k] += dy[p][k] * z;
				}
			}
		}
		KERNEL_UNROLL
		for (uint32_t k = 0; k < width; k++) {
			all[0][k] += beta[k];
			all[1][k] += gamma[k];
		}
	}
}

KERNEL_BODY void
kernel_bn_sums_block(const struct kernel_bn_sums *a, uint32_t block, int type, uint32_t width,
	struct kernel_shared *shared)
{
	const struct kernel_part part = kernel_part_at(&a->strips, block);
	const float m = (float)a->strips.m, scale = a->scale != NULL ? *a->scale : 1;

	KERNEL_PHASE(i, part.strips * (part.channels / width)) {
		float all[KERNEL_SUMS][KERNEL_WIDTH] = { { 0 }, { 0 } };

		kernel_strip_bn_sums(a, kernel_strip_at(&a->strips, &part, width, i), type, width, all);
		kernel_put_strip(shared, width, i, 2, all);
	}
	if (!kernel_add_up(&a->strips, &part, 2, 0, shared))
		return;
	KERNEL_PHASE(k, part.channels) {
		const uint32_t ch = part.ch + k;

		a->means[ch] = shared->total[0][k] / m;
		a->means[a->x.c + ch] = shared->total[1][k] / m;
		a->dbeta[ch] = shared->total[0][k] * scale;
		a->dgamma[ch] = a->fixed ? 0 : shared->total[1][k] * scale;
	}
}

/* dx = gamma rstd (dz - mean of dz - z mean of dz z); m pixels. */
struct kernel_bn_back {
	struct kernel_view x, dy, dx;
	uint32_t m;
	const float *saved, *beta;
	const float *means;	/* [2, c] those of kernel_bn_sums; NULL, for 0, if mean and variance are constants */
	int	 relu;
};

KERNEL_BODY struct kernel_grid
kernel_bn_back_grid(const struct kernel_bn_back *a)
{
	return kernel_tiles(a->m, a->dx.c, kernel_is_wide(a->x) && kernel_is_wide(a->dy) && kernel_is_wide(a->dx));
}

KERNEL_BODY void
kernel_bn_back_at(const struct kernel_bn_back *a, uint32_t i, int type, uint32_t width)
{
	const uint32_t c = a->dx.c;
	const struct kernel_tile t = kernel_tile_at(a->m, c, width, i);
	float x[KERNEL_PIXELS][KERNEL_WIDTH], dy[KERNEL_PIXELS][KERNEL_WIDTH], mean[KERNEL_WIDTH], mean_z[KERNEL_WIDTH];
	struct kernel_bn_channels b;

	kernel_load(a->x, t, type, width, x);
	kernel_load(a->dy, t, type, width, dy);
	kernel_bn_get_channels(a->saved, a->beta, c, t.ch, width, &b);
	if (a->means != NULL) {
		kernel_get_each(a->means, t.ch, width, mean);
		kernel_get_each(a->means + c, t.ch, width, mean_z);
	}
	KERNEL_UNROLL
	for (uint32_t p = 0; p < KERNEL_PIXELS; p++) {
		KERNEL_UNROLL
		for (uint32_t k = 0; k < width; k++) {
			float z = (x[p][k] - b.mean[k]) * b.rstd[k];
			float dz = a->relu && !kernel_bn_passed(&b, k, z) ? 0 : dy[p][k];

			if (a->means != NULL)
				dz = dz - mean[k] - z * mean_z[k];
			dy[p][k] = b.gamma[k] * b.rstd[k] * dz;
		}
	}
	kernel_store(a->dx, t, type, width, dy);
}

#endif
