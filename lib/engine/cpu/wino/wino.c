/* wino - transforms chunks of tiles, multiplies them, and transforms the products back. */
#include "engine/cpu/wino/wino_in.h"

#include "base/err.h"
#include "engine/cpu/wino/wino_bf16.h"
#include "engine/cpu/wino/wino_product.h"
#include "engine/share.h"

#include <assert.h>
#include <omp.h>
#include <string.h>

/* ------ weights in ------ */

/* Transforms the weights of all rows. */
static void
transform_weights(const struct wino *w, const struct wino_weights *from, const struct wino_side *in,
    const struct wino_side *out, float *u)
{
	const size_t position = wino_weight_matrix(w, in, out);

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
	return get_canonical_weights(w) + wino_spread(wino_weights(w));
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

	memcpy(get_canonical_weights(w), weights, wino_weights(w) * sizeof(float));
	transform_weights(w, &from, &w->in, &w->out, forward_transformed(w));
}

/* ------ forward and data ------ */

/* to = from convolved with the transformed weights u. */
struct pass {
	const struct wino_side *in, *out;
	const struct wino_kinds *tiles;
	const void	       *from;
	const float	       *u, *bias, *scale, *shift;
	void		       *to;
	uint16_t	       *argmax;		/* NULL: y is not pooled */
	bool			relu;
};

static int
multiply_matrices(const struct wino *w, const struct dnnl_matrices *product, const float *a, const float *b, float *c)
{
	if (!w->shape.bf16)
		return wino_product(product, a, b, c);
	wino_bf16_product(product, (const uint32_t *)a, (const uint32_t *)b, c);
	return 0;
}

/* Have tiles of this kind position i? */
static bool
has_position(const struct wino_kind *k, size_t i)
{
	return wino_has(k->grid.rows, (uint32_t)(i / WINO_LINES)) && wino_has(k->grid.columns, i % WINO_LINES);
}

/* Computes one chunk of tiles on one thread, in the matrices v and m. */
static int
convolve_chunk(const struct wino *w, const struct pass *p, const struct wino_kind *k, size_t first, float *scratch)
{
	const size_t count = wino_min(k->tiles - first, k->chunk);
	const bool bf16 = w->shape.bf16;
	const struct wino_tiles v = { scratch, first, bf16 ? p->in->halves : p->in->line,
		wino_tile_matrix(w, k->chunk, p->in), bf16 ? WINO_HALVES : WINO_FLOATS };
	float *products = scratch + WINO_POSITIONS * v.position;
	const struct wino_tiles m = { products, first, p->out->line, wino_matrix(k->chunk, p->out),
		WINO_FLOATS };
	const struct dnnl_matrices product = { .m = count, .n = p->out->map.blocks * w->lanes,
		.k = p->in->channels / w->pair, .a = v.line, .b = p->out->line, .c = m.line };
	const size_t u_position = wino_weight_matrix(w, p->in, p->out);
	struct wino_run run = { .first = first, .count = count, .lines = WINO_LINES };
	int e = 0;

	for (run.block = 0; run.block < p->in->map.blocks; run.block++)
		wino_tile_x(w->lanes, &p->in->map, &k->grid, &run, p->from, &v);
	for (size_t i = 0; i < WINO_POSITIONS && e == 0; i++)
		if (has_position(k, i))
			e = multiply_matrices(w, &product, scratch + i * v.position, p->u + i * u_position,
			    products + i * m.position);
	for (run.block = 0; run.block < p->out->map.blocks; run.block++) {
		const size_t at = run.block * w->lanes;
		float bias[16] = { 0 };
		const struct wino_after after = { bias, p->scale != NULL ? p->scale + at : NULL,
			p->scale != NULL ? p->shift + at : NULL, p->relu, p->argmax };

		if (p->bias != NULL)
			memcpy(bias, p->bias + at, wino_min(p->out->channels - at, w->lanes) * sizeof(*bias));
		wino_tile_y(w->lanes, &p->out->map, &k->grid, &run, &m, &after, p->to);
	}
	return e;
}

/* The kind with the least done of its tiles, so that chunks of the same samples follow each other. */
static uint32_t
find_next_kind(const struct wino_kinds *tiles, const size_t *done)
{
	uint32_t next = 0;

	for (uint32_t i = 1; i < tiles->n; i++)
		if ((double)done[i] / (double)tiles->kind[i].tiles <
		    (double)done[next] / (double)tiles->kind[next].tiles)
			next = i;
	return next;
}

/* A way through the chunks of all kinds. */
struct walk {
	size_t chunk;			/* the next chunk */
	size_t done[WINO_KINDS];	/* tiles of each kind before it */
};

