/*
 * amx_weight - the gradient of a bf16 convolution's weights, in the tiles of AMX.
 *
 *	dw[k, c, i, j] = sum over the pixels p of dy of dy[p, k] x[p at tap (i, j), c]
 *
 * A tile of the product sums over 32 pixels.  It needs the pixels of 16 channels of one map as rows, and those of the
 * other in pairs.  Both are copied so for a chunk of pixels that the cache holds, and used for all taps.  The pixels
 * are cells of a grid, with the padding between them.  In it a tap (i, j) is a distance: i / stride rows, and
 * j / stride cells.  If the stride is not 1, each of the planes of x that are a stride apart has its own grid.  Rows
 * take longer to copy than pairs: they are those of x, but if there is one tap, of the map with fewer channels.
 *
 * Work is cut into slices of the grid and, for each, parts of the rows' and of the pairs' channels.  The sums of the
 * slices are added in f64.  Slices and parts depend on the shape only, so any number of threads gives the same bits.
 *
 * Padding is multiplied, too: if x or dy has an infinity, sums can be NaN that would be infinite, or finite if no tap
 * reads it.
 */
#ifndef ENGINE_CPU_AMX_AMX_WEIGHT_H
#define ENGINE_CPU_AMX_AMX_WEIGHT_H

#include "engine/cpu/dnnl/dnnl.h"

struct amx_weight {
	struct dnnl_shape shape;
	uint32_t oh, ow;		/* sides of y */
	uint32_t planes[2];		/* their number, vertically and horizontally */
	size_t	 pitch, rows;		/* cells of a row of the grid, rows of a sample */
	size_t	 chunk;			/* rows of the grid that are copied at once */
	size_t	 tiles, line;		/* tiles that the cells of a chunk fill; cells of each row in memory */
	size_t	 reach;			/* cells of the pairs before a chunk that meet its rows */
	size_t	 down, across;		/* channels that are rows, and pairs */
	bool	 swapped;		/* the rows are of dy, and the pairs of x */
	size_t	 pairs;			/* pairs of a block in memory */
	size_t	 slices;
	size_t	 cuts[2];		/* into how many parts the rows and the pairs of a slice are cut */
	size_t	 threads;
};

/* Whole blocks of 16 channels.  threads: the caller's omp_get_max_threads(). */
void	 amx_weight_plan(const struct dnnl_shape *shape, size_t threads, struct amx_weight *w);
/* Bytes of scratch. */
size_t	 amx_weight_scratch(const struct amx_weight *w);
/* Writes dw [K,C,R,S] and, with a bias, place->dbias. */
void	 amx_weight_run(const struct amx_weight *w, const struct dnnl_place *place, float *dw);

#endif
