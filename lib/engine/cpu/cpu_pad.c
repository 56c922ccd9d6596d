/* cpu_pad - pads samples with zeros or with their reflection; see ref_pad.c. */
#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_vec.h"

#include <omp.h>
#include <string.h>

/* The layer. */
struct frame {
	size_t h, w, oh, ow;	/* pixels in and out */
	size_t top, left, lanes;
	size_t size;		/* bytes of an element */
	bool   bf16, reflect;
};

/* The index within the sample whose value index i of a padded side has. */
ISA_INLINE size_t
reflect_padded_index(size_t i, size_t pad, size_t size)
{
	return i < pad ? pad - i : i < pad + size ? i - pad : 2 * (size - 1) - (i - pad);
}

ISA_INLINE bool
is_within_side(size_t i, size_t pad, size_t size)
{
	return i >= pad && i < pad + size;
}

/* Copies each pixel of y from its source in x, or fills it with zeros; pitches in elements. */
static void
pad_rows(const struct frame *f, const char *restrict x, size_t pitch, char *restrict y, size_t y_pitch)
{
	size_t bytes = f->lanes * f->size;

	for (size_t i = 0; i < f->oh; i++)
		for (size_t j = 0; j < f->ow; j++, y += y_pitch * f->size) {
			size_t line = reflect_padded_index(i, f->top, f->h);
			size_t column = reflect_padded_index(j, f->left, f->w);

			if (f->reflect || (is_within_side(i, f->top, f->h) && is_within_side(j, f->left, f->w)))
				memcpy(y, x + (line * f->w + column) * pitch * f->size, bytes);
			else
				memset(y, 0, bytes);
		}
}

/* The indices of a padded side that have the value of index i of the sample, in ascending order. */
ISA_INLINE size_t
find_padded_indices(size_t i, size_t pad, size_t size, bool reflect, size_t at[3])
{
	size_t n = 0;

	if (reflect && i > 0 && i <= pad)
		at[n++] = pad - i;
	at[n++] = pad + i;
	if (reflect && i + 1 < size && size - 1 - i <= pad)
		at[n++] = pad + 2 * (size - 1) - i;
	return n;
}

/* Adds the gradients of all copies of each pixel. */
ISA_INLINE void
gather_padded(const struct frame *f, const struct cpu_ptr *d0, const struct cpu_ptr *d1, const struct cpu_ptr *dx,
    bool bf16)
{
	size_t row[3], column[3];

	for (size_t i = 0; i < f->h; i++) {
		size_t rows = find_padded_indices(i, f->top, f->h, f->reflect, row);

		for (size_t j = 0; j < f->w; j++) {
			size_t columns = find_padded_indices(j, f->left, f->w, f->reflect, column);

			for (size_t l = 0; l < f->lanes; l++) {
				float sum = 0;

				for (size_t k = 0; k < rows * columns; k++) {
					size_t at = row[k / columns] * f->ow + column[k % columns];
					float d = cpu_read(d0->p, at * d0->pitch + l, bf16);

					sum += d1->p != NULL ? d + cpu_read(d1->p, at * d1->pitch + l, bf16) : d;
				}
				cpu_write(dx->p, (i * f->w + j) * dx->pitch + l, bf16, sum);
			}
		}
	}
}

ISA_CLONES(static, void, unit_backward, (const struct frame *f, const struct cpu_ptr *d0, const struct cpu_ptr *d1,
    const struct cpu_ptr *dx),
    (f, d0, d1, dx))
{
	if (f->bf16)
		gather_padded(f, d0, d1, dx, true);
	else
		gather_padded(f, d0, d1, dx, false);
}

static struct frame
describe_pad_frame(const struct graph_node *node, const struct cpu_view *in)
{
	return (struct frame) { in->h, in->w, node->h, node->w, node->pad[0], node->pad[1], in->block, cpu_size(in),
	    in->bf16, node->reflect };
}

void
cpu_pad_forward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *y, uint32_t n)
{
	struct frame f = describe_pad_frame(node, x);
	size_t blocks = cpu_blocks(x);

	#pragma omp parallel for
	for (size_t u = 0; u < n * blocks; u++)
		pad_rows(&f, cpu_at(x, u / blocks, u % blocks), x->pitch, cpu_at(y, u / blocks, u % blocks),
		    y->pitch);
}

void
cpu_pad_backward(const struct graph_node *node, const struct cpu_view *dy, uint32_t ndy, const struct cpu_view *dx,
    uint32_t n)
{
	struct frame f = describe_pad_frame(node, dx);
	size_t blocks = cpu_blocks(dx);

	#pragma omp parallel for
	for (size_t u = 0; u < n * blocks; u++) {
		size_t i = u / blocks, k = u % blocks;
		struct cpu_ptr d0 = cpu_ptr(dy, i, k), d1 = cpu_ptr_second(dy, ndy, i, k),
		    to = cpu_ptr(dx, i, k);

		unit_backward(&f, &d0, &d1, &to);
	}
}
