/* wino_plan - which layers fit, and how tiles are divided into kinds, chunks and slices. */
#include "engine/cpu/wino/wino_in.h"

#include "base/err.h"
#include "engine/cpu/wino/wino_product.h"

#include <omp.h>
#include <stdlib.h>

#define CHUNK_BYTES	((size_t)1 << 20)	/* bytes of a thread's matrices, about the size of its cache */
#define BF16_BYTES	((size_t)1 << 18)	/* for y and dx in bf16, which wait for memory sooner */
#define SLICE_BYTES	((size_t)16 << 20)	/* bytes of all slices' sums together */
#define SLICES		8
#define SLICE_TILES	512

/* The matrix units of AMX compute the direct sum faster. */
static bool
does_bf16_pay(const struct dnnl_shape *s)
{
	return dnnl_dev_bf16_pairs() && !s->y_f32 && s->c % 8 == 0 && s->k % 8 == 0;
}

bool
wino_fits(const struct dnnl_shape *s)
{
	const uint32_t least = wino_product_is_own() ? 16 : 32;

	return !s->fc && (!s->bf16 || does_bf16_pay(s)) && !s->channels_last && s->groups == 1 &&
	    s->r == 3 && s->s == 3 && s->stride[0] == 1 && s->stride[1] == 1 && s->pad[0] == 1 && s->pad[1] == 1 &&
	    s->dilate[0] == 1 && s->dilate[1] == 1 && s->c >= least && s->k >= least && s->h >= 3 && s->w >= 3;
}

bool
wino_pools(const struct dnnl_shape *s)
{
	return wino_fits(s) && s->bf16 && !s->scaled && !s->plus && !s->relu;
}

static struct wino_side
describe_side(const struct dnnl_shape *s, uint32_t channels, uint32_t lanes)
{
	size_t blocks = (channels + lanes - 1) / lanes;

	return (struct wino_side) { .map = { .h = s->h, .w = s->w, .blocks = blocks,
	    .pixel = s->bf16 ? channels : lanes, .block = s->bf16 ? lanes : (size_t)s->h * s->w * lanes,
	    .step = (size_t)s->h * s->w * (s->bf16 ? channels : blocks * lanes), .bf16 = s->bf16,
	    .narrow = s->bf16 && channels % lanes > 0 }, .channels = channels,
	    .line = wino_spread(blocks * lanes), .halves = wino_spread(blocks * lanes / 2) };
}

/* ------ tiles ------ */

/* The points of a tile with this many pixels of y in a direction. */
static uint32_t
count_points(uint32_t pixels)
{
	return pixels > 3 ? 6 : pixels > 2 ? 5 : 4;
}

static void
add_kind(struct wino_kinds *to, uint32_t n, struct wino_grid grid)
{
	size_t tiles = (size_t)n * grid.th * grid.tw;

	if (tiles > 0)
		to->kind[to->n++] = (struct wino_kind) { .grid = grid, .tiles = tiles };
}

/*
 * Whole tiles, and if 4 does not divide a side, those at its end.  In this order the kinds that have a position follow
 * each other.
 */
static void
choose_kinds(struct wino_kinds *to, uint32_t n, uint32_t h, uint32_t w)
{
	const uint32_t th = h / 4, tw = w / 4, lines = h % 4, columns = w % 4;

	add_kind(to, n, (struct wino_grid) { 0, tw, th, columns > 0, 6, count_points(columns) });
	add_kind(to, n, (struct wino_grid) { 0, 0, th, tw, 6, 6 });
	add_kind(to, n, (struct wino_grid) { th, 0, lines > 0, tw, count_points(lines), 6 });
	add_kind(to, n, (struct wino_grid) { th, tw, lines > 0, columns > 0, count_points(lines),
	    count_points(columns) });
}

/* With `pooled`, an odd last line or column is in no window: it is not computed, and its dy is 0. */
static void
choose_tiles(struct wino *w)
{
	const struct dnnl_shape *s = &w->shape;

	choose_kinds(&w->y, s->n, s->pooled ? s->h / 2 * 2 : s->h, s->pooled ? s->w / 2 * 2 : s->w);
	choose_kinds(&w->dx, s->n, s->h, s->w);
}

/*
 * Tiles of a chunk whose matrices have about this many bytes, where a tile has `tile` elements at each position: at
 * least 32, and a multiple of 4, as products compute 4 rows at once.  All chunks of these tiles are about equal.
 */
static size_t
choose_chunk(size_t positions, size_t tiles, size_t tile, size_t bytes)
{
	size_t most = bytes / (positions * tile * sizeof(float)), chunks;

	if (most < 32)
		most = 32;
	chunks = (tiles + most - 1) / most;
	return ((tiles + chunks - 1) / chunks + 3) / 4 * 4;
}