/* Goes to a chunk and past it.  Returns its kind; *first gets its first tile. */
static const struct wino_kind *
walk_to_chunk(struct walk *walk, const struct wino_kinds *tiles, size_t chunk, size_t *first)
{
	const struct wino_kind *k;

	if (chunk < walk->chunk)
		*walk = (struct walk){ 0 };
	do {
		const uint32_t i = find_next_kind(tiles, walk->done);

		k = &tiles->kind[i];
		*first = walk->done[i];
		walk->done[i] += wino_min(k->tiles - *first, k->chunk);
	} while (walk->chunk++ < chunk);
	return k;
}

static size_t
count_chunks(const struct wino_kinds *tiles)
{
	size_t chunks = 0;

	for (uint32_t i = 0; i < tiles->n; i++)
		chunks += (tiles->kind[i].tiles + tiles->kind[i].chunk - 1) / tiles->kind[i].chunk;
	return chunks;
}

/* Computes the chunks that this thread takes. */
static int
convolve_chunks(const struct wino *w, const struct pass *p, struct share *chunks, float *scratch)
{
	struct walk walk = { 0 };

	SHARE_EACH(chunks, i) {
		size_t first;
		const struct wino_kind *k = walk_to_chunk(&walk, p->tiles, i, &first);

		ERR_TRY(convolve_chunk(w, p, k, first, scratch));
	}
	return 0;
}

static int
convolve_tiles(const struct wino *w, const struct pass *p, float *scratch)
{
	struct share chunks = share_start(count_chunks(p->tiles));
	int e = 0;

	chunks.chunk = 1;
	#pragma omp parallel reduction(min : e)
	e = convolve_chunks(w, p, &chunks, scratch + (size_t)omp_get_thread_num() * wino_chunk_elements(w));
	return e;
}

static int
compute_forward(const struct wino *w)
{
	const struct pass p = { .in = &w->in, .out = &w->out, .tiles = &w->y, .from = w->place.x, .to = w->place.y,
		.u = forward_transformed(w), .bias = w->shape.bias ? w->place.bias : NULL,
		.scale = w->shape.scaled ? w->place.scale : NULL, .shift = w->place.shift, .relu = w->shape.relu,
		.argmax = w->shape.pooled ? w->place.argmax : NULL };

	assert(!w->shape.pooled || w->place.argmax != NULL);
	return convolve_tiles(w, &p, w->place.scratch);
}

static int
compute_data(const struct wino *w)
{
	float *u = w->place.scratch;
	const struct pass p = { .in = &w->out, .out = &w->in, .tiles = &w->dx, .from = w->place.dy, .to = w->place.dx,
		.u = u };
	const struct wino_weights rotated = { .p = get_canonical_weights(w), .row = 9 * (size_t)w->shape.c, .column = 9,
		.columns = w->shape.c, .rotated = true, .pairs = w->shape.bf16 };

	transform_weights(w, &rotated, &w->out, &w->in, u);
	return convolve_tiles(w, &p, u + WINO_POSITIONS * wino_weight_matrix(w, &w->out, &w->in));
}

/* ------ weight ------ */

/* The work of one thread: lines [line, line + lines) of the positions of one slice. */
struct part {
	size_t slice, line, lines;
	float *scratch;		/* [wino_lines_elements()] */
	float *u;		/* the slice's sums, [positions][c][k] */
	float *sums;		/* sums of dy, [chunks][kinds][blocks][lanes] */
};

/* The matrices of a chunk: v of x and d of dy.  Kind i has rows [row[i], row[i + 1]) in them. */
struct operands {
	struct wino_tiles v, d;
	size_t		  row[WINO_KINDS + 1];
};

static struct operands
place_operands(const struct wino *w, const struct part *p)
{
	const enum wino_elements elements = w->shape.bf16 ? WINO_PAIRS : WINO_FLOATS;
	struct operands m = { .v = { .p = p->scratch, .line = w->in.line, .position = wino_matrix(w->rows, &w->in),
		.elements = elements }, .d = { .line = w->out.line, .position = wino_matrix(w->rows, &w->out),
		.elements = elements } };

	m.d.p = p->scratch + p->lines * WINO_LINES * m.v.position;
	return m;
}

/* The matrix from this row on, for tiles from `first` on. */
static struct wino_tiles
cut_tiles(const struct wino_tiles *from, size_t row, size_t first)
{
	struct wino_tiles t = *from;

	t.p = (float *)from->p + row * from->line;
	t.first = first;
	return t;
}

