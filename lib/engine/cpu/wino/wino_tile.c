/* wino_tile - the transforms, compiled for each block and instruction set. */
#include "engine/cpu/wino/wino_tile.h"

#include "base/isa.h"

/* The points 0, A, -A, B and -B.  G0, GA and GB are 1 / the product of a point's differences from the others. */
#define A  0.625f
#define B  1.5f
#define A2 (A * A)
#define B2 (B * B)
#define G0 (1 / (A2 * B2))
#define GA (1 / (2 * A2 * (A2 - B2)))
#define GB (1 / (2 * B2 * (B2 - A2)))

/* A tile: sample n, line y and column x of tiles. */
struct wino_at {
	uint32_t n, y, x;
};

ISA_INLINE struct wino_at
wino_find(const struct wino_map *m, size_t tile)
{
	const size_t tiles = (size_t)m->th * m->tw, rest = tile % tiles;

	return (struct wino_at) { (uint32_t)(tile / tiles), (uint32_t)(rest / m->tw), (uint32_t)(rest % m->tw) };
}

ISA_INLINE void
wino_next(const struct wino_map *m, struct wino_at *at)
{
	if (++at->x < m->tw)
		return;
	at->x = 0;
	if (++at->y < m->th)
		return;
	at->y = 0;
	at->n++;
}

/* Each element of v becomes the upper half of one of 32 bits. */
#define WIDEN_8(none, v) __builtin_shufflevector(none, v, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15)
#define WIDEN_16(none, v) \
	__builtin_shufflevector(none, v, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, \
	    11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

#define LANES 8
#include "engine/cpu/wino/wino_lanes.inc"
#define LANES 16
#include "engine/cpu/wino/wino_lanes.inc"

#define FOR_LANES(name, ...) \
	if (lanes == 16) \
		name##_16(__VA_ARGS__); \
	else \
		name##_8(__VA_ARGS__)

/* The last two arguments of the transforms are constants, so that the compiler removes the branches on them. */
ISA_CLONES(extern, void, wino_tile_x, (uint32_t lanes, const struct wino_map *m, const struct wino_run *r,
    const void *x, const struct wino_tiles *v),
    (lanes, m, r, x, v))
{
	if (!m->bf16) {
		FOR_LANES(transform_x, m, r, x, v, false, WINO_FLOATS);
	} else if (v->elements == WINO_HALVES)
		transform_x_16(m, r, x, v, true, WINO_HALVES);
	else
		transform_x_16(m, r, x, v, true, WINO_PAIRS);
}

ISA_CLONES(extern, void, wino_tile_dy, (uint32_t lanes, const struct wino_map *m, const struct wino_run *r,
    const void *dy, const struct wino_tiles *v, float *sums),
    (lanes, m, r, dy, v, sums))
{
	if (m->bf16) {
		transform_dy_16(m, r, dy, v, sums, true, WINO_PAIRS);
		return;
	}
	FOR_LANES(transform_dy, m, r, dy, v, sums, false, WINO_FLOATS);
}

ISA_CLONES(extern, void, wino_tile_y, (uint32_t lanes, const struct wino_map *m, const struct wino_run *r,
    const struct wino_tiles *v, const struct wino_after *after, void *y),
    (lanes, m, r, v, after, y))
{
	if (m->bf16) {
		transform_y_16(m, r, v, after, y, true);
		return;
	}
	FOR_LANES(transform_y, m, r, v, after, y, false);
}

ISA_CLONES(extern, void, wino_tile_w, (uint32_t lanes, const struct wino_weights *w, size_t row, size_t column,
    size_t position, float *u),
    (lanes, w, row, column, position, u))
{
	if (w->pairs) {
		transform_w_16(w, row, column, position, u, WINO_PAIRS);
		return;
	}
	FOR_LANES(transform_w, w, row, column, position, u, WINO_FLOATS);
}

ISA_CLONES(extern, void, wino_tile_dw, (uint32_t lanes, const struct wino_sums *u, const struct wino_weights *w,
    size_t row, size_t column, float *dw),
    (lanes, u, w, row, column, dw))
{
	FOR_LANES(transform_dw, u, w, row, column, dw);
}
