/* amx_cells - finds the pixels of a chunk's cells, and copies them. */
#include "engine/cpu/amx/amx_cells.h"

#include "base/isa.h"
#include "engine/memplan.h"

#include <string.h>

typedef uint32_t words __attribute__((vector_size(64), aligned(4), may_alias));

static size_t
count_planes(const struct amx_weight *w)
{
	return (size_t)w->planes[0] * w->planes[1];
}

/* ------ memory ------ */

static size_t
measure_tables(const struct amx_weight *w)
{
	return memplan_round((count_planes(w) * w->line + w->reach + w->line) * sizeof(uint16_t *));
}

/* Bytes of the pairs of the largest part. */
static size_t
measure_pairs(const struct amx_weight *w)
{
	const size_t blocks = (w->across / AMX_LANES + w->cuts[1] - 1) / w->cuts[1];

	return memplan_round((1 + (size_t)(w->reach > 0)) * blocks * w->pairs * 2 * AMX_LANES * sizeof(uint16_t));
}

static size_t
measure_rows(const struct amx_weight *w)
{
	const size_t blocks = (w->down / AMX_LANES + w->cuts[0] - 1) / w->cuts[0];

	return memplan_round(count_planes(w) * blocks * AMX_LANES * w->line * sizeof(uint16_t));
}

static size_t
measure_zeros(const struct amx_weight *w)
{
	return memplan_round((w->shape.c > w->shape.k ? w->shape.c : w->shape.k) * sizeof(uint16_t));
}

size_t
amx_cells_bytes(const struct amx_weight *w)
{
	return measure_zeros(w) + measure_tables(w) + measure_pairs(w) + measure_rows(w);
}

void
amx_cells_take(const struct amx_weight *w, void *at, const struct amx_part *part, struct amx_chunk *c)
{
	char *next = at;

	c->part = *part;
	c->zeros = memset(next, 0, measure_zeros(w));
	next += measure_zeros(w);
	c->rows_at = (const uint16_t **)next;
	c->pairs_at = c->rows_at + count_planes(w) * w->line;
	next += measure_tables(w);
	c->pairs = (uint16_t *)next;
	next += measure_pairs(w);
	c->rows = (uint16_t *)next;
}

/* ------ cells ------ */

/* A map of bf16 with its channels last, and the pixels of it that are in the rows of a grid. */
struct lattice {
	const uint16_t *map;
	uint32_t	channels, h, w;
	uint32_t	step[2];	/* pixels from cell to cell, vertical and horizontal */
	int64_t		first[2];	/* pixel of the first cell of a sample */
};

/* Notes the pixels of cells [i, end) of a row of the grid, or zeros outside of the map. */
static const uint16_t **
locate_row(const struct amx_weight *w, const struct lattice *l, size_t row, size_t i, size_t end, const uint16_t *zeros,
    const uint16_t **to)
{
	const size_t sample = row / w->rows;
	const int64_t y = (int64_t)(row % w->rows * l->step[0]) + l->first[0];
	const bool inside = sample < w->shape.n && y >= 0 && y < (int64_t)l->h;
	const uint16_t *line = inside ? l->map + (sample * l->h + (size_t)y) * l->w * l->channels : zeros;

	for (; i < end; i++) {
		const int64_t x = (int64_t)(i * l->step[1]) + l->first[1];

		*to++ = inside && x >= 0 && x < (int64_t)l->w ? line + (size_t)x * l->channels : zeros;
	}
	return to;
}

static struct lattice
describe_x(const struct amx_weight *w, const struct dnnl_place *place, size_t plane)
{
	const struct dnnl_shape *s = &w->shape;

	return (struct lattice){ .map = place->x, .channels = s->c, .h = s->h, .w = s->w,
		.step = { s->stride[0], s->stride[1] }, .first = { (int64_t)(plane / w->planes[1]) - s->pad[0],
		(int64_t)(plane % w->planes[1]) - s->pad[1] } };
}

static struct lattice
describe_dy(const struct amx_weight *w, const struct dnnl_place *place)
{
	return (struct lattice){ .map = place->dy, .channels = w->shape.k, .h = w->oh, .w = w->ow, .step = { 1, 1 } };
}

/* Notes the pixels of rows [row, end) of the grid in a plane, and zeros after them. */
static void
locate_rows(const struct amx_weight *w, const struct lattice *l, size_t plane, size_t row, size_t end,
    const struct amx_chunk *c)
{
	const uint16_t **to = c->rows_at + plane * w->line, **last = to + w->line;

	for (; row < end; row++)
		to = locate_row(w, l, row, 0, w->pitch, c->zeros, to);
	while (to < last)
		*to++ = c->zeros;
}

