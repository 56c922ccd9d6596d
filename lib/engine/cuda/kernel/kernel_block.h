/*
 * kernel_block - sums over the pixels of a channel, by blocks of threads that share memory.
 *
 * A block sums up neighbouring channels of a range of pixels: each lane a strip of pixels, then all lanes the strips.
 * The last block of these channels that arrives adds up the sums of all their blocks.  So one kernel suffices.  The
 * cut into strips and blocks depends on pixels and channels alone, and sums are added in its order whoever arrives
 * last, so that equal batches give equal bits on any device.
 *
 * A block's body is a sequence of phases, KERNEL_PHASE(i, n) and KERNEL_SYNC.  In a phase no lane reads what another
 * one writes.  On a GPU a thread runs every KERNEL_THREADS-th i, and on the CPU a loop all of them.
 *
 * Sizes are chosen for the 132 processors of an H100.  A ResNet-110's maps of 28, 14 and 7 in bf16 take 196, 98 and 49
 * blocks of 256 threads at batch 128.  Each has 16 KB in flight, or 32 KB where dy is read too.  So all of a map is in
 * flight at once, and latencies remain: six accesses of global memory one after another.  A tree without shared memory,
 * of strips of 32 pixels, has about 30.  A block for all pixels of 8 channels would save the second level, and could
 * normalize.  But it would leave 130, 128 and 124 processors idle, and one processor reads about 100 GB/s: 16, 4 and 1
 * us for such a block.
 */
#ifndef ENGINE_CUDA_KERNEL_KERNEL_BLOCK_H
#define ENGINE_CUDA_KERNEL_KERNEL_BLOCK_H

#define KERNEL_ROW	32u	/* values that are added before their sum is added to others */
#define KERNEL_SUMS	2u	/* most sums of a channel */
#define KERNEL_CHANNELS	64u	/* most channels of a block */
#define KERNEL_BLOCK_STRIPS 256u	/* most strips of a block */
#define KERNEL_ITEMS	2048u	/* most channels times strips of a block, or channels times chunks of blocks */
#define KERNEL_CHUNK	8u	/* sums that a lane adds up */
#define KERNEL_BLOCKS	256u	/* most blocks of a channel; of all channels, if there are few */

#ifdef __CUDA_ARCH__
#define KERNEL_PHASE(i, n)	for (uint32_t i = threadIdx.x; i < (n); i += blockDim.x)
#define KERNEL_SYNC		__syncthreads()
#else
#define KERNEL_PHASE(i, n)	for (uint32_t i = 0; i < (n); i++)
#define KERNEL_SYNC		((void)0)
#endif

struct kernel_strips {
	uint32_t m, c;		/* all pixels and channels */
	uint32_t channels;	/* channels of a block */
	uint32_t strips, rows;	/* strips of a block; pixels of a strip */
	uint32_t blocks;	/* blocks of each channel */
	float	*sums;		/* [blocks, sums of a channel, c] */
	uint32_t *arrived;	/* [columns of blocks], zeros before and afterwards */
};

/* The memory that the lanes of a block share. */
struct kernel_shared {
	float	 item[KERNEL_SUMS][KERNEL_ITEMS];
	float	 chunk[KERNEL_SUMS][KERNEL_ITEMS / KERNEL_CHUNK + KERNEL_CHANNELS];
	float	 total[KERNEL_SUMS][KERNEL_CHANNELS];	/* the sums of each channel */
	uint32_t last;
};

/* The part of a block: channels [ch, ch + channels) of pixels [from, end). */
struct kernel_part {
	uint32_t ch, channels, from, end, strips;
	uint32_t column, row;	/* which block */
};

KERNEL_BODY uint32_t
kernel_ceil(uint32_t n, uint32_t by)
{
	return n / by + (n % by > 0);
}

KERNEL_BODY uint32_t
kernel_columns(const struct kernel_strips *t)
{
	return kernel_ceil(t->c, t->channels);
}

