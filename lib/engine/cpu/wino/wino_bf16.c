/*
 * wino_bf16 - the transforms of bf16, and products of pairs of it.
 *
 * They are compiled once, as only processors with avx512_bf16 use them.  x and y are rounded to nearest, ties to even,
 * and numbers below the normal ones become 0, as that instruction set rounds them.
 */
#include "engine/cpu/wino/wino_bf16.h"

#include "base/isa.h"

#include <string.h>

#define LANES 16
#define BF16 true
#define LANE_INLINE ISA_BF16 ISA_INLINE
#define WIDEN(p, v) isa_load_bf16(p, v)
#define WIDEN_HALF(p, v) isa_load_half_bf16(p, v)
#define ROUND(v, p) isa_store_bf16(v, p)
#include "engine/cpu/wino/wino_lanes.inc"

#define BLOCK_INLINE ISA_BF16 ISA_INLINE
#define BLOCK(name) name##_bf16
#define LANES 16
#define VECTORS 3
#define ROWS(vectors) ((vectors) == 1 ? 16u : (vectors) == 2 ? 12u : 8u)
#define ELEMENT uint32_t
#define SUM isa_bf16_sums
#define DOT(sum, a, b) isa_dot_bf16(&(sum), a, b)
#include "engine/cpu/wino/wino_block.inc"

ISA_BF16 void
wino_bf16_product(const struct dnnl_matrices *s, const uint32_t *a, const uint32_t *b, float *c)
{
	multiply_matrices_bf16(s, a, b, c);
}

/*
 * Each kind of element, and whether a block is narrow, is a constant, so that the compiler removes the branches on it.
 * Narrow blocks have functions of their own, which leave the others as short as they would be without them.
 */
ISA_BF16 __attribute__((noinline)) static void
transform_narrow_x(const struct wino_map *m, const struct wino_grid *g, const struct wino_run *r, const void *x,
    const struct wino_tiles *v)
{
	if (v->elements == WINO_HALVES)
		transform_x_all_16(m, g, r, x, v, WINO_HALVES, true);
	else
		transform_x_all_16(m, g, r, x, v, WINO_PAIRS, true);
}

ISA_BF16 __attribute__((noinline)) static void
transform_narrow_dy(const struct wino_map *m, const struct wino_grid *g, const struct wino_run *r, const void *dy,
    const struct wino_tiles *v, float *sums)
{
	transform_dy_all_16(m, g, r, dy, v, sums, WINO_PAIRS, true);
}

ISA_BF16 __attribute__((noinline)) static void
transform_narrow_y(const struct wino_map *m, const struct wino_grid *g, const struct wino_run *r,
    const struct wino_tiles *v, const struct wino_after *after, void *y)
{
	transform_y_all_16(m, g, r, v, after, y, true);
}

/* The maxima of two lines of pixels, in windows of 2x2.  y and argmax point to the first window's. */
LANE_INLINE void
pool_lines(const vec_16 *upper, const vec_16 *lower, size_t windows, bool narrow, size_t pixel, uint16_t *y,
    uint16_t *argmax)
{
	#pragma GCC unroll 2
	for (size_t j = 0; j < 2 && j < windows; j++, upper += 2, lower += 2, y += pixel, argmax += pixel) {
		uint16_t all[2][LANES];

		if (narrow) {
			isa_store_max_bf16(upper, lower, all[0], all[1]);
			memcpy(y, all[0], sizeof(all[0]) / 2);
			memcpy(argmax, all[1], sizeof(all[1]) / 2);
		} else
			isa_store_max_bf16(upper, lower, y, argmax);
	}
}

LANE_INLINE void
transform_pooled(const struct wino_map *m, const struct wino_grid *g, const struct wino_run *r,
    const struct wino_tiles *v, const struct wino_after *after, uint16_t *y, bool narrow)
{
	const vec_16 bias = *(const vec_16 *)after->bias;
	const size_t h = m->h / 2, w = m->w / 2;
	struct wino_at at = wino_find(g, r->first);

	for (size_t k = r->first; k < r->first + r->count; k++, wino_next(g, &at)) {
		const float *from = row_16(v, k, r->block);
		const size_t lines = wino_min(2, h - 2 * at.y), windows = wino_min(2, w - 2 * at.x);
		vec_16 half[24], row[8];

		#pragma GCC unroll 6
		for (size_t j = 0; j < 6; j++)
			output_16(g->rows, (const vec_16 *)(from + j * v->position), 6 * v->position / LANES, half + j,
			    6);
		#pragma GCC unroll 2
		for (size_t i = 0; i < 2 && i < lines; i++) {
			const size_t to = ((at.n * h + 2 * at.y + i) * w + 2 * at.x) * m->pixel + r->block * m->block;

			output_16(g->columns, half + 12 * i, 1, row, 1);
			output_16(g->columns, half + 12 * i + 6, 1, row + 4, 1);
			#pragma GCC unroll 8
			for (size_t j = 0; j < 8; j++)
				row[j] += bias;
			pool_lines(row, row + 4, windows, narrow, m->pixel, y + to, after->argmax + to);
		}
	}
}

/* The same, where the compiler removes the branches on points for tiles of all six. */
ISA_BF16 __attribute__((noinline)) static void
transform_pooled_y(const struct wino_map *m, const struct wino_grid *g, const struct wino_run *r,
    const struct wino_tiles *v, const struct wino_after *after, void *y)
{
	const struct wino_grid six = wino_six(g);

	if (wino_is_narrow(m, r->block))
		transform_pooled(m, g, r, v, after, y, true);
	else if (g->rows == 6 && g->columns == 6)
		transform_pooled(m, &six, r, v, after, y, false);
	else
		transform_pooled(m, g, r, v, after, y, false);
}

ISA_BF16 void
wino_bf16_x(const struct wino_map *m, const struct wino_grid *g, const struct wino_run *r, const void *x,
    const struct wino_tiles *v)
{
	if (wino_is_narrow(m, r->block))
		transform_narrow_x(m, g, r, x, v);
	else if (v->elements == WINO_HALVES)
		transform_x_all_16(m, g, r, x, v, WINO_HALVES, false);
	else
		transform_x_all_16(m, g, r, x, v, WINO_PAIRS, false);
}

ISA_BF16 void
wino_bf16_dy(const struct wino_map *m, const struct wino_grid *g, const struct wino_run *r, const void *dy,
    const struct wino_tiles *v, float *sums)
{
	if (wino_is_narrow(m, r->block))
		transform_narrow_dy(m, g, r, dy, v, sums);
	else
		transform_dy_all_16(m, g, r, dy, v, sums, WINO_PAIRS, false);
}

ISA_BF16 void
wino_bf16_y(const struct wino_map *m, const struct wino_grid *g, const struct wino_run *r,
    const struct wino_tiles *v, const struct wino_after *after, void *y)
{
	if (after->argmax != NULL)
		transform_pooled_y(m, g, r, v, after, y);
	else if (wino_is_narrow(m, r->block))
		transform_narrow_y(m, g, r, v, after, y);
	else
		transform_y_all_16(m, g, r, v, after, y, false);
}

ISA_BF16 void
wino_bf16_w(const struct wino_weights *w, size_t row, size_t column, size_t position, float *u)
{
	transform_w_16(w, row, column, position, u, WINO_PAIRS);
}
