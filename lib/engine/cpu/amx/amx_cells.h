/*
 * amx_cells - the pixels of a chunk as rows and pairs of cells, which tiles multiply (amx_weight.h).
 *
 * Cells outside of a map are zeros.  Rows take about AMX_ROW_COST times as long to copy as pairs, since they are
 * transposed.
 */
#ifndef ENGINE_CPU_AMX_AMX_CELLS_H
#define ENGINE_CPU_AMX_AMX_CELLS_H

#include "engine/cpu/amx/amx_weight.h"

#define AMX_LANES	16u	/* channels of a block */
#define AMX_TILE	32u	/* cells of a tile */
#define AMX_ROW_COST	3u

/* Blocks [row, row + rows) of the channels that are rows, and [pair, pair + pairs) of those that are pairs. */
struct amx_part {
	size_t row, rows, pair, pairs;
};

/* What a thread has of a chunk.  Without a reach there are no pairs of odd cells. */
struct amx_chunk {
	const uint16_t **rows_at, **pairs_at;	/* the pixel of each cell, [planes, line] and [reach + line] */
	uint16_t       *rows;		/* [planes, part.rows, 16, line] */
	uint16_t       *pairs;		/* [2, part.pairs, pairs, 16, 2]: of even cells and the next; of odd ones */
	const uint16_t *zeros;		/* a pixel */
	struct amx_part	part;
};

/* Bytes of a thread's chunk. */
size_t	 amx_cells_bytes(const struct amx_weight *w);
/* Makes the chunk at `at`, which has that many bytes, for this part. */
void	 amx_cells_take(const struct amx_weight *w, void *at, const struct amx_part *part, struct amx_chunk *c);
/* Copies rows [row, end) of the grid, and the pairs that meet them. */
void	 amx_cells_copy(const struct amx_weight *w, const struct dnnl_place *place, size_t row, size_t end,
	     const struct amx_chunk *c);

/* Cells from a pixel of dy to the pixel of x that a tap multiplies it with, in the plane of the tap. */
static inline size_t
amx_cells_distance(const struct amx_weight *w, uint32_t i, uint32_t j)
{
	return i / w->shape.stride[0] * w->pitch + j / w->shape.stride[1];
}

/* The rows of a block of the part for a tap. */
static inline const uint16_t *
amx_cells_rows(const struct amx_weight *w, const struct amx_chunk *c, size_t block, uint32_t i, uint32_t j)
{
	const size_t plane = (size_t)(i % w->shape.stride[0]) * w->planes[1] + j % w->shape.stride[1];

	return c->rows + (plane * c->part.rows + block) * AMX_LANES * w->line;
}

/* The pairs of a block of the part that meet the first cells of rows at a tap. */
static inline const uint16_t *
amx_cells_pairs(const struct amx_weight *w, const struct amx_chunk *c, size_t block, uint32_t i, uint32_t j)
{
	const size_t first = w->reach - amx_cells_distance(w, i, j);

	return c->pairs + ((first % 2 * c->part.pairs + block) * w->pairs + first / 2) * 2 * AMX_LANES;
}

#endif