/* The strips of m pixels of c channels, without memory.  *most: blocks of a channel for m pixels or fewer. */
KERNEL_BODY struct kernel_strips
kernel_cut_strips(uint32_t m, uint32_t c, uint32_t *most)
{
	const uint32_t columns = kernel_ceil(c, KERNEL_CHANNELS);
	struct kernel_strips t = { m, c, 0, 0, 0, 0, NULL, NULL };

	t.channels = kernel_ceil(kernel_ceil(c, columns), KERNEL_WIDTH) * KERNEL_WIDTH;
	t.strips = KERNEL_ITEMS / t.channels < KERNEL_BLOCK_STRIPS ? KERNEL_ITEMS / t.channels : KERNEL_BLOCK_STRIPS;
	*most = KERNEL_BLOCKS / columns > 0 ? KERNEL_BLOCKS / columns : 1;
	t.rows = kernel_ceil(kernel_ceil(m, t.strips * *most), KERNEL_PIXELS) * KERNEL_PIXELS;
	t.blocks = kernel_ceil(m, t.strips * t.rows);
	if (*most > kernel_ceil(m, t.strips * KERNEL_PIXELS))
		*most = kernel_ceil(m, t.strips * KERNEL_PIXELS);
	return t;
}

/* A grid of all blocks. */
KERNEL_BODY struct kernel_grid
kernel_blocks(const struct kernel_strips *t, int wide)
{
	struct kernel_grid g = { kernel_columns(t) * t->blocks, wide ? KERNEL_WIDTH : 1 };

	return g;
}

KERNEL_BODY struct kernel_part
kernel_part_at(const struct kernel_strips *t, uint32_t block)
{
	const uint32_t columns = kernel_columns(t), each = t->strips * t->rows;
	struct kernel_part p = { 0, t->channels, 0, t->m, 0, block % columns, block / columns };

	p.ch = p.column * t->channels;
	if (p.ch + p.channels > t->c)
		p.channels = t->c - p.ch;
	p.from = p.row * each;
	if (p.end - p.from > each)
		p.end = p.from + each;
	p.strips = kernel_ceil(p.end - p.from, t->rows);
	return p;
}

/* The strip and the first channel of lane i of a part. */
KERNEL_BODY struct kernel_tile
kernel_strip_at(const struct kernel_strips *t, const struct kernel_part *p, uint32_t width, uint32_t i)
{
	const uint32_t groups = p->channels / width, from = p->from + i / groups * t->rows;
	struct kernel_tile s = { from, 1, p->end - from > t->rows ? from + t->rows : p->end,
		p->ch + i % groups * width };

	return s;
}

/* Hands over the sums of that strip. */
KERNEL_BODY void
kernel_put_strip(struct kernel_shared *shared, uint32_t width, uint32_t i, uint32_t sums,
	float all[KERNEL_SUMS][KERNEL_WIDTH])
{
	KERNEL_UNROLL
	for (uint32_t j = 0; j < sums; j++) {
		KERNEL_UNROLL
		for (uint32_t k = 0; k < width; k++)
			shared->item[j][i * width + k] = all[j][k];
	}
}

/*
 * Sums [n] of each channel, of `rows` pixels each, the last one of what is left of m.  The next one is `each`
 * floats on, the next sum of the same channel `apart`.
 */
struct kernel_items {
	const float *p;
	uint32_t n, rows, m, each, apart;
	int	 fresh;		/* other blocks of this kernel have written them */
};

/* A sum, if need be past the cache of a processor. */
KERNEL_BODY float
kernel_get_item(const struct kernel_items *t, uint32_t s, uint32_t j, uint32_t ch)
{
	const float *at = t->p + (size_t)s * t->each + (size_t)j * t->apart + ch;

#ifdef __CUDA_ARCH__
	return t->fresh ? __ldcg(at) : *at;
#else
	return *at;
#endif
}

/*
 * Mean and sum of squared deviations of items [from, to) (Chan, Golub, LeVeque, "Updating formulae and a pairwise
 * algorithm for computing sample variances", 1979).  Means are relative to that of the first one, which is at most
 * the square root of their number in standard deviations off, so that the difference at the end loses a few bits.
 */
KERNEL_BODY void
kernel_merge_moments(const struct kernel_items *t, uint32_t from, uint32_t to, uint32_t ch, float all[KERNEL_SUMS])
{
	const float pivot = kernel_get_item(t, from, 0, ch);
	float sum = 0, m2 = 0, pixels = 0, mean;

	KERNEL_UNROLL_8
	for (uint32_t s = from; s < to; s++) {
		const float each = (float)(s + 1 < t->n ? t->rows : t->m - s * t->rows);
		const float d = kernel_get_item(t, s, 0, ch) - pivot;

		pixels += each;
		sum += each * d;
		m2 += kernel_get_item(t, s, 1, ch) + each * d * d;
	}
	mean = sum / pixels;
	m2 -= sum * mean;
	all[0] = pivot + mean;
	all[1] = m2 > 0 || m2 != m2 ? m2 : 0;
}

