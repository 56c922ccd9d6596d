/*
 * cpu_copy - copies channels from one view to another.
 *
 * Blocks that start at a block's start in both views are copied whole, as are the channels of a pixel that are
 * adjacent in both.  Other channels are copied pixel by pixel.
 */
#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_vec.h"

#include <omp.h>
#include <string.h>

/* The first pixel of channel c.  The next is v->pitch elements further. */
static void *
get_channel(const struct cpu_view *v, size_t i, size_t c)
{
	return cpu_elem(v, i, c / v->block * cpu_unit(v) + c % v->block);
}

/* Copies one channel, between any types. */
static void
copy_channel(const struct cpu_view *x, const void *restrict from, const struct cpu_view *y, void *restrict to,
    size_t pixels)
{
	for (size_t j = 0; j < pixels; j++)
		cpu_write(to, j * y->pitch, y->bf16, cpu_read(from, j * x->pitch, x->bf16));
}

/* Zeroes the lanes after the last channel. */
static void
clear_padding(const struct cpu_view *y, size_t i)
{
	size_t lanes = y->block, fill = y->c % lanes, pixels = (size_t)y->h * y->w,
	    last = (cpu_blocks(y) - 1) * cpu_unit(y);

	if (fill > 0)
		for (size_t j = 0; j < pixels; j++)
			memset(cpu_elem(y, i, last + j * y->pitch + fill), 0, (lanes - fill) * cpu_size(y));
}

/* Copies `count` channels of each pixel, which are adjacent in both views. */
static void
copy_pixels(const struct cpu_view *x, const char *from, const struct cpu_view *y, char *to, size_t count, size_t pixels)
{
	size_t size = cpu_size(x);

	if (x->pitch == count && y->pitch == count) {
		memcpy(to, from, pixels * count * size);
		return;
	}
	for (size_t j = 0; j < pixels; j++)
		memcpy(to + j * y->pitch * size, from + j * x->pitch * size, count * size);
}

static void
copy_sample(const struct cpu_view *x, size_t x_first, const struct cpu_view *y, size_t y_first, size_t count, size_t i)
{
	size_t lanes = x->block, c = 0, pixels = (size_t)x->h * x->w;

	if (x->bf16 == y->bf16 && cpu_blocks(x) == 1 && cpu_blocks(y) == 1) {
		copy_pixels(x, get_channel(x, i, x_first), y, get_channel(y, i, y_first), count, pixels);
		c = count;
	} else if (x->bf16 == y->bf16 && x->block == y->block && x_first % lanes == 0 && y_first % lanes == 0)
		for (; c + lanes <= count; c += lanes)
			copy_pixels(x, get_channel(x, i, x_first + c), y, get_channel(y, i, y_first + c), lanes,
			    pixels);
	for (; c < count; c++)
		copy_channel(x, get_channel(x, i, x_first + c), y, get_channel(y, i, y_first + c), pixels);
	if (y_first + count == y->c)
		clear_padding(y, i);
}

void
cpu_copy(const struct cpu_view *x, uint32_t x_first, const struct cpu_view *y, uint32_t y_first, uint32_t count,
    uint32_t n)
{
	assert(x->h == y->h && x->w == y->w && x_first + count <= x->c && y_first + count <= y->c);
	#pragma omp parallel for
	for (size_t i = 0; i < n; i++)
		copy_sample(x, x_first, y, y_first, count, i);
}
