/*
 * kernel_tree - sums over the pixels of each channel: of strips of pixels, merged by a tree.
 *
 * An index of such a kernel computes the sums of a strip. The last of KERNEL_MERGE siblings that
 * arrives merges their sums into one of the level above, and arrives there. So one kernel suffices.
 * Sums are added in the order of the strips whoever arrives last, so that the bits are the same.
 */
#ifndef ENGINE_CUDA_KERNEL_KERNEL_TREE_H
#define ENGINE_CUDA_KERNEL_KERNEL_TREE_H

#define KERNEL_MERGE	32u	/* strips that become one */
#define KERNEL_ROW	32u	/* values that are added before their sum is added to others */
#define KERNEL_SUMS	2u	/* most sums of a channel */

struct kernel_tree {
	uint32_t m, rows, strips;	/* strips of `rows` pixels of m, the last one possibly shorter */
	uint32_t c;
	float	*sums;			/* [strips, sums of a channel, c], then those of each level above */
	uint32_t *arrived;		/* [strips, c] of each level above, zeros before and afterwards */
};

/* The pixel after strip s. */
KERNEL_BODY uint32_t
kernel_strip_end(const struct kernel_tree *t, uint32_t s)
{
	return (s + 1) * t->rows < t->m ? (s + 1) * t->rows : t->m;
}

/* Counts an arrival.  Returns 1 to the last of `siblings`, which then sees what all of them wrote. */
KERNEL_BODY int
kernel_arrive(uint32_t *arrived, uint32_t siblings)
{
#ifdef __CUDA_ARCH__
	__threadfence();
	if (atomicAdd(arrived, 1) + 1 < siblings)
		return 0;
	__threadfence();
#else
	if (__atomic_add_fetch(arrived, 1, __ATOMIC_ACQ_REL) < siblings)
		return 0;
#endif
	*arrived = 0;
	return 1;
}

/* Values [0, width) as other indices of this kernel wrote them, past the cache of a multiprocessor. */
KERNEL_BODY void
kernel_get_fresh(const float *p, uint32_t width, float x[KERNEL_WIDTH])
{
#ifdef __CUDA_ARCH__
	if (width == KERNEL_WIDTH) {
		const float4 a = __ldcg((const float4 *)p), b = __ldcg((const float4 *)p + 1);

		x[0] = a.x;
		x[1] = a.y;
		x[2] = a.z;
		x[3] = a.w;
		x[4] = b.x;
		x[5] = b.y;
		x[6] = b.z;
		x[7] = b.w;
	} else {
		x[0] = __ldcg(p);
	}
#else
	if (width == KERNEL_WIDTH)
		kernel_check_access(p);
	memcpy(x, p, width * sizeof(*p));
#endif
}

/*
 * The sums of strips [from, to) of a level, `sums` of them a channel, at channel ch. They are few, so that f32 does; a
 * GPU converts to f64 at an eighth of its rate, and most GPUs add f64 at a 64th.
 */
KERNEL_BODY void
kernel_add_strips(const struct kernel_tree *t, const float *level, uint32_t from, uint32_t to, uint32_t ch,
	uint32_t sums, uint32_t width, float all[KERNEL_SUMS][KERNEL_WIDTH])
{
	KERNEL_UNROLL
	for (uint32_t j = 0; j < sums; j++) {
		float x[KERNEL_WIDTH];

		KERNEL_UNROLL
		for (uint32_t k = 0; k < width; k++)
			all[j][k] = 0;
		KERNEL_UNROLL_8
		for (uint32_t s = from; s < to; s++) {
			kernel_get_fresh(level + ((size_t)s * sums + j) * t->c + ch, width, x);
			KERNEL_UNROLL
			for (uint32_t k = 0; k < width; k++)
				all[j][k] += x[k];
		}
	}
}

/*
 * Mean and sum of squared deviations of strips [from, to) of a level with n strips, each of `rows`
 * pixels but the last (Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for
 * computing sample variances", 1979). Means are relative to that of the first strip, which is
 * sqrt(KERNEL_MERGE) standard deviations off at most, so that the difference at the end loses a few bits.
 */
KERNEL_BODY void
kernel_merge_moments(const struct kernel_tree *t, const float *level, uint32_t n, uint32_t rows, uint32_t from,
	uint32_t to, uint32_t ch, uint32_t width, float all[KERNEL_SUMS][KERNEL_WIDTH])
{
	float pivot[KERNEL_WIDTH], x[KERNEL_WIDTH], squares[KERNEL_WIDTH], sum[KERNEL_WIDTH] = { 0 };
	float m2[KERNEL_WIDTH] = { 0 }, pixels = 0;

	kernel_get_fresh(level + (size_t)from * 2 * t->c + ch, width, pivot);
	KERNEL_UNROLL_8
	for (uint32_t s = from; s < to; s++) {
		const float each = (float)(s + 1 < n ? rows : t->m - s * rows);

		kernel_get_fresh(level + (size_t)s * 2 * t->c + ch, width, x);
		kernel_get_fresh(level + ((size_t)s * 2 + 1) * t->c + ch, width, squares);
		pixels += each;
		KERNEL_UNROLL
		for (uint32_t k = 0; k < width; k++) {
			const float d = x[k] - pivot[k];

			sum[k] += each * d;
			m2[k] += squares[k] + each * d * d;
		}
	}
	KERNEL_UNROLL
	for (uint32_t k = 0; k < width; k++) {
		const float mean = sum[k] / pixels, rest = m2[k] - sum[k] * mean;

		all[0][k] = pivot[k] + mean;
		all[1][k] = rest > 0 || rest != rest ? rest : 0;
	}
}

/*
 * Hands over the sums of strip s, from channel ch on: `sums` of them a channel, or 2 if they are
 * moments, a mean and a sum of squared deviations. Returns 1 to the last index of these channels,
 * whose `all` is then the sums of all strips, and 0 to the others.
 */
KERNEL_BODY int
kernel_merge(const struct kernel_tree *t, uint32_t s, uint32_t ch, uint32_t sums, int moments, uint32_t width,
	float all[KERNEL_SUMS][KERNEL_WIDTH])
{
	float *level = t->sums;
	uint32_t *arrived = t->arrived, rows = t->rows;

	for (uint32_t n = t->strips; n > 1;) {
		uint32_t above = s / KERNEL_MERGE, from = above * KERNEL_MERGE;
		uint32_t to = from + KERNEL_MERGE < n ? from + KERNEL_MERGE : n;

		KERNEL_UNROLL
		for (uint32_t j = 0; j < sums; j++)
			kernel_put_wide(level, ((size_t)s * sums + j) * t->c + ch, KERNEL_F32, width, all[j]);
		if (!kernel_arrive(arrived + (size_t)above * t->c + ch, to - from))
			return 0;
		if (moments)
			kernel_merge_moments(t, level, n, rows, from, to, ch, width, all);
		else
			kernel_add_strips(t, level, from, to, ch, sums, width, all);
		level += (size_t)n * sums * t->c;
		n = (n + KERNEL_MERGE - 1) / KERNEL_MERGE;
		arrived += (size_t)n * t->c;
		rows = rows <= t->m / KERNEL_MERGE ? rows * KERNEL_MERGE : t->m;
		s = above;
	}
	return 1;
}

#endif
