/* wino - transforms chunks of tiles, multiplies them, and transforms the products back. */
#include "engine/cpu/wino/wino.h"

#include "base/err.h"
#include "engine/cpu/wino/wino_bf16.h"
#include "engine/cpu/wino/wino_product.h"
#include "engine/cpu/wino/wino_tile.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES	((size_t)1 << 20)	/* bytes of a thread's matrices, about the size of its cache */
#define BF16_BYTES	((size_t)1 << 18)	/* the same in bf16, where products wait for memory sooner */
#define WEIGHT_BYTES	((size_t)2 << 20)	/* the same for dw, or more if its sums are larger */
#define SLICE_BYTES	((size_t)16 << 20)	/* bytes of all slices' sums together */
#define SLICES		8
#define SLICE_TILES	512
#define LINES		6			/* lines of a tile's positions */

/* The input side of the layer (x and dx), or its output side (y and dy). */
struct side {
	struct wino_map map;
	size_t		channels, line, halves;	/* elements from row to row of tiles; halves: of WINO_HALVES */
};

struct wino {
	struct dnnl_shape  shape;
	struct dnnl_needs  needs;
	uint32_t	   lanes;
	unsigned	   threads;
	size_t		   pair;	/* rows of weights, or tiles, in one element: 2 in bf16, else 1 */
	size_t		   tiles;
	struct side	   in, out;
	size_t		   chunk, weight_chunk;	/* tiles */
	size_t		   slices;	/* number of slices of dw */
	size_t		   slice;	/* tiles of each slice but the last: whole chunks */
	struct dnnl_place  place;
};

/* The matrix units of AMX compute the direct sum faster. */
static bool
does_bf16_pay(const struct dnnl_shape *s)
{
	return dnnl_dev_bf16_pairs() && !s->y_f32 && s->c % 16 == 0 && s->k % 16 == 0;
}

bool
wino_fits(const struct dnnl_shape *s)
{
	const uint32_t least = wino_product_is_own() ? 16 : 32;

	return !s->fc && (!s->bf16 || does_bf16_pay(s)) && !s->channels_last && s->groups == 1 &&
	    s->r == 3 && s->s == 3 && s->stride[0] == 1 && s->stride[1] == 1 && s->pad[0] == 1 && s->pad[1] == 1 &&
	    s->dilate[0] == 1 && s->dilate[1] == 1 && s->c >= least && s->k >= least && s->h >= 3 && s->w >= 3;
}

/* ------ sizes ------ */

/* Rows that are a multiple of 256 elements apart would all map to a few cache sets. */
static size_t
spread_lines(size_t elements)
{
	return elements % 256 == 0 ? elements + 16 : elements;
}

static struct side
describe_side(const struct dnnl_shape *s, uint32_t channels, uint32_t lanes)
{
	size_t blocks = (channels + lanes - 1) / lanes;

	return (struct side) { .map = { .h = s->h, .w = s->w, .th = (s->h + 3) / 4, .tw = (s->w + 3) / 4,
	    .blocks = blocks, .pixel = s->bf16 ? channels : lanes,
	    .block = s->bf16 ? lanes : (size_t)s->h * s->w * lanes, .step = blocks * s->h * s->w * lanes,
	    .bf16 = s->bf16 }, .channels = channels, .line = spread_lines(blocks * lanes),
	    .halves = spread_lines(blocks * lanes / 2) };
}

static size_t
count_matrix_elements(size_t rows, const struct side *s)
{
	return spread_lines(rows * s->line);
}

/* Elements of the transformed tiles of one position, of which a product makes those of the other side. */
static size_t
count_tile_elements(const struct wino *w, size_t tiles, const struct side *s)
{
	return w->shape.bf16 ? spread_lines(tiles * s->halves) : count_matrix_elements(tiles, s);
}

/* Elements of one thread's chunk. */
static size_t
count_chunk_elements(const struct wino *w, size_t tiles)
{
	size_t forward = count_tile_elements(w, tiles, &w->in) + count_matrix_elements(tiles, &w->out);
	size_t data = count_tile_elements(w, tiles, &w->out) + count_matrix_elements(tiles, &w->in);

	return WINO_POSITIONS * (forward > data ? forward : data);
}

