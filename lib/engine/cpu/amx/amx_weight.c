/* amx_weight - plans the parts of the work, multiplies the cells of chunks, and adds the sums. */
#include "engine/cpu/amx/amx_weight.h"

#include "base/isa.h"
#include "engine/cpu/amx/amx_cells.h"
#include "engine/memplan.h"

#include <omp.h>
#include <string.h>

#define SUMS		(AMX_LANES * AMX_LANES)	/* sums of a tile */
#define CELLS		320u	/* cells of a chunk, about: the first cache holds those of four blocks */
#define PART_BYTES	786432u	/* bytes of a part's sums, about, which the second cache holds beside a chunk */
#define TASKS		16u	/* slices, each in parts */
#define ALL_BYTES	33554432u	/* the most bytes of all slices' sums, if there is more than one slice */

typedef uint32_t words __attribute__((vector_size(64), aligned(4), may_alias));
typedef float floats __attribute__((vector_size(64), aligned(4), may_alias));

static size_t
divide_up(size_t a, size_t b)
{
	return (a + b - 1) / b;
}

/* ------ plan ------ */

static size_t
count_taps(const struct amx_weight *w)
{
	return (size_t)w->shape.r * w->shape.s;
}

static size_t
count_sums(const struct amx_weight *w)
{
	return count_taps(w) * w->shape.c * w->shape.k;
}

/*
 * Cells of a line of the grid that has `out` outputs.  Without a stride the padding after a line is that before the
 * next one.
 */
static size_t
count_cells(uint32_t in, uint32_t out, uint32_t taps, uint32_t stride, uint32_t pad)
{
	return stride == 1 ? (size_t)in + pad : (size_t)out + (taps - 1) / stride;
}

static size_t
count_parts(const struct amx_weight *w)
{
	return w->cuts[0] * w->cuts[1];
}

/* May the channels be cut into twice as many parts, each of two blocks, as a product takes two? */
static bool
may_cut(size_t channels, size_t cuts)
{
	return 4 * cuts * AMX_LANES <= channels;
}

/*
 * Cuts the sums into parts.  A part copies its own rows and pairs.  So twice as many parts of the rows copy the pairs
 * twice as often, and the reverse.  The cheaper cut comes first.
 */
static void
cut_parts(struct amx_weight *w)
{
	const size_t rows_cost = (size_t)AMX_ROW_COST * w->planes[0] * w->planes[1] * w->down;
	const size_t pairs_cost = w->across * (1 + (w->reach > 0));

	w->cuts[0] = w->cuts[1] = 1;
	while (count_parts(w) < TASKS && count_sums(w) * sizeof(float) > count_parts(w) * PART_BYTES) {
		const bool down = may_cut(w->down, w->cuts[0]), across = may_cut(w->across, w->cuts[1]);

		if (!down && !across)
			break;
		if (!across || (down && w->cuts[0] * pairs_cost <= w->cuts[1] * rows_cost))
			w->cuts[0] *= 2;
		else
			w->cuts[1] *= 2;
	}
}

void
amx_weight_plan(const struct dnnl_shape *s, size_t threads, struct amx_weight *w)
{
	const bool swapped = s->r == 1 && s->s == 1 && !s->bias && s->k < s->c;
	size_t chunks;

	*w = (struct amx_weight){ .shape = *s, .oh = dnnl_layer_side(s, 0), .ow = dnnl_layer_side(s, 1),
		.planes = { s->r < s->stride[0] ? s->r : s->stride[0], s->s < s->stride[1] ? s->s : s->stride[1] },
		.swapped = swapped, .down = swapped ? s->k : s->c, .across = swapped ? s->c : s->k,
		.threads = threads };
	w->pitch = count_cells(s->w, w->ow, s->s, s->stride[1], s->pad[1]);
	w->rows = count_cells(s->h, w->oh, s->r, s->stride[0], s->pad[0]);
	w->chunk = CELLS > w->pitch ? CELLS / w->pitch : 1;
	if (w->chunk > s->n * w->rows)
		w->chunk = s->n * w->rows;
	w->tiles = divide_up(w->chunk * w->pitch, AMX_TILE);
	/* An odd number of cache lines, so that 16 rows are in different sets of the cache. */
	w->line = (w->tiles | 1) * AMX_TILE;
	w->reach = divide_up(amx_cells_distance(w, s->r - 1, s->s - 1), AMX_TILE) * AMX_TILE;
	w->pairs = (w->reach + w->line) / 2;
	cut_parts(w);
	chunks = divide_up(s->n * w->rows, w->chunk);
	w->slices = chunks < TASKS / count_parts(w) ? chunks : TASKS / count_parts(w);
	while (w->slices > 1 && w->slices * count_sums(w) * sizeof(float) > ALL_BYTES)
		w->slices /= 2;
}

