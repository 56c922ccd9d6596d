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
#define ELEMENT uint32_t
#define SUM isa_bf16_sums
#define DOT(sum, a, b) isa_dot_bf16(&(sum), a, b)
#include "engine/cpu/wino/wino_block.inc"

ISA_BF16 void
wino_bf16_product(const struct dnnl_matrices *s, const uint32_t *a, const uint32_t *b, float *c)
{
	multiply_matrices(s, a, b, c);
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
	if (wino_is_narrow(m, r->block))
		transform_narrow_y(m, g, r, v, after, y);
	else
		transform_y_all_16(m, g, r, v, after, y, false);
}

ISA_BF16 void
wino_bf16_w(const struct wino_weights *w, size_t row, size_t column, size_t position, float *u)
{
	transform_w_16(w, row, column, position, u, WINO_PAIRS);
}