/* Elements of the transformed weights of one position, with a row for each channel of `in`, or each two. */
static size_t
count_weight_elements(const struct wino *w, const struct side *in, const struct side *out)
{
	return count_matrix_elements(in->channels / w->pair, out);
}

/* Floats of the gradients of all positions. */
static size_t
count_gradient_floats(const struct wino *w)
{
	return WINO_POSITIONS * count_matrix_elements(w->in.channels, &w->out);
}

/*
 * Tiles of a chunk whose matrices have about this many bytes, where a tile has `tile` elements at each position: at
 * least 32, and a multiple of 4, as products compute 4 rows at once.  All chunks are about equal.
 */
static size_t
choose_chunk(const struct wino *w, size_t tile, size_t bytes)
{
	size_t most = bytes / (WINO_POSITIONS * tile * sizeof(float)), chunks;

	if (most < 32)
		most = 32;
	chunks = (w->tiles + most - 1) / most;
	return ((w->tiles + chunks - 1) / chunks + 3) / 4 * 4;
}

/*
 * Cuts the tiles into slices, each with its own sums, so that threads need not wait for each other.  The number of
 * slices changes the bits, so it depends on the shape only.
 */
static void
choose_slices(struct wino *w)
{
	size_t bytes = count_gradient_floats(w) * sizeof(float), chunks;

	w->weight_chunk = choose_chunk(w, (w->in.line + w->out.line) / w->pair,
	    bytes / 2 > WEIGHT_BYTES ? bytes / 2 : WEIGHT_BYTES);
	chunks = (w->tiles + w->weight_chunk - 1) / w->weight_chunk;
	w->slices = 1;
	while (w->slices < SLICES && 2 * w->slices * bytes <= SLICE_BYTES && w->tiles >= 2 * w->slices * SLICE_TILES)
		w->slices *= 2;
	w->slice = (chunks + w->slices - 1) / w->slices * w->weight_chunk;
	w->slices = (w->tiles + w->slice - 1) / w->slice;
}

/* The most lines of positions that a thread works on at once. */
static size_t
count_most_lines(const struct wino *w)
{
	size_t each = (w->slices * LINES + w->threads - 1) / w->threads;

	return wino_min(each, LINES);
}

/* Elements of one thread's chunk for dw. */
static size_t
count_lines_elements(const struct wino *w)
{
	const size_t rows = w->weight_chunk / w->pair;

	return count_most_lines(w) * LINES *
	    (count_matrix_elements(rows, &w->in) + count_matrix_elements(rows, &w->out));
}

/* Floats of the sums of dy over each chunk. */
static size_t
count_bias_floats(const struct wino *w)
{
	return (w->tiles + w->weight_chunk - 1) / w->weight_chunk * w->out.map.blocks * w->lanes;
}

static size_t
count_weights(const struct wino *w)
{
	return (size_t)w->shape.k * w->shape.c * 9;
}

/* Packed weights are the canonical ones, for dx, and the transformed ones, for y. */
static struct dnnl_needs
needs_of(const struct wino *w)
{
	const char *name = w->shape.bf16 ? "own:wino_4x3_bf16" : "own:wino_4x3";
	size_t pass = w->threads * count_chunk_elements(w, w->chunk) +
	    (w->shape.data ? WINO_POSITIONS * count_weight_elements(w, &w->out, &w->in) : 0);
	size_t weight = w->threads * count_lines_elements(w) + w->slices * count_gradient_floats(w) +
	    count_bias_floats(w);

	return (struct dnnl_needs) { .x_block = w->shape.bf16 ? w->shape.c : w->lanes,
	    .y_block = w->shape.bf16 ? w->shape.k : w->lanes,
	    .packed = (spread_lines(count_weights(w)) + WINO_POSITIONS * count_weight_elements(w, &w->in, &w->out)) *
		sizeof(float),
	    .scratch = (pass > weight ? pass : weight) * sizeof(float),
	    .kernel = { name, w->shape.data ? name : "-", name } };
}

