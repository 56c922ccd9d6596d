/*
 * cpu_copy - channels from one view into another.
 *
 * Blocks that begin at a block's start in both views are copied whole; any other
 * channel goes pixel by pixel, from one channel's place to the other's.
 */
#include "engine/cpu.h"

#include <omp.h>
#include <string.h>

/* The first pixel of channel c; the next is v->block floats on. */
static float *
channel_at(const struct cpu_view *v, size_t i, size_t c)
{
	return cpu_at(v, i, c / v->block) + c % v->block;
}

static void
copy_channel(const float *restrict x, size_t x_lanes, float *restrict y, size_t y_lanes, size_t pixels)
{
	for (size_t j = 0; j < pixels; j++)
		y[j * y_lanes] = x[j * x_lanes];
}

/* Zeroes the lanes behind the last channel. */
static void
clear_padding(const struct cpu_view *y, size_t i)
{
	size_t lanes = y->block, fill = y->c % lanes, unit = cpu_unit(y);
	float *last = cpu_at(y, i, cpu_blocks(y) - 1);

	if (fill > 0)
		for (size_t j = 0; j < unit; j += lanes)
			memset(last + j + fill, 0, (lanes - fill) * sizeof(*last));
}

static void
copy_picture(const struct cpu_view *x, size_t x_first, const struct cpu_view *y, size_t y_first, size_t count, size_t i)
{
	size_t lanes = x->block, c = 0, pixels = (size_t)x->h * x->w;

	if (x->block == y->block && x_first % lanes == 0 && y_first % lanes == 0)
		for (; c + lanes <= count; c += lanes)
			memcpy(channel_at(y, i, y_first + c), channel_at(x, i, x_first + c), cpu_unit(x) * sizeof(float));
	for (; c < count; c++)
		copy_channel(channel_at(x, i, x_first + c), x->block, channel_at(y, i, y_first + c), y->block, pixels);
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
		copy_picture(x, x_first, y, y_first, count, i);
}
