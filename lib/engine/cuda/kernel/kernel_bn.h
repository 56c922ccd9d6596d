/*
 * kernel_bn - batch norm, with a ReLU after it if the net has one; formulas as in ref_bn.c.
 *
 * Mean and sum of squared deviations are computed for strips of pixels. Then KERNEL_MERGE strips at
 * a time are merged until one is left (Chan, Golub, LeVeque, "Updating formulae and a pairwise
 * algorithm for computing sample variances", 1979).
 */
#ifndef ENGINE_CUDA_KERNEL_KERNEL_BN_H
#define ENGINE_CUDA_KERNEL_KERNEL_BN_H

#define KERNEL_MERGE	32u	/* strips that become one */
#define KERNEL_ROW	32u	/* values that are added before their sum is added to others */

/* Index: strip c + channel.  mean and m2 [strips, c] of pixels [strip rows, + rows) of m. */
struct kernel_moments {
	struct kernel_view x;
	uint32_t m, rows;
	float	*mean, *m2;
};

KERNEL_BODY void
kernel_moments_at(const struct kernel_moments *a, uint32_t i, int type)
{
	uint32_t ch = i % a->x.c, from = i / a->x.c * a->rows, to = from + a->rows < a->m ? from + a->rows : a->m;
	float pivot = kernel_at(a->x, from, ch, type), sum = 0, squares = 0, n = (float)(to - from);

	for (uint32_t k = from; k < to; k += KERNEL_ROW) {
		uint32_t end = k + KERNEL_ROW < to ? k + KERNEL_ROW : to;
		float s = 0, q = 0;

		for (uint32_t j = k; j < end; j++) {
			float d = kernel_at(a->x, j, ch, type) - pivot;

			s += d;
			q += d * d;
		}
		sum += s;
		squares += q;
	}
	squares -= sum * (sum / n);
	a->mean[i] = pivot + sum / n;
	a->m2[i] = squares > 0 || squares != squares ? squares : 0;
}

/* Index: merged strip c + channel.  Merges KERNEL_MERGE strips of `rows` pixels each. */
struct kernel_moments_merge {
	const float *mean, *m2;		/* [strips, c] */
	float	*mean_to, *m2_to;
	uint32_t c, strips, m, rows;	/* m: pixels in all; rows: in each strip but the last */
};

KERNEL_BODY void
kernel_moments_merge_at(const struct kernel_moments_merge *a, uint32_t i, KERNEL_ANY_TYPE)
{
	uint32_t ch = i % a->c, from = i / a->c * KERNEL_MERGE;
	uint32_t to = from + KERNEL_MERGE < a->strips ? from + KERNEL_MERGE : a->strips;
	double all = 0, mean = 0, m2 = 0;

	for (uint32_t s = from; s < to; s++) {
		double n = s + 1 < a->strips ? a->rows : a->m - s * a->rows;

		all += n;
		mean += n * a->mean[s * a->c + ch];
	}
	mean /= all;
	for (uint32_t s = from; s < to; s++) {
		double n = s + 1 < a->strips ? a->rows : a->m - s * a->rows, d = a->mean[s * a->c + ch] - mean;

		m2 += a->m2[s * a->c + ch] + n * d * d;
	}
	a->mean_to[i] = (float)mean;
	a->m2_to[i] = (float)m2;
}

/* Index: channel.  rstd from the variance, and the batch's statistics.  gamma NULL: 1. */
struct kernel_bn_prepare {
	const float *mean, *m2;		/* m2 / m is the variance */
	const float *gamma;
	float	*mean_to, *var_to;	/* the batch's statistics, or NULL */
	float	*saved;			/* [3, c]: mean, rstd, gamma */
	uint32_t c;
	float	 m, eps;
};