int
wino_new(const struct dnnl_shape *shape, uint32_t block, struct wino **made)
{
	struct wino *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return err_nomem();
	w->shape = *shape;
	w->lanes = block;
	w->threads = (unsigned)omp_get_max_threads();
	w->pair = shape->bf16 ? 2 : 1;
	w->in = describe_side(shape, shape->c, block);
	w->out = describe_side(shape, shape->k, block);
	if (shape->y_step > 0)
		w->out.map.step = shape->y_step;
	w->tiles = (size_t)shape->n * w->in.map.th * w->in.map.tw;
	w->chunk = choose_chunk(w, w->in.line + w->out.line, shape->bf16 ? BF16_BYTES : CHUNK_BYTES);
	choose_slices(w);
	w->needs = needs_of(w);
	*made = w;
	return 0;
}

void
wino_free(struct wino *w)
{
	free(w);
}

const struct dnnl_needs *
wino_needs(const struct wino *w)
{
	return &w->needs;
}

void
wino_bind(struct wino *w, const struct dnnl_place *place)
{
	w->place = *place;
}

/* ------ weights in ------ */

/* Transforms the weights of all rows. */
static void
transform_weights(const struct wino *w, const struct wino_weights *from, const struct side *in, const struct side *out,
    float *u)
{
	const size_t position = count_weight_elements(w, in, out);

	#pragma omp parallel for collapse(2)
	for (size_t row = 0; row < in->channels; row += w->pair)
		for (size_t block = 0; block < out->map.blocks; block++)
			for (size_t i = row; i < row + w->pair; i++)
				wino_tile_w(w->lanes, from, i, block * w->lanes, position,
				    u + row / w->pair * out->line + block * w->lanes);
}

static float *
get_canonical_weights(const struct wino *w)
{
	return w->place.packed;
}

static float *
forward_transformed(const struct wino *w)
{
	return get_canonical_weights(w) + spread_lines(count_weights(w));
}

/* Weights [k, c, 9] as a matrix with a row for each channel of x. */
static struct wino_weights
forward_weights(const struct wino *w, const float *p)
{
	return (struct wino_weights) { .p = p, .row = 9, .column = 9 * (size_t)w->shape.c, .columns = w->shape.k,
	    .pairs = w->shape.bf16 };
}

void
wino_load(struct wino *w, const float *weights)
{
	struct wino_weights from = forward_weights(w, weights);

	memcpy(get_canonical_weights(w), weights, count_weights(w) * sizeof(float));
	transform_weights(w, &from, &w->in, &w->out, forward_transformed(w));
}

/* ------ forward and data ------ */

/* to = from convolved with the transformed weights u. */
struct pass {
	const struct side *in, *out;
	const void	  *from;
	const float	  *u, *bias, *scale, *shift;
	void		  *to;
	bool		   relu;
};

static int
multiply_matrices(const struct wino *w, const struct dnnl_matrices *product, const float *a, const float *b, float *c)
{
	if (!w->shape.bf16)
		return wino_product(product, a, b, c);
	wino_bf16_product(product, (const uint32_t *)a, (const uint32_t *)b, c);
	return 0;
}

