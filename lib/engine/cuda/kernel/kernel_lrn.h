/*
 * kernel_lrn - local response normalization across channels; formulas and source as in ref_lrn.c.
 */
#ifndef ENGINE_CUDA_KERNEL_KERNEL_LRN_H
#define ENGINE_CUDA_KERNEL_KERNEL_LRN_H

/* s [pixels, c] keeps the base of the power for backward. */
struct kernel_lrn {
	struct kernel_view x, y;
	float	*s;
	uint32_t size;
	float	 knorm, each, power;	/* each = alpha / size */
};

KERNEL_BODY void
kernel_lrn_at(const struct kernel_lrn *a, uint32_t i, int type)
{
	uint32_t c = a->y.c, m = i / c, ch = i % c, left = a->size / 2, right = (a->size - 1) / 2;
	float sum = 0;

	for (uint32_t k = ch > left ? ch - left : 0; k <= ch + right && k < c; k++) {
		float x = kernel_at(a->x, m, k, type);

		sum += x * x;
	}
	a->s[i] = a->knorm + a->each * sum;
	kernel_set(a->y, m, ch, kernel_at(a->x, m, ch, type) * powf(a->s[i], -a->power), type);
}

struct kernel_lrn_back {
	struct kernel_view x, dy, dx;
	const float *s;
	uint32_t size;
	float	 each, power;
};

KERNEL_BODY void
kernel_lrn_back_at(const struct kernel_lrn_back *a, uint32_t i, int type)
{
	uint32_t c = a->dx.c, m = i / c, ch = i % c, left = a->size / 2, right = (a->size - 1) / 2;
	const float *s = a->s + (size_t)m * c;
	float sum = 0;

	for (uint32_t k = ch > right ? ch - right : 0; k <= ch + left && k < c; k++)
		sum += kernel_at(a->dy, m, k, type) * kernel_at(a->x, m, k, type) * powf(s[k], -a->power - 1);
	kernel_set(a->dx, m, ch, kernel_at(a->dy, m, ch, type) * powf(s[ch], -a->power) -
	    2 * a->power * a->each * kernel_at(a->x, m, ch, type) * sum, type);
}

#endif