/* Transforms the tiles of kind i in a chunk, after the rows of the kinds before it. */
static void
transform_kind(const struct wino *w, const struct part *p, size_t chunk, uint32_t i, struct operands *m)
{
	const struct wino_kind *k = &w->y.kind[i];
	const size_t first = wino_tiles_before(w, k, chunk), count = wino_tiles_before(w, k, chunk + 1) - first;
	const struct wino_tiles v = cut_tiles(&m->v, m->row[i], first), d = cut_tiles(&m->d, m->row[i], first);
	struct wino_run run = { .first = first, .count = count, .line = p->line, .lines = p->lines };
	float *sums = p->sums + (chunk * w->y.n + i) * w->out.map.blocks * w->lanes;

	for (run.block = 0; run.block < w->in.map.blocks; run.block++)
		wino_tile_x(w->lanes, &w->in.map, &k->grid, &run, w->place.x, &v);
	for (run.block = 0; run.block < w->out.map.blocks; run.block++) {
		float unused[16];	/* the thread of line 0 writes the sums */

		wino_tile_dy(w->lanes, &w->out.map, &k->grid, &run, w->place.dy, &d,
		    p->line == 0 ? sums + run.block * w->lanes : unused);
	}
	m->row[i + 1] = m->row[i] + (count + w->pair - 1) / w->pair;
}

/* Adds the products of the rows that have position i, or with `add` false writes them, to u. */
static int
multiply_position(const struct wino *w, const struct part *p, const struct operands *m, size_t i, bool add, float *u)
{
	const size_t at = i - p->line * WINO_LINES;
	struct dnnl_matrices product = { .m = w->in.channels, .n = w->out.map.blocks * w->lanes, .a = m->v.line,
		.b = m->d.line, .c = w->out.line, .transposed = true, .add = add };
	size_t row = 0;

	for (uint32_t k = 0; k < w->y.n; k++)
		if (has_position(&w->y.kind[k], i)) {
			row = product.k == 0 ? m->row[k] : row;
			product.k = m->row[k + 1] - row;
		}
	if (product.k == 0) {
		if (!add)
			memset(u, 0, product.m * product.c * sizeof(*u));
		return 0;
	}
	return multiply_matrices(w, &product, (float *)m->v.p + at * m->v.position + row * m->v.line,
	    (float *)m->d.p + at * m->d.position + row * m->d.line, u);
}

/* Adds the products of a chunk to the part's sums. */
static int
add_chunk(const struct wino *w, const struct part *p, size_t chunk)
{
	const size_t position = wino_matrix(w->in.channels, &w->out), end = p->line + p->lines;
	const bool add = chunk > wino_slice_begin(w, p->slice);
	struct operands m = place_operands(w, p);
	int e = 0;

	for (uint32_t i = 0; i < w->y.n; i++)
		transform_kind(w, p, chunk, i, &m);
	for (size_t i = p->line * WINO_LINES; i < end * WINO_LINES && e == 0; i++)
		e = multiply_position(w, p, &m, i, add, p->u + i * position);
	return e;
}

static int
add_slice(const struct wino *w, const struct part *p)
{
	const size_t end = wino_slice_begin(w, p->slice + 1);

	for (size_t chunk = wino_slice_begin(w, p->slice); chunk < end; chunk++)
		ERR_TRY(add_chunk(w, p, chunk));
	return 0;
}

/* Computes this thread's part of all slices' lines. */
static int
add_thread_part(const struct wino *w, float *u, float *sums, float *scratch)
{
	const size_t thread = (size_t)omp_get_thread_num(), threads = (size_t)omp_get_num_threads();
	const size_t all = w->slices * WINO_LINES, end = all * (thread + 1) / threads;

	for (size_t i = all * thread / threads; i < end;) {
		const size_t slice = i / WINO_LINES, line = i % WINO_LINES;
		const size_t most = wino_min(WINO_LINES - line, wino_most_lines(w));
		const struct part p = { .slice = slice, .line = line, .lines = wino_min(end - i, most),
			.scratch = scratch + thread * wino_lines_elements(w),
			.u = u + slice * wino_gradients(w), .sums = sums };

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
	    .position = wino_matrix(w->in.channels, &w->out), .slice = wino_gradients(w),
	    .slices = w->slices };

#pragma omp for collapse(2) schedule(static)
	for (size_t block = 0; block < w->out.map.blocks; block++)
		for (size_t row = 0; row < w->in.channels; row++)
			wino_tile_dw(w->lanes, &from, &to, row, block * w->lanes, dw);
}

/* dbias: the sums of all chunks and kinds, in order. */
static void
write_bias(const struct wino *w, const float *sums)
{
	const size_t width = w->out.map.blocks * w->lanes, count = wino_bias_sums(w) / width;

	for (size_t k = 0; k < w->out.channels; k++) {
		double sum = 0;

		for (size_t i = 0; i < count; i++)
			sum += (double)sums[i * width + k];
		w->place.dbias[k] = (float)sum;
	}
}

static int
compute_weight(const struct wino *w, float *dw)
{
	float *u = w->place.scratch, *sums = u + w->slices * wino_gradients(w),
	    *scratch = sums + wino_bias_sums(w);
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
