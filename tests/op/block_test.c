/* block_test - the blocks in which a GPU runs the engine's own kernels, and what their strips add up to. */
#include "tap.h"

#include "base/rng.h"
#include "engine/cuda/kernel/kernel.h"

#include <stdbool.h>
#include <stdlib.h>

#define PROCESSORS	132u	/* of an H100 */

/* Images of c channels, and what the kernels that sum over pixels make of them. */
struct map {
	struct kernel_strips strips;
	struct kernel_view x;
	float	*mean, *var, *saved, *sum;	/* [c]; saved [3, c] */
};

static struct map
make_map(uint32_t m, uint32_t c)
{
	uint32_t most;
	struct map a = { .strips = kernel_cut_strips(m, c, &most),
		.x = { calloc((size_t)m * c, sizeof(float)), c, c, KERNEL_F32 } };

	a.strips.sums = calloc((size_t)most * KERNEL_SUMS * c, sizeof(float));
	a.strips.arrived = calloc(kernel_columns(&a.strips), sizeof(uint32_t));
	a.mean = calloc(6 * (size_t)c, sizeof(float));
	a.var = a.mean + c;
	a.saved = a.mean + 2 * c;
	a.sum = a.mean + 5 * c;
	return a;
}

static void
free_map(struct map *a)
{
	free(a->x.p);
	free(a->strips.sums);
	free(a->strips.arrived);
	free(a->mean);
}

/* Runs the blocks from the last to the first if `backwards`. */
static void
sum_up(struct map *a, uint32_t width, bool backwards)
{
	const struct kernel_moments m = { a->x, a->strips, { .mean_to = a->mean, .var_to = a->var, .saved = a->saved,
		.c = a->x.c, .m = (float)a->strips.m, .eps = 1e-5f } };
	const struct kernel_column_sums s = { a->x, a->strips, a->sum, NULL };
	const uint32_t n = kernel_moments_grid(&m).count;
	static struct kernel_shared shared;

	for (uint32_t k = 0; k < n; k++)
		kernel_moments_block(&m, backwards ? n - 1 - k : k, KERNEL_F32, width, &shared);
	for (uint32_t k = 0; k < n; k++)
		kernel_column_sums_block(&s, backwards ? n - 1 - k : k, KERNEL_F32, width, &shared);
}

#define PIXELS	(128u * 28 * 28)

/*
 * Mean, variance and sum of a channel against f64.  The values of each image of 784 pixels are around one of their own, up
 * to `apart` deviations from `middle`.
 */
static void
add_up(const char *what, float middle, float apart, double bound)
{
	struct map a = make_map(PIXELS, KERNEL_WIDTH);
	float *x = a.x.p, around = middle;
	double exact = 0, squares = 0, sizes = 0;
	struct rng r = rng_start(4, 0, 0);

	for (uint32_t i = 0; i < PIXELS * KERNEL_WIDTH; i++) {
		if (i % (784 * KERNEL_WIDTH) == 0)
			around = middle + apart * (2 * rng_f32(&r) - 1);
		x[i] = around + (rng_f32(&r) + rng_f32(&r) + rng_f32(&r) - 1.5f) * 2;
	}
	sum_up(&a, KERNEL_WIDTH, false);
	for (uint32_t i = 0; i < PIXELS; i++) {
		exact += x[i * KERNEL_WIDTH];
		sizes += fabs((double)x[i * KERNEL_WIDTH]);
	}
	for (uint32_t i = 0; i < PIXELS; i++)
		squares += (x[i * KERNEL_WIDTH] - exact / PIXELS) * (x[i * KERNEL_WIDTH] - exact / PIXELS);
	near(a.mean[0], exact / PIXELS, bound * sqrt(squares / PIXELS), "%s: the mean is that in f64", what);
	near(a.var[0] / (squares / PIXELS), 1, bound, "%s: the variance is that in f64", what);
	near(a.sum[0], exact, 1e-6 * sizes, "%s: the sum is that in f64", what);
	free_map(&a);
}

/* Whole numbers, whose sums are exact: each value counts once in its channel, whatever the width and order of blocks. */
static void
count_each(uint32_t m, uint32_t c)
{
	struct map a = make_map(m, c);
	const size_t results = 6 * (size_t)c;
	float *x = a.x.p, *before = calloc(results, sizeof(*before));
	uint32_t wrong = 0;

	for (size_t i = 0; i < (size_t)m * c; i++)
		x[i] = (float)((i * 7 + i / c) % 5);
	sum_up(&a, 1, false);
	for (uint32_t ch = 0; ch < c; ch++) {
		float sum = 0;

		for (uint32_t i = 0; i < m; i++)
			sum += x[(size_t)i * c + ch];
		wrong += sum != a.sum[ch] || fabsf(a.mean[ch] - sum / (float)m) > 1e-5f;
	}
	is(wrong, 0, "%u pixels of %u channels: all sums are right", m, c);
	memcpy(before, a.mean, results * sizeof(*before));
	memset(a.mean, 0, results * sizeof(*before));
	sum_up(&a, c % KERNEL_WIDTH == 0 ? KERNEL_WIDTH : 1, true);
	ok(memcmp(before, a.mean, results * sizeof(*before)) == 0,
	    "%u pixels of %u channels: another width, and blocks in another order, give the same bits", m, c);
	free(before);
	free_map(&a);
}

static uint32_t
count_blocks(uint32_t pixels, uint32_t channels)
{
	uint32_t most;
	const struct kernel_strips t = kernel_cut_strips(pixels, channels, &most);

	return kernel_blocks(&t, 1).count;
}

int
main(void)
{
	static const uint32_t sides[][2] = { { 1, 3 }, { 2, 8 }, { 5, 1 }, { 1023, 16 }, { 1024, 16 }, { 100352, 3 }, { 25088, 24 },
		{ 6272, 80 }, { 4001, 72 }, { 300, 2048 }, { 9, 4100 } };
	uint32_t most, fewer;
	bool fits = true;

	add_up("around 0", 0, 0, 2e-6);
	add_up("images that differ", 0, 10, 2e-6);
	add_up("around 100", 100, 1, 2e-5);
	for (size_t i = 0; i < sizeof(sides) / sizeof(*sides); i++)
		count_each(sides[i][0], sides[i][1]);
	for (uint32_t c = 1; c < 3000; c += 37)
		for (uint32_t m = 1; m < 70000; m += 997) {
			kernel_cut_strips(70000, c, &most);
			fits &= kernel_cut_strips(m, c, &fewer).blocks <= fewer && fewer <= most && most <= KERNEL_BLOCKS;
		}
	ok(fits, "the memory for the sums of all pixels is enough for fewer pixels");
	/* The three sizes of ResNet-110's maps, for 128 samples: kernel_block.h. */
	is(count_blocks(128 * 28 * 28, 16), 196, "statistics of 28x28 maps take 196 blocks");
	is(count_blocks(128 * 14 * 14, 32), 98, "statistics of 14x14 maps take 98 blocks");
	is(count_blocks(128 * 7 * 7, 64), 49, "statistics of 7x7 maps take 49 blocks");
	is(count_blocks(128 * 56 * 56, 256), 256, "statistics of large maps take two blocks a multiprocessor");
	is(kernel_block(1 << 20, PROCESSORS), KERNEL_THREADS, "kernels of large maps have whole blocks");
	is(kernel_block(1, PROCESSORS), KERNEL_WARP, "no block has less than a warp");
	return done();
}
