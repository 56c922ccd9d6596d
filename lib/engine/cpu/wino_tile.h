/*
 * wino_tile - the transforms of Winograd's algorithm F(4x4, 3x3): tiles and weights into 36 numbers and back.
 *
 * By Lavin and Gray, "Fast algorithms for convolutional neural networks", CVPR 2016:
 *
 *	y = A^T [(G w G^T) . (B^T x B)] A,  dw = G^T [(A dy A^T) . (B^T x B)] G
 *
 * A tile of x is 6x6 pixels, one of y or dy 4x4, w 3x3.  The polynomials behind it are evaluated at 0, -5/8, 5/8, -3/2,
 * 3/2 and infinity: errors are half of those at 0, -1, 1, -2, 2 (the paper's), and all factors of A and B are exact.
 * Measured in f32 on 96 channels, against f64, relative L2 error of y and dw: direct 1.4e-7; these points 8e-7, 1.2e-6;
 * the paper's 1.6e-6, 2.6e-6; F(2x2, 3x3) 2.7e-7, 4.2e-7 with 1.8 times the products; F(6x6, 3x3) at 0, -1, 1, -1/2,
 * 1/2,
 * -2, 2 3.0e-6, 4.9e-6 with 0.8 times the products, of 64 numbers a tile, which waste more of small maps.
 *
 * Pictures are blocked, [n, blocks, h, w, lanes] with 8 or 16 lanes.  Tiles are rows of matrices, one for each of the
 * 36 positions: number c of tile t at position p is p[position * p + t * line + c].
 */
#ifndef ENGINE_CPU_WINO_TILE_H
#define ENGINE_CPU_WINO_TILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WINO_POSITIONS 36

/* Pictures cut into tiles, th by tw a picture. */
struct wino_map {
	uint32_t h, w, th, tw;
	size_t	 blocks;
};

/* The matrices of tiles first, first + 1, ... */
struct wino_tiles {
	float  *p;
	size_t	first;
	size_t	line, position;	/* floats from tile to tile and from position to position */
};

/* One block of tiles [first, first + count), and of their 6x6 positions lines [line, line + lines). */
struct wino_run {
	size_t block, first, count;
	size_t line, lines;
};

/* Weights 3x3: nine taps side by side of each row (a channel that comes in) and column (one that goes out). */
struct wino_weights {
	const float *p;
	size_t	     row, column;	/* floats from one to the next */
	size_t	     columns;
	bool	     turned;		/* by 180 degrees: for the gradient of x */
};

/*
 * Transformed gradients of weights: number [row][column] at position p of slice i is u[slice * i +
 * position * p + ...].
 */
struct wino_sums {
	const float *p;
	size_t	     line, position, slice;	/* floats from row to row, position to position and slice to slice */
	size_t	     slices;
};

/* B^T x B. */
void	 wino_tile_x(uint32_t lanes, const struct wino_map *m, const struct wino_run *r, const float *x,
	     const struct wino_tiles *v);
/* A dy A^T; sums [lanes] of dy over the run. */
void	 wino_tile_dy(uint32_t lanes, const struct wino_map *m, const struct wino_run *r, const float *dy,
	     const struct wino_tiles *v, float *sums);
/* y = A^T m A + bias [lanes], and y = max(y, 0) with relu, 0 of NaN. */
void	 wino_tile_y(uint32_t lanes, const struct wino_map *m, const struct wino_run *r, const struct wino_tiles *v,
	     const float *bias, bool relu, float *y);
/* G w G^T of one row and `lanes` columns from `column`; columns past the last give 0. */
void	 wino_tile_w(uint32_t lanes, const struct wino_weights *w, size_t row, size_t column, float *u,
    size_t position);
/* The reverse, G^T u G, of u summed over its slices: into dw, which lies as w says. */
void	 wino_tile_dw(uint32_t lanes, const struct wino_sums *u, const struct wino_weights *w, size_t row,
    size_t column,
	     float *dw);

#endif