/* The sums of items [from, to) are few, so that f32 does: most GPUs add f64 at a 64th of its rate. */
KERNEL_BODY void
kernel_merge_items(const struct kernel_items *t, uint32_t from, uint32_t to, uint32_t ch, uint32_t sums, int moments,
	float all[KERNEL_SUMS])
{
	if (moments) {
		kernel_merge_moments(t, from, to, ch, all);
		return;
	}
	KERNEL_UNROLL
	for (uint32_t j = 0; j < sums; j++) {
		all[j] = 0;
		KERNEL_UNROLL_8
		for (uint32_t s = from; s < to; s++)
			all[j] += kernel_get_item(t, s, j, ch);
	}
}

/* Two phases: merges the items of all channels of a block into chunk [chunks, channels], and then these. */
KERNEL_BODY void
kernel_merge_all(const struct kernel_items *t, uint32_t channels, uint32_t sums, int moments, float *chunk,
	uint32_t apart, struct kernel_shared *shared)
{
	const struct kernel_items chunks = { chunk, kernel_ceil(t->n, KERNEL_CHUNK), t->rows * KERNEL_CHUNK, t->m,
		channels, apart, 0 };

	KERNEL_PHASE(i, chunks.n * channels) {
		const uint32_t from = i / channels * KERNEL_CHUNK, end = from + KERNEL_CHUNK;
		float all[KERNEL_SUMS];

		kernel_merge_items(t, from, end < t->n ? end : t->n, i % channels, sums, moments, all);
		KERNEL_UNROLL
		for (uint32_t j = 0; j < sums; j++)
			chunk[j * apart + i] = all[j];
	}
	KERNEL_SYNC;
	KERNEL_PHASE(ch, channels) {
		float all[KERNEL_SUMS];

		kernel_merge_items(&chunks, 0, chunks.n, ch, sums, moments, all);
		KERNEL_UNROLL
		for (uint32_t j = 0; j < sums; j++)
			shared->total[j][ch] = all[j];
	}
	KERNEL_SYNC;
}

/* Counts the arrival of a block.  Returns 1 to all lanes of the last of `blocks`, which then see what all wrote. */
KERNEL_BODY int
kernel_arrive(uint32_t *arrived, uint32_t blocks, struct kernel_shared *shared)
{
#ifdef __CUDA_ARCH__
	__threadfence();
	__syncthreads();
	if (threadIdx.x == 0) {
		shared->last = atomicAdd(arrived, 1) + 1 == blocks;
		if (shared->last)
			*arrived = 0;
		__threadfence();
	}
	__syncthreads();
#else
	shared->last = __atomic_add_fetch(arrived, 1, __ATOMIC_ACQ_REL) == blocks;
	if (shared->last)
		*arrived = 0;
#endif
	return shared->last != 0;
}

/*
 * After the phase of the strips: adds up `sums` sums a channel, or 2 if they are moments, a mean and a sum of squared
 * deviations.  Returns 1 to the last block of these channels, whose shared->total is then that of all pixels.
 */
KERNEL_BODY int
kernel_add_up(const struct kernel_strips *t, const struct kernel_part *p, uint32_t sums, int moments,
	struct kernel_shared *shared)
{
	const uint32_t all = t->strips * t->rows;
	const struct kernel_items strips = { shared->item[0], p->strips, t->rows, p->end - p->from, p->channels,
		KERNEL_ITEMS, 0 };
	const struct kernel_items blocks = { t->sums + p->ch, t->blocks, all, t->m, sums * t->c, t->c, 1 };

	KERNEL_SYNC;
	kernel_merge_all(&strips, p->channels, sums, moments, shared->chunk[0],
	    sizeof(shared->chunk[0]) / sizeof(float), shared);
	if (t->blocks == 1)
		return 1;
	KERNEL_PHASE(ch, p->channels) {
		KERNEL_UNROLL
		for (uint32_t j = 0; j < sums; j++)
			t->sums[((size_t)p->row * sums + j) * t->c + p->ch + ch] = shared->total[j][ch];
	}
	if (!kernel_arrive(&t->arrived[p->column], t->blocks, shared))
		return 0;
	kernel_merge_all(&blocks, p->channels, sums, moments, shared->item[0], KERNEL_ITEMS, shared);
	return 1;
}

#endif