static size_t
measure_sums(const struct amx_weight *w)
{
	return w->slices * memplan_round(count_sums(w) * sizeof(float));
}

static size_t
measure_bias(const struct amx_weight *w)
{
	return w->shape.bias ? w->slices * memplan_round(w->shape.k * sizeof(double)) : 0;
}

size_t
amx_weight_scratch(const struct amx_weight *w)
{
	return measure_sums(w) + measure_bias(w) + w->threads * amx_cells_bytes(w);
}

/* The sums of a slice for the bias, [k]. */
static double *
get_bias_sums(const struct amx_weight *w, const struct dnnl_place *place, size_t slice)
{
	return (double *)((char *)place->scratch + measure_sums(w) +
	    slice * memplan_round(w->shape.k * sizeof(double)));
}

/* The calling thread's memory for a chunk. */
static void *
get_chunk(const struct amx_weight *w, const struct dnnl_place *place)
{
	return (char *)place->scratch + measure_sums(w) + measure_bias(w) +
	    (size_t)omp_get_thread_num() * amx_cells_bytes(w);
}

/* Part (down, across) of the cuts. */
static struct amx_part
get_part(const struct amx_weight *w, size_t down, size_t across)
{
	const size_t rows = w->down / AMX_LANES, pairs = w->across / AMX_LANES;
	struct amx_part part = { .row = rows * down / w->cuts[0], .pair = pairs * across / w->cuts[1] };

	part.rows = rows * (down + 1) / w->cuts[0] - part.row;
	part.pairs = pairs * (across + 1) / w->cuts[1] - part.pair;
	return part;
}

/* The part that has this block of rows and this one of pairs. */
static struct amx_part
locate_part(const struct amx_weight *w, size_t row, size_t pair)
{
	const size_t rows = w->down / AMX_LANES, pairs = w->across / AMX_LANES;

	return get_part(w, ((row + 1) * w->cuts[0] - 1) / rows, ((pair + 1) * w->cuts[1] - 1) / pairs);
}

/* The sums of a part in a slice, [part->rows, taps, part->pairs, 16, 16]. */
static float *
get_sums(const struct amx_weight *w, const struct dnnl_place *place, size_t slice, const struct amx_part *part)
{
	float *sums = (float *)((char *)place->scratch + slice * memplan_round(count_sums(w) * sizeof(float)));

	return sums + (part->row * (w->across / AMX_LANES) + part->rows * part->pair) * count_taps(w) * SUMS;
}

/* ------ sums ------ */

/*
 * Adds the products of a chunk for two blocks of rows and two of pairs, if there are two, to a part's sums, or writes
 * them: for the taps at an even distance, or those at an odd one.
 */
ISA_TILES static void
add_products(const struct amx_weight *w, const struct amx_chunk *c, size_t row, size_t pair, size_t odd, bool add,
    float *sums)
{
	struct isa_tiles t = { .a_row = w->line * sizeof(uint16_t), .tiles = w->tiles, .add = add,
		.two_a = row + 1 < c->part.rows, .two_b = pair + 1 < c->part.pairs };

	for (uint32_t tap = 0; tap < count_taps(w); tap++) {
		const uint32_t down = tap / w->shape.s, right = tap % w->shape.s;

		if (amx_cells_distance(w, down, right) % 2 != odd)
			continue;
		for (size_t i = 0; i < 1 + (size_t)t.two_a; i++)
			t.a[i] = amx_cells_rows(w, c, row + i, down, right);
		for (size_t j = 0; j < 1 + (size_t)t.two_b; j++) {
			t.b[j] = amx_cells_pairs(w, c, pair + j, down, right);
			for (size_t i = 0; i < 1 + (size_t)t.two_a; i++)
				t.sum[i][j] = sums +
				    (((row + i) * count_taps(w) + tap) * c->part.pairs + pair + j) * SUMS;
		}
		isa_tiles_sum(&t);
	}
}

/* Adds the products of a chunk to a part's sums.  The first cache holds the pairs of two blocks for all rows. */
ISA_TILES static void
multiply_rows(const struct amx_weight *w, const struct amx_chunk *c, bool add, float *sums)
{
	for (size_t pair = 0; pair < c->part.pairs; pair += 2)
		for (size_t odd = 0; odd < 2; odd++)
			for (size_t row = 0; row < c->part.rows; row += 2)
				add_products(w, c, row, pair, odd, add, sums);
}

