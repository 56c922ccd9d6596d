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

#define LANES 8
#include "engine/cpu/wino/wino_lanes.inc"
#define LANES 16
#include "engine/cpu/wino/wino_lanes.inc"

#define FOR_LANES(name, ...) \
	if (lanes == 16) \
		name##_16(__VA_ARGS__); \
	else \
		name##_8(__VA_ARGS__)

ISA_CLONES(extern, void, wino_tile_x, (uint32_t lanes, const struct wino_map *m, const struct wino_run *r,
    const float *x, const struct wino_tiles *v),
    (lanes, m, r, x, v))
{
	FOR_LANES(transform_x, m, r, x, v);
}

ISA_CLONES(extern, void, wino_tile_dy, (uint32_t lanes, const struct wino_map *m, const struct wino_run *r,
    const float *dy, const struct wino_tiles *v, float *sums),
    (lanes, m, r, dy, v, sums))
{
	FOR_LANES(transform_dy, m, r, dy, v, sums);
}

ISA_CLONES(extern, void, wino_tile_y, (uint32_t lanes, const struct wino_map *m, const struct wino_run *r,
    const struct wino_tiles *v, const struct wino_after *after, float *y),
    (lanes, m, r, v, after, y))
{
	FOR_LANES(transform_y, m, r, v, after, y);
}

ISA_CLONES(extern, void, wino_tile_w, (uint32_t lanes, const struct wino_weights *w, size_t row, size_t column,
    size_t position, float *u),
    (lanes, w, row, column, position, u))
{
	FOR_LANES(transform_w, w, row, column, position, u);
}

ISA_CLONES(extern, void, wino_tile_dw, (uint32_t lanes, const struct wino_sums *u, const struct wino_weights *w,
    size_t row, size_t column, float *dw),
    (lanes, u, w, row, column, dw))
{
	FOR_LANES(transform_dw, u, w, row, column, dw);
}
