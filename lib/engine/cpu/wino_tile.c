/* wino_tile - one body for each width of block and instruction set. */
#include "engine/cpu/wino_tile.h"

#include "base/isa.h"

/* The points and what the formulas make of them; G0, GA, GB: 1 / product of the differences from the other points. */
#define A  0.625f
#define B  1.5f
#define A2 (A * A)
#define B2 (B * B)
#define G0 (1 / (A2 * B2))
#define GA (1 / (2 * A2 * (A2 - B2)))
#define GB (1 / (2 * B2 * (B2 - A2)))

/* A tile: the picture, and its line and column of tiles. */
struct wino_at {
	uint32_t n, y, x;
};

ISA_INLINE struct wino_at
wino_find(const struct wino_map *m, size_t tile)
{
	const size_t picture = (size_t)m->th * m->tw, rest = tile % picture;

	return (struct wino_at) { (uint32_t)(tile / picture), (uint32_t)(rest / m->tw), (uint32_t)(rest % m->tw) };
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

ISA_INLINE uint32_t
wino_least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

#define LANES 8
#include "engine/cpu/wino_lanes.inc"
#define LANES 16
#include "engine/cpu/wino_lanes.inc"

ISA_CLONES(extern, void, wino_tile_x, (uint32_t lanes, const struct wino_map *m, const struct wino_run *r,
    const float *x,
    const struct wino_tiles *v),
    (lanes, m, r, x, v))
{
	if (lanes == 16)
		read_x_16(m, r, x, v);
	else
		read_x_8(m, r, x, v);
}

ISA_CLONES(extern, void, wino_tile_dy, (uint32_t lanes, const struct wino_map *m, const struct wino_run *r,
    const float *dy,
    const struct wino_tiles *v, float *sums),
    (lanes, m, r, dy, v, sums))
{
	if (lanes == 16)
		read_dy_16(m, r, dy, v, sums);
	else
		read_dy_8(m, r, dy, v, sums);
}

ISA_CLONES(extern, void, wino_tile_y, (uint32_t lanes, const struct wino_map *m, const struct wino_run *r,
    const struct wino_tiles *v, const float *bias, bool relu, float *y),
    (lanes, m, r, v, bias, relu, y))
{
	if (lanes == 16)
		write_y_16(m, r, v, bias, relu, y);
	else
		write_y_8(m, r, v, bias, relu, y);
}

ISA_CLONES(extern, void, wino_tile_w, (uint32_t lanes, const struct wino_weights *w, size_t row, size_t column,
    float *u,
    size_t position),
    (lanes, w, row, column, u, position))
{
	if (lanes == 16)
		read_w_16(w, row, column, u, position);
	else
		read_w_8(w, row, column, u, position);
}

ISA_CLONES(extern, void, wino_tile_dw, (uint32_t lanes, const struct wino_sums *u, const struct wino_weights *w,
    size_t row,
    size_t column, float *dw),
    (lanes, u, w, row, column, dw))
{
	if (lanes == 16)
		write_dw_16(u, w, row, column, dw);
	else
		write_dw_8(u, w, row, column, dw);
}
