/*
 * cpu_copy - channels from one view into another.
 *
 * Blocks that begin at a block's start in both views are copied whole, and so are a pixel's channels where both have
 * them side by side; any other channel goes pixel by pixel, from one channel's place to the other's.
 */
#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_half.h"

#include <omp.h>
#include <string.h>

/* The first pixel of channel c; the next is v->pitch numbers on. */
static void *
channel_at(const struct cpu_view *v, size_t i, size_t c)
{
	return cpu_nth(v, i, c / v->block * cpu_unit(v) + c % v->block);
}

ISA_INLINE void
copy_each(const void *restrict x, size_t x_pitch, bool x_half, void *restrict y, size_t y_pitch, bool y_half,
    size_t pixels)
{
	for (size_t j = 0; j < pixels; j++)
		cpu_put(y, j * y_pitch, y_half, cpu_number(x, j * x_pitch, x_half));
}

static void
copy_channel(const struct cpu_view *x, const void *from, const struct cpu_view *y, void *to, size_t pixels)
{
	if (x->half && y->half)
		copy_each(from, x->pitch, true, to, y->pitch, true, pixels);
	else if (x->half)
		copy_each(from, x->pitch, true, to, y->pitch, false, pixels);
	else if (y->half)
		copy_each(from, x->pitch, false, to, y->pitch, true, pixels);
	else
		copy_each(from, x->pitch, false, to, y->pitch, false, pixels);
}

/* Zeroes the lanes behind the last channel. */
static void
clear_padding(const struct cpu_view *y, size_t i)
{
	size_t lanes = y->block, fill = y->c % lanes, pixels = (size_t)y->h * y->w,
	    last = (cpu_blocks(y) - 1) * cpu_unit(y);

	if (fill > 0)
		for (size_t j = 0; j < pixels; j++)
			memset(cpu_nth(y, i, last + j * y->pitch + fill), 0, (lanes - fill) * cpu_size(y));
}

/* `side` channels of each pixel, which lie side by side in both. */
static void
copy_side(const struct cpu_view *x, const char *from, const struct cpu_view *y, char *to, size_t side, size_t pixels)
{
	size_t size = cpu_size(x);

	if (x->pitch == side && y->pitch == side) {
		memcpy(to, from, pixels * side * size);
		return;
	}
	for (size_t j = 0; j < pixels; j++)
		memcpy(to + j * y->pitch * size, from + j * x->pitch * size, side * size);
}

static void
copy_picture(const struct cpu_view *x, size_t x_first, const struct cpu_view *y, size_t y_first, size_t count, size_t i)
{
	size_t lanes = x->block, c = 0, pixels = (size_t)x->h * x->w;

	if (x->half == y->half && cpu_blocks(x) == 1 && cpu_blocks(y) == 1) {
		copy_side(x, channel_at(x, i, x_first), y, channel_at(y, i, y_first), count, pixels);
		c = count;
	} else if (x->half == y->half && x->block == y->block && x_first % lanes == 0 && y_first % lanes == 0)
		for (; c + lanes <= count; c += lanes)
			copy_side(x, channel_at(x, i, x_first + c), y, channel_at(y, i, y_first + c), lanes, pixels);
	for (; c < count; c++)
		copy_channel(x, channel_at(x, i, x_first + c), y, channel_at(y, i, y_first + c), pixels);
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
