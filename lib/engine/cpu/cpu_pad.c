/*
 * cpu_pad - pictures into pictures within a border of zeros or of themselves reflected; see ref_pad.c.
 *
 * A unit is one picture's block of channels; its pixels keep their lanes.
 */
#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_half.h"

#include <omp.h>
#include <string.h>

/* What all units of a layer share. */
struct frame {
	size_t h, w, oh, ow;	/* pixels in and out */
	size_t top, left, lanes;
	size_t size;		/* of a number */
	bool   half, reflect;
};

/* Where place i of a padded side comes from, for those that come from somewhere. */
ISA_INLINE size_t
reflected_source(size_t i, size_t pad, size_t size)
{
	return i < pad ? pad - i : i < pad + size ? i - pad : 2 * (size - 1) - (i - pad);
}

ISA_INLINE bool
within_side(size_t i, size_t pad, size_t size)
{
	return i >= pad && i < pad + size;
}

/* Pixels [j0, j1) of a line of y, which lie beside the picture; pitches are bytes here. */
static void
fill_border(const struct frame *f, const char *restrict line, size_t pitch, size_t j0, size_t j1, char *restrict y,
    size_t y_pitch)
{
	for (size_t j = j0; j < j1; j++)
		if (f->reflect)
			memcpy(y + j * y_pitch, line + reflected_source(j, f->left, f->w) * pitch, f->lanes * f->size);
		else
			memset(y + j * y_pitch, 0, f->lanes * f->size);
}

static void
unit_forward(const struct frame *f, const char *restrict x, size_t pitch, char *restrict y, size_t y_pitch)
{
	pitch *= f->size;
	y_pitch *= f->size;
	for (size_t i = 0; i < f->oh; i++, y += f->ow * y_pitch) {
		const char *line;

		if (!f->reflect && !within_side(i, f->top, f->h)) {
			for (size_t j = 0; j < f->ow; j++)
				memset(y + j * y_pitch, 0, f->lanes * f->size);
			continue;
		}
		line = x + reflected_source(i, f->top, f->h) * f->w * pitch;
		fill_border(f, line, pitch, 0, f->left, y, y_pitch);
		for (size_t j = 0; j < f->w; j++)
			memcpy(y + (f->left + j) * y_pitch, line + j * pitch, f->lanes * f->size);
		fill_border(f, line, pitch, f->left + f->w, f->ow, y, y_pitch);
	}
}

/* An operand: its first number, and from pixel to pixel. */
struct side {
	void  *p;
	size_t pitch;
};

/* The places of a padded side that are place i of the picture, in their order: one, and up to two reflected ones. */
ISA_INLINE size_t
padded_places(size_t i, size_t pad, size_t size, bool reflect, size_t at[3])
{
	size_t n = 0;

	if (reflect && i > 0 && i <= pad)
		at[n++] = pad - i;
	at[n++] = pad + i;
	if (reflect && i + 1 < size && size - 1 - i <= pad)
		at[n++] = pad + 2 * (size - 1) - i;
	return n;
}

/* Each pixel's gradient: the sum of those of the places that it came to; d1 has no p where there is one part. */
ISA_INLINE void
gather_padded(const struct frame *f, const struct side *d0, const struct side *d1, const struct side *dx, bool half)
{
	size_t row[3], column[3];

	for (size_t i = 0; i < f->h; i++) {
		size_t rows = padded_places(i, f->top, f->h, f->reflect, row);

		for (size_t j = 0; j < f->w; j++) {
			size_t columns = padded_places(j, f->left, f->w, f->reflect, column);

			for (size_t l = 0; l < f->lanes; l++) {
				float sum = 0;

				for (size_t k = 0; k < rows * columns; k++) {
					size_t at = row[k / columns] * f->ow + column[k % columns];
					float d = cpu_number(d0->p, at * d0->pitch + l, half);

					sum += d1->p != NULL ? d + cpu_number(d1->p, at * d1->pitch + l, half) : d;
				}
				cpu_put(dx->p, (i * f->w + j) * dx->pitch + l, half, sum);
			}
		}
	}
}

ISA_CLONES(static, void, unit_backward, (const struct frame *f, const struct side *d0, const struct side *d1,
    const struct side *dx),
    (f, d0, d1, dx))
{
	if (f->half)
		gather_padded(f, d0, d1, dx, true);
	else
		gather_padded(f, d0, d1, dx, false);
}

static struct frame
frame_of(const struct graph_node *node, const struct cpu_view *in)
{
	return (struct frame) { in->h, in->w, node->h, node->w, node->pad[0], node->pad[1], in->block, cpu_size(in),
	    in->half,
	    node->reflect };
}

void
cpu_pad_forward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *y, uint32_t n)
{
	struct frame f = frame_of(node, x);
	size_t blocks = cpu_blocks(x);

	#pragma omp parallel for
	for (size_t u = 0; u < n * blocks; u++)
		unit_forward(&f, cpu_at(x, u / blocks, u % blocks), x->pitch, cpu_at(y, u / blocks, u % blocks),
		    y->pitch);
}

void
cpu_pad_backward(const struct graph_node *node, const struct cpu_view *dy, uint32_t ndy, const struct cpu_view *dx,
    uint32_t n)
{
	struct frame f = frame_of(node, dx);
	size_t blocks = cpu_blocks(dx);

	#pragma omp parallel for
	for (size_t u = 0; u < n * blocks; u++) {
		size_t i = u / blocks, k = u % blocks;
		struct side d0 = { cpu_at(&dy[0], i, k), dy[0].pitch }, d1 = { NULL, 0 },
		    to = { cpu_at(dx, i, k), dx->pitch };

		if (ndy > 1)
			d1 = (struct side) { cpu_at(&dy[1], i, k), dy[1].pitch };
		unit_backward(&f, &d0, &d1, &to);
	}
}