/* Notes the pixels of the `reach` cells before a row of the grid and the `line` ones from there on. */
static void
locate_pairs(const struct amx_weight *w, const struct lattice *l, size_t row, const struct amx_chunk *c)
{
	const uint16_t **to = c->pairs_at, **last = to + w->reach + w->line;
	size_t cell = row * w->pitch;

	for (size_t i = cell; i < w->reach; i++)
		*to++ = c->zeros;
	cell = cell < w->reach ? 0 : cell - w->reach;
	for (row = cell / w->pitch, cell %= w->pitch; to < last; row++, cell = 0) {
		const size_t left = (size_t)(last - to), end = left < w->pitch - cell ? cell + left : w->pitch;

		to = locate_row(w, l, row, cell, end, c->zeros, to);
	}
}

/* Notes the pixels of rows [row, end) of the grid, and those of pairs that meet them. */
static void
locate_chunk(const struct amx_weight *w, const struct dnnl_place *place, size_t row, size_t end,
    const struct amx_chunk *c)
{
	const struct lattice dy = describe_dy(w, place);

	for (size_t plane = 0; plane < count_planes(w); plane++) {
		const struct lattice x = describe_x(w, place, plane);

		locate_rows(w, w->swapped ? &dy : &x, plane, row, end, c);
		if (plane == 0)
			locate_pairs(w, w->swapped ? &x : &dy, row, c);
	}
}

/* Exchanges, between vectors i and i + d, the numbers whose index has bit d and those whose index has not. */
#define LOW(d, i)	((i) & (d) ? (i) - (d) + 16 : (i))
#define HIGH(d, i)	((i) & (d) ? (i) + 16 : (i) + (d))
#define MIX(PICK, a, b, d) __builtin_shufflevector(a, b, PICK(d, 0), PICK(d, 1), PICK(d, 2), PICK(d, 3), \
	PICK(d, 4), PICK(d, 5), PICK(d, 6), PICK(d, 7), PICK(d, 8), PICK(d, 9), PICK(d, 10), PICK(d, 11), \
	PICK(d, 12), PICK(d, 13), PICK(d, 14), PICK(d, 15))
#define EXCHANGE(v, d) \
	_Pragma("GCC unroll 16") \
	for (size_t i_ = 0; i_ < 16; i_++) \
		if ((i_ & (d)) == 0) { \
			const words low_ = MIX(LOW, (v)[i_], (v)[i_ + (d)], d); \
			\
			(v)[i_ + (d)] = MIX(HIGH, (v)[i_], (v)[i_ + (d)], d); \
			(v)[i_] = low_; \
		}

/* Copies 16 channels of the cells of a tile to rows: transposes [16, 16] pairs, one bit of the indices at a time. */
ISA_BF16 ISA_INLINE void
copy_rows(const uint16_t *const *at, size_t channel, uint16_t *to, size_t line)
{
	words v[AMX_LANES];

	#pragma GCC unroll 16
	for (size_t i = 0; i < AMX_LANES; i++)
		isa_pair_bf16(at[2 * i] + channel, at[2 * i + 1] + channel, &v[i]);
	EXCHANGE(v, 8)
	EXCHANGE(v, 4)
	EXCHANGE(v, 2)
	EXCHANGE(v, 1)
	#pragma GCC unroll 16
	for (size_t l = 0; l < AMX_LANES; l++)
		*(words *)(to + l * line) = v[l];
}

/* Copies the cells of all planes to rows.  All blocks of a tile come before the next tile, as their pixels are near. */
ISA_BF16 static void
copy_all_rows(const struct amx_weight *w, const struct amx_chunk *c)
{
	const size_t rows = c->part.rows;

	for (size_t plane = 0; plane < count_planes(w); plane++)
		for (size_t cell = 0; cell < w->line; cell += AMX_TILE)
			for (size_t b = 0; b < rows; b++)
				copy_rows(c->rows_at + plane * w->line + cell, (c->part.row + b) * AMX_LANES,
				    c->rows + (plane * rows + b) * AMX_LANES * w->line + cell, w->line);
}

/* Copies each two cells from the first or the second on to pairs, all blocks before the next two cells. */
ISA_BF16 static void
copy_pairs(const struct amx_weight *w, const struct amx_chunk *c, size_t odd)
{
	const size_t blocks = c->part.pairs, block = w->pairs * 2 * AMX_LANES, channel = c->part.pair * AMX_LANES;
	uint16_t *to = c->pairs + odd * blocks * block;

	for (size_t p = odd; p < 2 * w->pairs - odd; p += 2, to += 2 * AMX_LANES)
		for (size_t b = 0; b < blocks; b++)
			isa_pair_bf16(c->pairs_at[p] + channel + b * AMX_LANES,
			    c->pairs_at[p + 1] + channel + b * AMX_LANES, to + b * block);
}

void
amx_cells_copy(const struct amx_weight *w, const struct dnnl_place *place, size_t row, size_t end,
    const struct amx_chunk *c)
{
	locate_chunk(w, place, row, end, c);
	copy_all_rows(w, c);
	copy_pairs(w, c, 0);
	if (w->reach > 0)
		copy_pairs(w, c, 1);
}
