/* wino_tile - the transforms of f32, compiled for each block and instruction set. */
#include "engine/cpu/wino/wino_tile.h"

#include "base/isa.h"
#include "engine/cpu/wino/wino_bf16.h"

#include <string.h>

#define BF16 false
#define LANE_INLINE ISA_INLINE
#define WIDEN(p, v) ((void)(v))
#define WIDEN_HALF(p, v) ((void)(v))
#define ROUND(v, p) ((void)(v))
#define LANES 8
#include "engine/cpu/wino/wino_lanes.inc"
#define LANES 16
#include "engine/cpu/wino/wino_lanes.inc"

#define FOR_LANES(name, ...) \
	if (lanes == 16) \
		name##_16(__VA_ARGS__); \
	else \
		name##_8(__VA_ARGS__)

ISA_CLONES(static, void, transform_x, (uint32_t lanes, const struct wino_map *m, const struct wino_grid *g,
    const struct wino_run *r, const void *x, const struct wino_tiles *v),
    (lanes, m, g, r, x, v))
{
	FOR_LANES(transform_x_all, m, g, r, x, v, WINO_FLOATS, false);
}

ISA_CLONES(static, void, transform_dy, (uint32_t lanes, const struct wino_map *m, const struct wino_grid *g,
    const struct wino_run *r, const void *dy, const struct wino_tiles *v, float *sums),
    (lanes, m, g, r, dy, v, sums))
{
	FOR_LANES(transform_dy_all, m, g, r, dy, v, sums, WINO_FLOATS, false);
}

ISA_CLONES(static, void, transform_y, (uint32_t lanes, const struct wino_map *m, const struct wino_grid *g,
    const struct wino_run *r, const struct wino_tiles *v, const struct wino_after *after, void *y),
    (lanes, m, g, r, v, after, y))
{
	FOR_LANES(transform_y_all, m, g, r, v, after, y, false);
}

ISA_CLONES(static, void, transform_w, (uint32_t lanes, const struct wino_weights *w, size_t row, size_t column,
    size_t position, float *u),
    (lanes, w, row, column, position, u))
{
	FOR_LANES(transform_w, w, row, column, position, u, WINO_FLOATS);
}

ISA_CLONES(extern, void, wino_tile_dw, (uint32_t lanes, const struct wino_sums *u, const struct wino_weights *w,
    size_t row, size_t column, float *dw),
    (lanes, u, w, row, column, dw))
{
	FOR_LANES(transform_dw, u, w, row, column, dw);
}

void
wino_tile_x(uint32_t lanes, const struct wino_map *m, const struct wino_grid *g, const struct wino_run *r,
    const void *x, const struct wino_tiles *v)
{
	if (m->bf16)
		wino_bf16_x(m, g, r, x, v);
	else
		transform_x(lanes, m, g, r, x, v);
}

void
wino_tile_dy(uint32_t lanes, const struct wino_map *m, const struct wino_grid *g, const struct wino_run *r,
    const void *dy, const struct wino_tiles *v, float *sums)
{
	if (m->bf16)
		wino_bf16_dy(m, g, r, dy, v, sums);
	else
		transform_dy(lanes, m, g, r, dy, v, sums);
}

void
wino_tile_y(uint32_t lanes, const struct wino_map *m, const struct wino_grid *g, const struct wino_run *r,
    const struct wino_tiles *v, const struct wino_after *after, void *y)
{
	if (m->bf16)
		wino_bf16_y(m, g, r, v, after, y);
	else
		transform_y(lanes, m, g, r, v, after, y);
}

void
wino_tile_w(uint32_t lanes, const struct wino_weights *w, size_t row, size_t column, size_t position, float *u)
{
	if (w->pairs)
		wino_bf16_w(w, row, column, position, u);
	else
		transform_w(lanes, w, row, column, position, u);
}