/* Adds some cells of dy, which are pairs, from the first one of rows on, to the sums [part.pairs, 16] of the bias. */
ISA_BF16 static void
sum_bias_cells(const struct amx_weight *w, const struct amx_chunk *c, size_t cells, double *sums)
{
	for (size_t b = 0; b < c->part.pairs; b++) {
		const words *pair = (const words *)(const void *)c->pairs + b * w->pairs + w->reach / 2;
		floats even = { 0 }, odd = { 0 };

		for (size_t i = 0; i < cells; i += 2) {
			even += (floats)(pair[i / 2] << 16);
			if (i + 1 < cells)
				odd += (floats)(pair[i / 2] & 0xffff0000);
		}
		for (size_t l = 0; l < AMX_LANES; l++)
			sums[b * AMX_LANES + l] += (double)even[l] + (double)odd[l];
	}
}

/* The sums of a slice's chunks for a part, and with the first rows those of the bias. */
ISA_TILES static void
compute_slice(const struct amx_weight *w, const struct dnnl_place *place, size_t slice, const struct amx_part *part)
{
	const size_t chunks = divide_up(w->shape.n * w->rows, w->chunk);
	const size_t first = chunks * slice / w->slices, last = chunks * (slice + 1) / w->slices;
	const bool bias = w->shape.bias && part->row == 0;
	double *bias_sums = bias ? get_bias_sums(w, place, slice) + part->pair * AMX_LANES : NULL;
	struct amx_chunk c;

	if (bias)
		memset(bias_sums, 0, part->pairs * AMX_LANES * sizeof(double));
	amx_cells_take(w, get_chunk(w, place), part, &c);
	isa_tiles_begin();
	for (size_t i = first; i < last; i++) {
		const size_t row = i * w->chunk, end = row + w->chunk;

		amx_cells_copy(w, place, row, end, &c);
		multiply_rows(w, &c, i > first, get_sums(w, place, slice, part));
		if (bias)
			sum_bias_cells(w, &c, (end - row) * w->pitch, bias_sums);
	}
	isa_tiles_end();
}

/* Adds the sums of the other slices for a tap of a block of rows and one of pairs to those at `first`, in slice 0. */
ISA_BF16 static void
add_slices(const struct amx_weight *w, float *first)
{
	const size_t apart = memplan_round(count_sums(w) * sizeof(float)) / sizeof(float);
	double sum[SUMS] = { 0 };

	for (size_t slice = 0; slice < w->slices; slice++)
		for (size_t i = 0; i < SUMS; i++)
			sum[i] += (double)first[slice * apart + i];
	for (size_t i = 0; i < SUMS; i++)
		first[i] = (float)sum[i];
}

/* dw for a block of rows and one of pairs. */
ISA_BF16 static void
join_block(const struct amx_weight *w, const struct dnnl_place *place, size_t row, size_t pair, float *dw)
{
	const struct amx_part part = locate_part(w, row, pair);
	const size_t taps = count_taps(w), tap = part.pairs * SUMS;
	float *sums = get_sums(w, place, 0, &part) + (row - part.row) * taps * tap + (pair - part.pair) * SUMS;
	const size_t c_apart = w->swapped ? 1 : AMX_LANES, k_apart = w->swapped ? AMX_LANES : 1;
	const size_t k = (w->swapped ? row : pair) * AMX_LANES, c = (w->swapped ? pair : row) * AMX_LANES;

	for (size_t t = 0; t < taps && w->slices > 1; t++)
		add_slices(w, sums + t * tap);
	for (size_t i = 0; i < AMX_LANES; i++) {
		float *to = dw + ((k + i) * w->shape.c + c) * taps;

		for (size_t j = 0; j < AMX_LANES; j++)
			for (size_t t = 0; t < taps; t++)
				*to++ = sums[t * tap + j * c_apart + i * k_apart];
	}
}

static void
join_bias(const struct amx_weight *w, const struct dnnl_place *place)
{
	for (size_t k = 0; k < w->shape.k; k++) {
		double sum = 0;

		for (size_t slice = 0; slice < w->slices; slice++)
			sum += get_bias_sums(w, place, slice)[k];
		place->dbias[k] = (float)sum;
	}
}

void
amx_weight_run(const struct amx_weight *w, const struct dnnl_place *place, float *dw)
{
	const size_t rows = w->down / AMX_LANES, pairs = w->across / AMX_LANES;

	#pragma omp parallel num_threads((int)w->threads)
	{
		#pragma omp for schedule(dynamic)
		for (size_t i = 0; i < w->slices * count_parts(w); i++) {
			const size_t p = i % count_parts(w);
			const struct amx_part part = get_part(w, p / w->cuts[1], p % w->cuts[1]);

			compute_slice(w, place, i / count_parts(w), &part);
		}
		#pragma omp for schedule(static)
		for (size_t i = 0; i < rows * pairs; i++)
			join_block(w, place, i / pairs, i % pairs, dw);
	}
	if (w->shape.bias)
		join_bias(w, place);
}
