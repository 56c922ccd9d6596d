/* block_test - the sizes of the blocks in which a GPU runs the engine's own kernels. */
#include "tap.h"

#include "engine/cuda/kernel/kernel.h"

#define PROCESSORS	132u	/* of an H100 */

/* The blocks of the statistics of a batch norm, which has an index for 32 pixels of 8 channels. */
static uint32_t
count_blocks(uint32_t pixels, uint32_t channels)
{
	const uint32_t count = (pixels + KERNEL_ROW - 1) / KERNEL_ROW * (channels / KERNEL_WIDTH);
	const uint32_t threads = kernel_block(count, PROCESSORS);

	return (count + threads - 1) / threads;
}

int
main(void)
{
	/* The three sizes of ResNet-110's maps, for 128 samples.  Blocks of 256 threads would be 25, 13 and 7. */
	is(count_blocks(128 * 28 * 28, 16), 98, "statistics of 28x28 maps occupy 98 multiprocessors");
	is(count_blocks(128 * 14 * 14, 32), 98, "statistics of 14x14 maps occupy 98 multiprocessors");
	is(count_blocks(128 * 7 * 7, 64), 49, "statistics of 7x7 maps occupy 49 multiprocessors, with a warp on each");
	is(kernel_block(1 << 20, PROCESSORS), KERNEL_THREADS, "kernels of large maps have whole blocks");
	is(kernel_block(1, PROCESSORS), KERNEL_WARP, "no block has less than a warp");
	return done();
}