KERNEL_BODY void
kernel_bn_prepare_at(const struct kernel_bn_prepare *a, uint32_t i, KERNEL_ANY_TYPE)
{
	float var = a->m2[i] / a->m;

	if (a->mean_to != NULL) {
		a->mean_to[i] = a->mean[i];
		a->var_to[i] = var;
	}
	a->saved[i] = a->mean[i];
	a->saved[a->c + i] = 1 / sqrtf(var + a->eps);
	a->saved[2 * a->c + i] = a->gamma != NULL ? a->gamma[i] : 1;
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

KERNEL_BODY float
kernel_bn_value(const float *saved, const float *beta, uint32_t c, uint32_t ch, float x)
{
	return saved[2 * c + ch] * ((x - saved[ch]) * saved[c + ch]) + beta[ch];
}

/* y = batch norm of x, plus addend unless its p is NULL, then ReLU. */
struct kernel_bn {
	struct kernel_view x, y, addend;
	const float *saved, *beta;
	int	 relu;
};

KERNEL_BODY void
kernel_bn_at(const struct kernel_bn *a, uint32_t i, int type)
{
	uint32_t m = i / a->y.c, ch = i % a->y.c;
	float y = kernel_bn_value(a->saved, a->beta, a->y.c, ch, kernel_at(a->x, m, ch, type));

	if (a->addend.p != NULL)
		y = y + kernel_at(a->addend, m, ch, type);
	kernel_set(a->y, m, ch, a->relu && y <= 0 ? 0 : y, type);
}

/* The gradient of the normalized value: dy where ReLU passed it. */
KERNEL_BODY float
kernel_bn_dz(struct kernel_view dy, const float *saved, const float *beta, int relu, uint32_t m, uint32_t ch, float x,
	int type)
{
	if (relu && !(kernel_bn_value(saved, beta, dy.c, ch, x) > 0))
		return 0;
	return kernel_at(dy, m, ch, type);
}

/*
 * Index: strip c + channel. dbeta = sum dz and dgamma = sum dz (x - mean) rstd of a strip, into
 * sums [strips, 2, c].
 */
struct kernel_bn_sums {
	struct kernel_view x, dy;
	const float *saved, *beta;
	uint32_t m, rows;
	int	 relu;
	float	*sums;
};

KERNEL_BODY void
kernel_bn_sums_at(const struct kernel_bn_sums *a, uint32_t i, int type)
{
	uint32_t c = a->x.c, strip = i / c, ch = i % c, from = strip * a->rows;
	uint32_t to = from + a->rows < a->m ? from + a->rows : a->m;
	float mean = a->saved[ch], rstd = a->saved[c + ch], beta = 0, gamma = 0;

	for (uint32_t k = from; k < to; k += KERNEL_ROW) {
		uint32_t end = k + KERNEL_ROW < to ? k + KERNEL_ROW : to;
		float b = 0, g = 0;

		for (uint32_t j = k; j < end; j++) {
			float x = kernel_at(a->x, j, ch, type);
			float dz = kernel_bn_dz(a->dy, a->saved, a->beta, a->relu, j, ch, x, type);

			b += dz;
			g += dz * ((x - mean) * rstd);
		}
		beta += b;
		gamma += g;
	}
	a->sums[(size_t)strip * 2 * c + ch] = beta;
	a->sums[(size_t)strip * 2 * c + c + ch] = gamma;
}

/* dx = gamma rstd (dz - dbeta / m - z dgamma / m); sums [2, c] are those of all pixels. */
struct kernel_bn_back {
	struct kernel_view x, dy, dx;
	const float *saved, *beta, *sums;
	float	 m;
	int	 relu, frozen;	/* frozen: mean and variance are constants, so dx = gamma rstd dz */
};

KERNEL_BODY void
kernel_bn_back_at(const struct kernel_bn_back *a, uint32_t i, int type)
{
	uint32_t c = a->dx.c, m = i / c, ch = i % c;
	float x = kernel_at(a->x, m, ch, type), rstd = a->saved[c + ch], z = (x - a->saved[ch]) * rstd;
	float dz = kernel_bn_dz(a->dy, a->saved, a->beta, a->relu, m, ch, x, type);

	if (!a->frozen)
		dz = dz - a->sums[ch] / a->m - z * (a->sums[c + ch] / a->m);
	kernel_set(a->dx, m, ch, a->saved[2 * c + ch] * rstd * dz, type);
}

#endif
