/* block_test - the sizes of the blocks in which a GPU runs the engine's own kernels, and what their strips add up to. */
#include "tap.h"

#include "base/rng.h"
#include "engine/cuda/kernel/kernel.h"

#include <stdlib.h>

#define PROCESSORS	132u	/* of an H100 */

/* The blocks of the statistics of a batch norm, which has an index for 32 pixels of 8 channels. */
static uint32_t
count_blocks(uint32_t pixels, uint32_t channels)
{
	const uint32_t count = (pixels + KERNEL_ROW - 1) / KERNEL_ROW * (channels / KERNEL_WIDTH);
	const uint32_t threads = kernel_block(count, PROCESSORS);

	return (count + threads - 1) / threads;
}

#define PIXELS	(128u * 28 * 28)
#define CHANNELS KERNEL_WIDTH
#define ROWS	32u
#define STRIPS	(PIXELS / ROWS)

/*
 * Mean, variance and sum of a channel by strips, and merges of three levels, against f64.  The values of each image of
 * 784 pixels are around one of their own, up to `apart` deviations from `middle`.
 */
static void
add_up(const char *what, float middle, float apart, double bound)
{
	float *x = calloc((size_t)PIXELS * CHANNELS, sizeof(*x)), *sums = calloc((size_t)STRIPS * 4 * CHANNELS, sizeof(*sums));
	uint32_t *arrived = calloc((size_t)STRIPS * CHANNELS, sizeof(*arrived));
	float mean[CHANNELS], var[CHANNELS], saved[3 * CHANNELS], sum[CHANNELS], around = middle;
	struct kernel_moments a = { { x, CHANNELS, CHANNELS, KERNEL_F32 }, { PIXELS, ROWS, STRIPS, CHANNELS, sums, arrived },
		{ .mean_to = mean, .var_to = var, .saved = saved, .c = CHANNELS, .m = (float)PIXELS, .eps = 1e-5f } };
	const struct kernel_column_sums b = { a.x, a.tree, sum, NULL };
	double exact = 0, squares = 0, sizes = 0;
	struct rng r = rng_start(4, 0, 0);

	for (uint32_t i = 0; i < PIXELS * CHANNELS; i++) {
		if (i % (784 * CHANNELS) == 0)
			around = middle + apart * (2 * rng_f32(&r) - 1);
		x[i] = around + (rng_f32(&r) + rng_f32(&r) + rng_f32(&r) - 1.5f) * 2;
	}
	for (uint32_t i = 0; i < kernel_moments_grid(&a).count; i++)
		kernel_moments_at(&a, i, KERNEL_F32, CHANNELS);
	for (uint32_t i = 0; i < kernel_column_sums_grid(&b).count; i++)
		kernel_column_sums_at(&b, i, KERNEL_F32, CHANNELS);
	for (uint32_t i = 0; i < PIXELS; i++) {
		exact += x[i * CHANNELS];
		sizes += fabs((double)x[i * CHANNELS]);
	}
	for (uint32_t i = 0; i < PIXELS; i++)
		squares += (x[i * CHANNELS] - exact / PIXELS) * (x[i * CHANNELS] - exact / PIXELS);
	near(mean[0], exact / PIXELS, bound * sqrt(squares / PIXELS), "%s: the mean is that in f64", what);
	near(var[0] / (squares / PIXELS), 1, bound, "%s: the variance is that in f64", what);
	near(sum[0], exact, 1e-6 * sizes, "%s: the sum is that in f64", what);
	free(x);
	free(sums);
	free(arrived);
}

int
main(void)
{
	add_up("around 0", 0, 0, 2e-6);
	add_up("images that differ", 0, 10, 2e-6);
	add_up("around 100", 100, 1, 2e-5);
	/* The three sizes of ResNet-110's maps, for 128 samples.  Blocks of 256 threads would be 25, 13 and 7. */
	is(count_blocks(128 * 28 * 28, 16), 98, "statistics of 28x28 maps occupy 98 multiprocessors");
	is(count_blocks(128 * 14 * 14, 32), 98, "statistics of 14x14 maps occupy 98 multiprocessors");
	is(count_blocks(128 * 7 * 7, 64), 49, "statistics of 7x7 maps occupy 49 multiprocessors, with a warp on each");
	is(kernel_block(1 << 20, PROCESSORS), KERNEL_THREADS, "kernels of large maps have whole blocks");
	is(kernel_block(1, PROCESSORS), KERNEL_WARP, "no block has less than a warp");
	return done();
}