/* Computes one chunk of tiles on one thread, in the matrices v and m. */
static int
convolve_chunk(const struct wino *w, const struct pass *p, size_t first, float *scratch)
{
	const size_t count = wino_min(w->tiles - first, w->chunk);
	const bool bf16 = w->shape.bf16;
	const struct wino_tiles v = { scratch, first, bf16 ? p->in->halves : p->in->line,
		count_tile_elements(w, w->chunk, p->in), bf16 ? WINO_HALVES : WINO_FLOATS };
	float *products = scratch + WINO_POSITIONS * v.position;
	const struct wino_tiles m = { products, first, p->out->line, count_matrix_elements(w->chunk, p->out),
		WINO_FLOATS };
	const struct dnnl_matrices product = { .m = count, .n = p->out->map.blocks * w->lanes,
		.k = p->in->channels / w->pair, .a = v.line, .b = p->out->line, .c = m.line };
	const size_t u_position = count_weight_elements(w, p->in, p->out);
	struct wino_run run = { .first = first, .count = count, .lines = LINES };
	int e = 0;

	for (run.block = 0; run.block < p->in->map.blocks; run.block++)
		wino_tile_x(w->lanes, &p->in->map, &run, p->from, &v);
	for (size_t i = 0; i < WINO_POSITIONS && e == 0; i++)
		e = multiply_matrices(w, &product, scratch + i * v.position, p->u + i * u_position,
		    products + i * m.position);
	for (run.block = 0; run.block < p->out->map.blocks; run.block++) {
		const size_t at = run.block * w->lanes;
		float bias[16] = { 0 };
		const struct wino_after after = { bias, p->scale != NULL ? p->scale + at : NULL,
			p->scale != NULL ? p->shift + at : NULL, p->relu };

		if (p->bias != NULL)
			memcpy(bias, p->bias + at, wino_min(p->out->channels - at, w->lanes) * sizeof(*bias));
		wino_tile_y(w->lanes, &p->out->map, &run, &m, &after, p->to);
	}
	return e;
}

static int
convolve_tiles(const struct wino *w, const struct pass *p, float *scratch)
{
	int e = 0;

	#pragma omp parallel for schedule(static) reduction(min : e)
	for (size_t first = 0; first < w->tiles; first += w->chunk) {
		int failed = convolve_chunk(w, p, first,
		    scratch + (size_t)omp_get_thread_num() * count_chunk_elements(w, w->chunk));

		e = failed < e ? failed : e;
	}
	return e;
}

static int
compute_forward(const struct wino *w)
{
	const struct pass p = { .in = &w->in, .out = &w->out, .from = w->place.x, .to = w->place.y,
		.u = forward_transformed(w), .bias = w->shape.bias ? w->place.bias : NULL,
		.scale = w->shape.scaled ? w->place.scale : NULL, .shift = w->place.shift, .relu = w->shape.relu };

	return convolve_tiles(w, &p, w->place.scratch);
}

static int
compute_data(const struct wino *w)
{
	float *u = w->place.scratch;
	const struct pass p = { .in = &w->out, .out = &w->in, .from = w->place.dy, .to = w->place.dx, .u = u };
	const struct wino_weights rotated = { .p = get_canonical_weights(w), .row = 9 * (size_t)w->shape.c, .column = 9,
		.columns = w->shape.c, .rotated = true, .pairs = w->shape.bf16 };

	transform_weights(w, &rotated, &w->out, &w->in, u);
	return convolve_tiles(w, &p, u + WINO_POSITIONS * count_weight_elements(w, &w->out, &w->in));
}

/* ------ weight ------ */

/* The work of one thread: lines [line, line + lines) of the positions of one slice. */
struct part {
	size_t slice, line, lines;
	float *scratch;		/* [count_lines_elements] */
	float *u;		/* the slice's sums, [positions][c][k] */
	float *sums;		/* sums of dy, [chunks][blocks][lanes] */
};

