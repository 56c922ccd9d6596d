/*
 * wino_tile - the transforms of Winograd's algorithm F(4x4, 3x3), between tiles or weights and 36 numbers.
 *
 * Source: Lavin and Gray, "Fast algorithms for convolutional neural networks", CVPR 2016:
 *
 *	y = A^T [(G w G^T) . (B^T x B)] A,  dw = G^T [(A dy A^T) . (B^T x B)] G
 *
 * A tile of x is 6x6 pixels, one of y or dy 4x4, w 3x3.  The polynomials are evaluated at 0, -5/8, 5/8, -3/2, 3/2 and
 * infinity.  Errors are half of those with the paper's points 0, -1, 1, -2, 2, and all factors of A and B are exact.
 * Relative L2 errors of y and dw in f32 on 96 channels, against f64:
 *
 *	direct convolution			1.4e-7
 *	F(4x4, 3x3), these points		8e-7, 1.2e-6
 *	F(4x4, 3x3), the paper's points		1.6e-6, 2.6e-6
 *	F(2x2, 3x3), 1.8 times the products	2.7e-7, 4.2e-7
 *	F(6x6, 3x3), 0.8 times the products	3.0e-6, 4.9e-6 (points 0, -1, 1, -1/2, 1/2, -2, 2)
 *
 * F(6x6, 3x3) also wastes more of small maps.
 *
 * Activations in f32 are blocked, [n, blocks, h, w, lanes] with 8 or 16 lanes; in bf16 they are [n, h, w, channels],
 * whose channels are a multiple of half of the 16 lanes.  Tiles are rows of matrices, one matrix for each of the 36
 * positions: channel c of tile t at position p is the element p * position + t * line + c.  In bf16 an element of 32
 * bits has a pair: of channels (WINO_HALVES), or of tiles or rows (WINO_PAIRS), the even one in the lower half.
 */
#ifndef ENGINE_CPU_WINO_WINO_TILE_H
#define ENGINE_CPU_WINO_WINO_TILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WINO_POSITIONS 36

/* What the elements of a matrix are. */
enum wino_elements {
	WINO_FLOATS,
	WINO_HALVES,	/* two channels of a tile: 16 bits each, side by side */
	WINO_PAIRS,	/* a channel of two tiles, or of two rows of weights */
};

/* The samples. */
struct wino_map {
	uint32_t h, w;
	size_t	 blocks;
	size_t	 pixel, block, step;	/* elements from one pixel, block and sample to the next */
	bool	 bf16;
	bool	 narrow;	/* the last block has half as many channels as lanes */
};

/*
 * Tiles of one kind: th by tw of each sample, of which the first is tile (top, left).  rows and columns: the points of
 * a tile in each direction (wino_lines.inc).  Tiles of fewer than 6 points are the last ones of a side that 4 does not
 * divide; they have fewer products.
 */
struct wino_grid {
	uint32_t top, left, th, tw, rows, columns;
};

/* The matrices of the tiles from `first` on. */
struct wino_tiles {
	void   *p;
	size_t	first;
	size_t	line, position;	/* elements of 32 bits from row to row and from position to position */
	enum wino_elements elements;
};

/* Block `block` of tiles [first, first + count), and lines [line, line + lines) of their 6x6 positions. */
struct wino_run {
	size_t block, first, count;
	size_t line, lines;
};

/* What follows the transform of y: + bias, then scale y + shift unless scale is NULL, then with relu max(y, 0). */
struct wino_after {
	const float *bias, *scale, *shift;	/* [lanes] */
	bool	     relu;			/* 0 for NaN */
	uint16_t    *argmax;			/* if not NULL, y is pooled as in dnnl.h; bf16 only, and bias alone */
};

/* Weights 3x3: nine adjacent taps for each row (input channel) and column (output channel). */
struct wino_weights {
	const float *p;
	size_t	     row, column;	/* floats from one to the next */
	size_t	     columns;
	bool	     rotated;		/* by 180 degrees, for dx */
	bool	     pairs;		/* the transformed ones are WINO_PAIRS; row 2 i comes before 2 i + 1 */
};

/* Transformed gradients of weights.  Slice i, position j, row r, column c is at slice i + position j + line r + c. */
struct wino_sums {
	const float *p;
	size_t	     line, position, slice;	/* floats from one to the next */
	size_t	     slices;
};

/* Whether a block has half as many channels as lanes. */
static inline bool
wino_is_narrow(const struct wino_map *m, size_t block)
{
	return m->narrow && block + 1 == m->blocks;
}

static inline size_t
wino_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* A tile: sample n, line y and column x of tiles. */
struct wino_at {
	uint32_t n, y, x;
};

static inline struct wino_at
wino_find(const struct wino_grid *g, size_t tile)
{
	const size_t tiles = (size_t)g->th * g->tw, rest = tile % tiles;

	return (struct wino_at) { (uint32_t)(tile / tiles), g->top + (uint32_t)(rest / g->tw),
		g->left + (uint32_t)(rest % g->tw) };
}

static inline void
wino_next(const struct wino_grid *g, struct wino_at *at)
{
	if (++at->x < g->left + g->tw)
		return;
	at->x = g->left;
	if (++at->y < g->top + g->th)
		return;
	at->y = g->top;
	at->n++;
}

/* Has a tile of this many points in a direction the point with this index? */
static inline bool
wino_has(uint32_t points, uint32_t index)
{
	return points == 6 || (points == 5 ? index != 0 : index != 1 && index != 2);
}

/* The same grid with points that the compiler knows. */
static inline struct wino_grid
wino_six(const struct wino_grid *g)
{
	return (struct wino_grid) { g->top, g->left, g->th, g->tw, 6, 6 };
}

/* B^T x B. */
void	 wino_tile_x(uint32_t lanes, const struct wino_map *m, const struct wino_grid *g, const struct wino_run *r,
	     const void *x, const struct wino_tiles *v);
/* A dy A^T.  sums [lanes] gets the sums of dy over the run. */
void	 wino_tile_dy(uint32_t lanes, const struct wino_map *m, const struct wino_grid *g, const struct wino_run *r,
	     const void *dy, const struct wino_tiles *v, float *sums);
/* y = A^T m A, and then what follows it. */
void	 wino_tile_y(uint32_t lanes, const struct wino_map *m, const struct wino_grid *g, const struct wino_run *r,
	     const struct wino_tiles *v, const struct wino_after *after, void *y);
/* G w G^T of one row and `lanes` columns from `column` on; columns past the last give 0. */
void	 wino_tile_w(uint32_t lanes, const struct wino_weights *w, size_t row, size_t column,
	     size_t position, float *u);
/* dw = G^T u G, with u summed over its slices.  w describes the layout of dw. */
void	 wino_tile_dw(uint32_t lanes, const struct wino_sums *u, const struct wino_weights *w, size_t row,
	     size_t column, float *dw);

#endif