static void
choose_chunks(const struct wino *w, struct wino_kinds *tiles)
{
	for (struct wino_kind *k = tiles->kind; k < tiles->kind + tiles->n; k++)
		k->chunk = choose_chunk(k->grid.rows * k->grid.columns, k->tiles, w->in.line + w->out.line,
		    w->shape.bf16 ? BF16_BYTES : CHUNK_BYTES);
}

static size_t
count_tiles(const struct wino *w)
{
	size_t tiles = 0;

	for (uint32_t i = 0; i < w->y.n; i++)
		tiles += w->y.kind[i].tiles;
	return tiles;
}

size_t
wino_tiles_before(const struct wino *w, const struct wino_kind *k, size_t chunk)
{
	return k->tiles * chunk / w->chunks;
}

size_t
wino_slice_begin(const struct wino *w, size_t slice)
{
	return w->chunks * slice / w->slices;
}

/*
 * Cuts the tiles into slices, each with its own sums, so that threads need not wait for each other.  The number of
 * slices changes the bits, so it depends on the shape only.  A chunk has tiles of all kinds: the sums, which are larger
 * than its tiles, would be read and written for each kind.  It takes at least half as many bytes as a slice's sums.
 */
static void
choose_slices(struct wino *w)
{
	const size_t bytes = wino_gradients(w) * sizeof(float), tiles = count_tiles(w);
	size_t each, chunk;

	w->slices = 1;
	while (w->slices < SLICES && 2 * w->slices * bytes <= SLICE_BYTES && tiles >= 2 * w->slices * SLICE_TILES)
		w->slices *= 2;
	each = (tiles + w->slices - 1) / w->slices;
	chunk = choose_chunk(WINO_POSITIONS, each, (w->in.line + w->out.line) / w->pair,
	    bytes / 2 > CHUNK_BYTES ? bytes / 2 : CHUNK_BYTES);
	w->chunks = (each + chunk - 1) / chunk * w->slices;
	for (uint32_t i = 0; i < w->y.n; i++) {
		const size_t most = (w->y.kind[i].tiles + w->chunks - 1) / w->chunks;

		w->rows += (most + w->pair - 1) / w->pair;
	}
}

/* ------ memory ------ */

size_t
wino_chunk_elements(const struct wino *w)
{
	size_t most = 0;

	for (uint32_t i = 0; i < w->y.n; i++) {
		const size_t tiles = w->y.kind[i].chunk;
		const size_t forward = wino_tile_matrix(w, tiles, &w->in) + wino_matrix(tiles, &w->out);

		most = forward > most ? forward : most;
	}
	for (uint32_t i = 0; i < w->dx.n; i++) {
		const size_t tiles = w->dx.kind[i].chunk;
		const size_t data = wino_tile_matrix(w, tiles, &w->out) + wino_matrix(tiles, &w->in);

		most = data > most ? data : most;
	}
	return WINO_POSITIONS * most;
}

size_t
wino_most_lines(const struct wino *w)
{
	return wino_min((w->slices * WINO_LINES + w->threads - 1) / w->threads, WINO_LINES);
}

size_t
wino_lines_elements(const struct wino *w)
{
	return wino_most_lines(w) * WINO_LINES * (wino_matrix(w->rows, &w->in) + wino_matrix(w->rows, &w->out));
}

size_t
wino_bias_sums(const struct wino *w)
{
	return w->chunks * w->y.n * w->out.map.blocks * w->lanes;
}

/* Packed weights are the canonical ones, for dx, and the transformed ones, for y. */
static struct dnnl_needs
needs_of(const struct wino *w)
{
	const char *name = w->shape.bf16 ? "own:wino_4x3_bf16" : "own:wino_4x3";
	size_t pass = w->threads * wino_chunk_elements(w) +
	    (w->shape.data ? WINO_POSITIONS * wino_weight_matrix(w, &w->out, &w->in) : 0);
	size_t weight = w->threads * wino_lines_elements(w) + w->slices * wino_gradients(w) +
	    wino_bias_sums(w);

	return (struct dnnl_needs) { .x_block = w->shape.bf16 ? w->shape.c : w->lanes,
	    .y_block = w->shape.bf16 ? w->shape.k : w->lanes,
	    .packed = (wino_spread(wino_weights(w)) + WINO_POSITIONS * wino_weight_matrix(w, &w->in, &w->out)) *
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
	choose_tiles(w);
	choose_chunks(w, &w->y);
	choose_chunks(w, &w->dx);
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
