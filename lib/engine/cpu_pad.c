/*
 * cpu_pad - pictures into pictures within a border of zeros or of themselves reflected; see ref_pad.c.
 *
 * A unit is one picture's block of channels; its pixels keep their lanes.
 */
#include "engine/cpu.h"
#include "engine/cpu_isa.h"

#include <omp.h>
#include <string.h>

/* What all units of a layer share. */
struct frame {
	size_t h, w, oh, ow;	/* pixels in and out */
	size_t top, left, lanes;
	bool   reflect;
};

/* Where place i of a padded side comes from, for those that come from somewhere. */
CPU_INLINE size_t
from(size_t i, size_t pad, size_t size)
{
	return i < pad ? pad - i : i < pad + size ? i - pad : 2 * (size - 1) - (i - pad);
}

CPU_INLINE bool
within(size_t i, size_t pad, size_t size)
{
	return i >= pad && i < pad + size;
}

/* Pixels [j0, j1) of a line of y, which lie beside the picture. */
static void
border(const struct frame *f, const float *restrict line, size_t j0, size_t j1, float *restrict y)
{
	size_t lanes = f->lanes;

	for (size_t j = j0; j < j1; j++)
		if (f->reflect)
			memcpy(y + j * lanes, line + from(j, f->left, f->w) * lanes, lanes * sizeof(*y));
		else
			memset(y + j * lanes, 0, lanes * sizeof(*y));
}

static void
unit_forward(const struct frame *f, const float *restrict x, float *restrict y)
{
	size_t lanes = f->lanes;

	for (size_t i = 0; i < f->oh; i++, y += f->ow * lanes) {
		const float *line;

		if (!f->reflect && !within(i, f->top, f->h)) {
			memset(y, 0, f->ow * lanes * sizeof(*y));
			continue;
		}
		line = x + from(i, f->top, f->h) * f->w * lanes;
		border(f, line, 0, f->left, y);
		memcpy(y + f->left * lanes, line, f->w * lanes * sizeof(*y));
		border(f, line, f->left + f->w, f->ow, y);
	}
}

/* Each pixel's gradient to where it came from; d1 may be NULL. */
CPU_CLONES static void
unit_backward(const struct frame *f, const float *restrict d0, const float *restrict d1, float *restrict dx)
{
	memset(dx, 0, f->h * f->w * f->lanes * sizeof(*dx));
	for (size_t i = 0; i < f->oh; i++)
		for (size_t j = 0; j < f->ow; j++) {
			size_t at = (i * f->ow + j) * f->lanes;
			float *to;

			if (!f->reflect && (!within(i, f->top, f->h) || !within(j, f->left, f->w)))
				continue;
			to = dx + (from(i, f->top, f->h) * f->w + from(j, f->left, f->w)) * f->lanes;
			for (size_t l = 0; l < f->lanes; l++)
				to[l] += d1 != NULL ? d0[at + l] + d1[at + l] : d0[at + l];
		}
}

static struct frame
frame_of(const struct graph_node *node, const struct cpu_view *in)
{
	return (struct frame) { in->h, in->w, node->h, node->w, node->pad[0], node->pad[1], in->block, node->reflect };
}

void
cpu_pad_forward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *y, uint32_t n)
{
	struct frame f = frame_of(node, x);
	size_t blocks = cpu_blocks(x);

	#pragma omp parallel for
	for (size_t u = 0; u < n * blocks; u++)
		unit_forward(&f, cpu_at(x, u / blocks, u % blocks), cpu_at(y, u / blocks, u % blocks));
}

void
cpu_pad_backward(const struct graph_node *node, const struct cpu_view *dy, uint32_t ndy, const struct cpu_view *dx,
    uint32_t n)
{
	struct frame f = frame_of(node, dx);
	size_t blocks = cpu_blocks(dx);

	#pragma omp parallel for
	for (size_t u = 0; u < n * blocks; u++) {
		size_t i = u / blocks, b = u % blocks;

		unit_backward(&f, cpu_at(&dy[0], i, b), ndy > 1 ? cpu_at(&dy[1], i, b) : NULL, cpu_at(dx, i, b));
	}
}
