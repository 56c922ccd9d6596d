/* wino_in - a layer of wino: its tiles, and the sizes of its matrices; private to wino and wino_plan. */
#ifndef ENGINE_CPU_WINO_WINO_IN_H
#define ENGINE_CPU_WINO_WINO_IN_H

#include "engine/cpu/wino/wino.h"
#include "engine/cpu/wino/wino_tile.h"

#define WINO_LINES	6u	/* lines of a tile's positions */
#define WINO_KINDS	4u	/* whole tiles, narrow ones, low ones, and those that are both */

/* The input side of the layer (x and dx), or its output side (y and dy). */
struct wino_side {
	struct wino_map map;
	size_t		channels, line, halves;	/* elements from row to row; halves: of WINO_HALVES */
};

/* Tiles of the batch that have the same points, and how many a thread takes at a time. */
struct wino_kind {
	struct wino_grid grid;
	size_t		 tiles, chunk;
};

/* All tiles of y, or of dx. */
struct wino_kinds {
	struct wino_kind kind[WINO_KINDS];
	uint32_t	 n;
};

struct wino {
	struct dnnl_shape  shape;
	struct dnnl_needs  needs;
	uint32_t	   lanes;
	unsigned	   threads;
	size_t		   pair;	/* rows of weights, or tiles, in one element: 2 in bf16, else 1 */
	struct wino_side   in, out;
	struct wino_kinds  y, dx;	/* those of y serve dw, too */
	size_t		   chunks;	/* chunks of dw, each with about as many tiles of a kind as the others */
	size_t		   rows;	/* most rows of the matrices of such a chunk */
	size_t		   slices;	/* each of whole chunks */
	struct dnnl_place  place;
};

/* Rows that are a multiple of 256 elements apart would all map to a few cache sets. */
static inline size_t
wino_spread(size_t elements)
{
	return elements % 256 == 0 ? elements + 16 : elements;
}

/* Elements of a matrix with this many rows. */
static inline size_t
wino_matrix(size_t rows, const struct wino_side *s)
{
	return wino_spread(rows * s->line);
}

/* Elements of the transformed tiles of one position, of which a product makes those of the other side. */
static inline size_t
wino_tile_matrix(const struct wino *w, size_t tiles, const struct wino_side *s)
{
	return w->shape.bf16 ? wino_spread(tiles * s->halves) : wino_matrix(tiles, s);
}

/* Elements of the transformed weights of one position, with a row for each channel of `in`, or each two. */
static inline size_t
wino_weight_matrix(const struct wino *w, const struct wino_side *in, const struct wino_side *out)
{
	return wino_matrix(in->channels / w->pair, out);
}

/* Floats of the gradients of all positions. */
static inline size_t
wino_gradients(const struct wino *w)
{
	return WINO_POSITIONS * wino_matrix(w->in.channels, &w->out);
}

static inline size_t
wino_weights(const struct wino *w)
{
	return (size_t)w->shape.k * w->shape.c * 9;
}

/* wino_plan.c */
/* Tiles of a kind that come before this chunk of dw. */
size_t	 wino_tiles_before(const struct wino *w, const struct wino_kind *k, size_t chunk);
/* The first chunk of a slice. */
size_t	 wino_slice_begin(const struct wino *w, size_t slice);
/* Elements of one thread's chunk, of any kind. */
size_t	 wino_chunk_elements(const struct wino *w);
/* The same for dw. */
size_t	 wino_lines_elements(const struct wino *w);
/* The most lines of positions that a thread works on at once. */
size_t	 wino_most_lines(const struct wino *w);
/* Floats of the sums of dy over each chunk's tiles of a kind. */
size_t	 wino_bias_sums(const struct wino *w);

#endif