/* Adds the products of tiles [first, first + count) to the part's sums. */
static int
add_chunk(const struct wino *w, const struct part *p, size_t first, size_t count)
{
	const enum wino_elements elements = w->shape.bf16 ? WINO_PAIRS : WINO_FLOATS;
	const size_t rows = w->weight_chunk / w->pair;
	const struct wino_tiles v = { p->scratch, first, w->in.line, count_matrix_elements(rows, &w->in), elements };
	float *gradients = p->scratch + p->lines * LINES * v.position;
	const struct wino_tiles d = { gradients, first, w->out.line, count_matrix_elements(rows, &w->out), elements };
	const struct dnnl_matrices product = { .m = w->in.channels, .n = w->out.map.blocks * w->lanes,
		.k = (count + w->pair - 1) / w->pair,
		.a = v.line, .b = d.line, .c = w->out.line, .transposed = true, .add = first > p->slice * w->slice };
	const size_t position = count_matrix_elements(w->in.channels, &w->out);
	float *sums = p->sums + first / w->weight_chunk * w->out.map.blocks * w->lanes;
	struct wino_run run = { .first = first, .count = count, .line = p->line, .lines = p->lines };
	int e = 0;

	for (run.block = 0; run.block < w->in.map.blocks; run.block++)
		wino_tile_x(w->lanes, &w->in.map, &run, w->place.x, &v);
	for (run.block = 0; run.block < w->out.map.blocks; run.block++) {
		float unused[16];	/* the thread of line 0 writes the sums */

		wino_tile_dy(w->lanes, &w->out.map, &run, w->place.dy, &d,
		    p->line == 0 ? sums + run.block * w->lanes : unused);
	}
	for (size_t i = 0; i < p->lines * LINES && e == 0; i++)
		e = multiply_matrices(w, &product, p->scratch + i * v.position, gradients + i * d.position,
		    p->u + (p->line * LINES + i) * position);
	return e;
}

static int
add_slice(const struct wino *w, const struct part *p)
{
	const size_t end = wino_min((p->slice + 1) * w->slice, w->tiles);

	for (size_t first = p->slice * w->slice; first < end; first += w->weight_chunk)
		ERR_TRY(add_chunk(w, p, first, wino_min(end - first, w->weight_chunk)));
	return 0;
}

/* Computes this thread's part of all slices' lines. */
static int
add_thread_part(const struct wino *w, float *u, float *sums, float *scratch)
{
	const size_t thread = (size_t)omp_get_thread_num(), threads = (size_t)omp_get_num_threads();
	const size_t all = w->slices * LINES, end = all * (thread + 1) / threads;

	for (size_t i = all * thread / threads; i < end;) {
		const size_t slice = i / LINES, line = i % LINES, most = wino_min(LINES - line, count_most_lines(w));
		const struct part p = { .slice = slice, .line = line, .lines = wino_min(end - i, most),
			.scratch = scratch + thread * count_lines_elements(w),
			.u = u + slice * count_gradient_floats(w), .sums = sums };

		ERR_TRY(add_slice(w, &p));
		i += p.lines;
	}
	return 0;
}

static void
write_weights(const struct wino *w, const float *u, float *dw)
{
	const struct wino_weights to = forward_weights(w, NULL);
	const struct wino_sums from = { .p = u, .line = w->out.line,
	    .position = count_matrix_elements(w->in.channels, &w->out), .slice = count_gradient_floats(w),
	    .slices = w->slices };

#pragma omp for collapse(2) schedule(static)
	for (size_t block = 0; block < w->out.map.blocks; block++)
		for (size_t row = 0; row < w->in.channels; row++)
			wino_tile_dw(w->lanes, &from, &to, row, block * w->lanes, dw);
}

/* dbias: the sums of all chunks, in order. */
static void
write_bias(const struct wino *w, const float *sums)
{
	const size_t width = w->out.map.blocks * w->lanes, chunks = count_bias_floats(w) / width;

	for (size_t k = 0; k < w->out.channels; k++) {
		double sum = 0;

		for (size_t i = 0; i < chunks; i++)
			sum += (double)sums[i * width + k];
		w->place.dbias[k] = (float)sum;
	}
}

static int
compute_weight(const struct wino *w, float *dw)
{
	float *u = w->place.scratch, *sums = u + w->slices * count_gradient_floats(w),
	    *scratch = sums + count_bias_floats(w);
	int e = 0;

	#pragma omp parallel reduction(min : e)
	{
		e = add_thread_part(w, u, sums, scratch);
		#pragma omp barrier
		write_weights(w, u, dw);
	}
	if (w->shape.bias)
		write_bias(w, sums);
	return e;
}

int
wino_run(struct wino *w, enum dnnl_direction dir, float *dw)
{
	return dir == DNNL_FORWARD ? compute_forward(w) : dir == DNNL_DATA ? compute_data(w) : compute_weight(w, dw);
}
