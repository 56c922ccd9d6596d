/* amx_weight - copies the pixels of chunks, multiplies them, and adds the sums. */
#include "engine/cpu/amx/amx_weight.h"

#include "base/isa.h"
#include "engine/memplan.h"

#include <omp.h>
#include <string.h>

#define LANES		16u	/* channels of a block */
#define TILE		32u	/* cells of a tile */
#define SUMS		(LANES * LANES)	/* sums of a tile */
#define CELLS		320u	/* cells of a chunk, about: the first cache holds those of four blocks */
#define PART_BYTES	786432u	/* bytes of a part's sums, about, which the second cache holds beside a chunk */
#define TASKS		16u	/* slices, each in parts */
#define ALL_BYTES	33554432u	/* the most bytes of all slices' sums, if there is more than one slice */

typedef uint32_t words __attribute__((vector_size(64), aligned(4), may_alias));
typedef float floats __attribute__((vector_size(64), aligned(4), may_alias));

/* Blocks [first, first + blocks) of the channels that are rows. */
struct part {
	size_t first, blocks;
};

/* What a thread has of a chunk.  Elements of the tables are a cell's pixel, or zeros. */
struct chunk {
	const uint16_t **rows_at, **pairs_at;	/* [planes, line], [reach + line] */
	uint16_t       *rows;		/* [planes, blocks of the part 16, line] */
	uint16_t       *pairs;		/* [2, blocks, pairs, 16, 2]: of even cells and the next, and of odd ones */
	const uint16_t *zeros;		/* a pixel */
	struct part	part;
};

static size_t
get_max(size_t a, size_t b)
{
	return a > b ? a : b;
}

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
count_planes(const struct amx_weight *w)
{
	return (size_t)w->planes[0] * w->planes[1];
}

static size_t
count_sums(const struct amx_weight *w)
{
	return count_taps(w) * w->shape.c * w->shape.k;
}

/* Cells from a pixel of dy to the pixel of x that a tap multiplies it with, in the plane of the tap. */
static size_t
find_distance(const struct amx_weight *w, uint32_t i, uint32_t j)
{
	return i / w->shape.stride[0] * w->pitch + j / w->shape.stride[1];
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
	w->chunk = get_max(CELLS / w->pitch, 1);
	if (w->chunk > s->n * w->rows)
		w->chunk = s->n * w->rows;
	w->tiles = divide_up(w->chunk * w->pitch, TILE);
	/* An odd number of cache lines, so that 16 rows are in different sets of the cache. */
	w->line = (w->tiles | 1) * TILE;
	w->reach = divide_up(find_distance(w, s->r - 1, s->s - 1), TILE) * TILE;
	w->pairs = (w->reach + w->line) / 2;
	for (w->parts = 1; w->parts < TASKS && 2 * w->parts * LANES <= w->down &&
	    count_sums(w) * sizeof(float) > w->parts * PART_BYTES; w->parts *= 2)
		;
	chunks = divide_up(s->n * w->rows, w->chunk);
	w->slices = chunks < TASKS / w->parts ? chunks : TASKS / w->parts;
	while (w->slices > 1 && w->slices * count_sums(w) * sizeof(float) > ALL_BYTES)
		w->slices /= 2;
}

static size_t
measure_tables(const struct amx_weight *w)
{
	return memplan_round((count_planes(w) * w->line + w->reach + w->line) * sizeof(uint16_t *));
}

static size_t
measure_pairs(const struct amx_weight *w)
{
	return memplan_round(4 * w->across * w->pairs * sizeof(uint16_t));
}

/* Bytes of a thread's chunk: the tables, rows, pairs and zeros. */
static size_t
measure_chunk(const struct amx_weight *w)
{
	const size_t blocks = divide_up(w->down / LANES, w->parts);

	return measure_tables(w) + measure_pairs(w) +
	    memplan_round(count_planes(w) * blocks * LANES * w->line * sizeof(uint16_t)) +
	    memplan_round(get_max(w->shape.c, w->shape.k) * sizeof(uint16_t));
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
	return measure_sums(w) + measure_bias(w) + w->threads * measure_chunk(w);
}

/* The sums of a slice, [blocks of rows, taps, blocks of pairs, 16, 16]. */
static float *
get_sums(const struct amx_weight *w, const struct dnnl_place *place, size_t slice)
{
	return (float *)((char *)place->scratch + slice * memplan_round(count_sums(w) * sizeof(float)));
}

/* Those of the bias, [k]. */
static double *
get_bias_sums(const struct amx_weight *w, const struct dnnl_place *place, size_t slice)
{
	return (double *)((char *)place->scratch + measure_sums(w) +
	    slice * memplan_round(w->shape.k * sizeof(double)));
}

static struct part
cut_part(const struct amx_weight *w, size_t i)
{
	const size_t blocks = w->down / LANES, first = blocks * i / w->parts;

	return (struct part){ first, blocks * (i + 1) / w->parts - first };
}

/* The calling thread's memory. */
static struct chunk
take_chunk(const struct amx_weight *w, const struct dnnl_place *place, struct part part)
{
	char *at = (char *)place->scratch + measure_sums(w) + measure_bias(w) +
	    (size_t)omp_get_thread_num() * measure_chunk(w);
	const size_t pixel = get_max(w->shape.c, w->shape.k) * sizeof(uint16_t);
	struct chunk c = { .part = part };

	c.zeros = memset(at, 0, pixel);
	at += memplan_round(pixel);
	c.rows_at = (const uint16_t **)at;
	c.pairs_at = c.rows_at + count_planes(w) * w->line;
	at += measure_tables(w);
	c.pairs = (uint16_t *)at;
	at += measure_pairs(w);
	c.rows = (uint16_t *)at;
	return c;
}

/* ------ cells ------ */

/* A map of bf16 with its channels last, and the pixels of it that are in the rows of a grid. */
struct lattice {
	const uint16_t *map;
	uint32_t	channels, h, w;
	uint32_t	step[2];	/* pixels from cell to cell, vertical and horizontal */
	int64_t		first[2];	/* pixel of the first cell of a sample */
};

/* Notes the pixels of cells [i, end) of a row of the grid, or zeros outside of the map. */
static const uint16_t **
locate_row(const struct amx_weight *w, const struct lattice *l, size_t row, size_t i, size_t end, const uint16_t *zeros,
    const uint16_t **to)
{
	const size_t sample = row / w->rows;
	const int64_t y = (int64_t)(row % w->rows * l->step[0]) + l->first[0];
	const bool inside = sample < w->shape.n && y >= 0 && y < (int64_t)l->h;
	const uint16_t *line = inside ? l->map + (sample * l->h + (size_t)y) * l->w * l->channels : zeros;

	for (; i < end; i++) {
		const int64_t x = (int64_t)(i * l->step[1]) + l->first[1];

		*to++ = inside && x >= 0 && x < (int64_t)l->w ? line + (size_t)x * l->channels : zeros;
	}
	return to;
}

static struct lattice
describe_x(const struct amx_weight *w, const struct dnnl_place *place, size_t plane)
{
	const struct dnnl_shape *s = &w->shape;

	return (struct lattice){ .map = place->x, .channels = s->c, .h = s->h, .w = s->w,
		.step = { s->stride[0], s->stride[1] }, .first = { (int64_t)(plane / w->planes[1]) - s->pad[0],
		(int64_t)(plane % w->planes[1]) - s->pad[1] } };
}

static struct lattice
describe_dy(const struct amx_weight *w, const struct dnnl_place *place)
{
	return (struct lattice){ .map = place->dy, .channels = w->shape.k, .h = w->oh, .w = w->ow, .step = { 1, 1 } };
}

/* Notes the pixels of rows [row, end) of the grid in a plane, and zeros after them. */
static void
locate_rows(const struct amx_weight *w, const struct lattice *l, size_t plane, size_t row, size_t end,
    const struct chunk *c)
{
	const uint16_t **to = c->rows_at + plane * w->line, **last = to + w->line;

	for (; row < end; row++)
		to = locate_row(w, l, row, 0, w->pitch, c->zeros, to);
	while (to < last)
		*to++ = c->zeros;
}

/* Notes the pixels of the `reach` cells before a row of the grid and the `line` ones from there on. */
static void
locate_pairs(const struct amx_weight *w, const struct lattice *l, size_t row, const struct chunk *c)
{
	const uint16_t **to = c->pairs_at, **last = to + w->reach + w->line;
	size_t cell = row * w->pitch;

	for (size_t i = cell; i < w->reach; i++)
		*to++ = c->zeros;
	cell = cell < w->reach ? 0 : cell - w->reach;
	for (row = cell / w->pitch, cell %= w->pitch; to < last; row++, cell = 0) {
		const size_t left = (size_t)(last - to), end = left < w->pitch - cell ? cell + left : w->pitch;

		to = locate_row(w, l, row, cell, end, c->zeros, to);
	}
}

/* Notes the pixels of rows [row, end) of the grid, and those of pairs that meet them. */
static void
locate_chunk(const struct amx_weight *w, const struct dnnl_place *place, size_t row, size_t end, const struct chunk *c)
{
	const struct lattice dy = describe_dy(w, place);

	for (size_t plane = 0; plane < count_planes(w); plane++) {
		const struct lattice x = describe_x(w, place, plane);

		locate_rows(w, w->swapped ? &dy : &x, plane, row, end, c);
		if (plane == 0)
			locate_pairs(w, w->swapped ? &x : &dy, row, c);
	}
}

/* Exchanges, between vectors i and i + d, the numbers whose index has bit d and those whose index has not. */
#define LOW(d, i)	((i) & (d) ? (i) - (d) + 16 : (i))
#define HIGH(d, i)	((i) & (d) ? (i) + 16 : (i) + (d))
#define MIX(PICK, a, b, d) __builtin_shufflevector(a, b, PICK(d, 0), PICK(d, 1), PICK(d, 2), PICK(d, 3), \
	PICK(d, 4), PICK(d, 5), PICK(d, 6), PICK(d, 7), PICK(d, 8), PICK(d, 9), PICK(d, 10), PICK(d, 11), \
	PICK(d, 12), PICK(d, 13), PICK(d, 14), PICK(d, 15))
#define EXCHANGE(v, d) \
	_Pragma("GCC unroll 16") \
	for (size_t i_ = 0; i_ < 16; i_++) \
		if ((i_ & (d)) == 0) { \
			const words low_ = MIX(LOW, (v)[i_], (v)[i_ + (d)], d); \
			\
			(v)[i_ + (d)] = MIX(HIGH, (v)[i_], (v)[i_ + (d)], d); \
			(v)[i_] = low_; \
		}

/* Copies 16 channels of the cells of a tile to rows: transposes [16, 16] pairs, one bit of the indices at a time. */
ISA_BF16 ISA_INLINE void
copy_rows(const uint16_t *const *at, size_t channel, uint16_t *to, size_t line)
{
	words v[LANES];

	#pragma GCC unroll 16
	for (size_t i = 0; i < LANES; i++)
		isa_pair_bf16(at[2 * i] + channel, at[2 * i + 1] + channel, &v[i]);
	EXCHANGE(v, 8)
	EXCHANGE(v, 4)
	EXCHANGE(v, 2)
	EXCHANGE(v, 1)
	#pragma GCC unroll 16
	for (size_t l = 0; l < LANES; l++)
		*(words *)(to + l * line) = v[l];
}

/* Copies 16 channels of two cells at a time to pairs. */
ISA_BF16 ISA_INLINE void
copy_pairs(const uint16_t *const *at, size_t channel, size_t pairs, uint16_t *to)
{
	for (size_t p = 0; p < pairs; p++)
		isa_pair_bf16(at[2 * p] + channel, at[2 * p + 1] + channel, to + p * 2 * LANES);
}

/* Copies the cells of all planes to rows, and the others to pairs. */
ISA_BF16 static void
copy_chunk(const struct amx_weight *w, const struct chunk *c)
{
	for (size_t plane = 0; plane < count_planes(w); plane++)
		for (size_t b = 0; b < c->part.blocks; b++)
			for (size_t cell = 0; cell < w->line; cell += TILE)
				copy_rows(c->rows_at + plane * w->line + cell, (c->part.first + b) * LANES,
				    c->rows + (plane * c->part.blocks + b) * LANES * w->line + cell, w->line);
	for (size_t odd = 0; odd < 1 + (size_t)(w->reach > 0); odd++)
		for (size_t b = 0; b < w->across / LANES; b++)
			copy_pairs(c->pairs_at + odd, b * LANES, w->pairs - odd,
			    c->pairs + (odd * w->across / LANES + b) * w->pairs * 2 * LANES);
}

/* ------ sums ------ */

/* The rows of a block for a tap. */
static const uint16_t *
find_rows(const struct amx_weight *w, const struct chunk *c, size_t block, uint32_t i, uint32_t j)
{
	const size_t plane = (size_t)(i % w->shape.stride[0]) * w->planes[1] + j % w->shape.stride[1];

	return c->rows + (plane * c->part.blocks + block) * LANES * w->line;
}

/* The pairs of a block that meet the first cells of rows at a tap. */
static const uint16_t *
find_pairs(const struct amx_weight *w, const struct chunk *c, size_t block, uint32_t i, uint32_t j)
{
	const size_t first = w->reach - find_distance(w, i, j);

	return c->pairs + ((first % 2 * w->across / LANES + block) * w->pairs + first / 2) * 2 * LANES;
}

/*
 * Adds the products of a chunk for two blocks of rows and two of pairs, if there are two, to a part's sums, or writes
 * them: for the taps at an even distance, or those at an odd one.
 */
ISA_TILES static void
add_products(const struct amx_weight *w, const struct chunk *c, size_t row, size_t pair, size_t odd, bool add,
    float *sums)
{
	const size_t blocks = w->across / LANES;
	struct isa_tiles t = { .a_row = w->line * sizeof(uint16_t), .tiles = w->tiles, .add = add,
		.two_a = row + 1 < c->part.blocks, .two_b = pair + 1 < blocks };

	for (uint32_t tap = 0; tap < count_taps(w); tap++) {
		const uint32_t down = tap / w->shape.s, right = tap % w->shape.s;

		if (find_distance(w, down, right) % 2 != odd)
			continue;
		for (size_t i = 0; i < 1 + (size_t)t.two_a; i++)
			t.a[i] = find_rows(w, c, row + i, down, right);
		for (size_t j = 0; j < 1 + (size_t)t.two_b; j++) {
			t.b[j] = find_pairs(w, c, pair + j, down, right);
			for (size_t i = 0; i < 1 + (size_t)t.two_a; i++)
				t.sum[i][j] = sums + (((row + i) * count_taps(w) + tap) * blocks + pair + j) * SUMS;
		}
		isa_tiles_sum(&t);
	}
}

/* Adds the products of a chunk to a part's sums.  The first cache holds the pairs of two blocks for all rows. */
ISA_TILES static void
multiply_rows(const struct amx_weight *w, const struct chunk *c, bool add, float *sums)
{
	for (size_t pair = 0; pair < w->across / LANES; pair += 2)
		for (size_t odd = 0; odd < 2; odd++)
			for (size_t row = 0; row < c->part.blocks; row += 2)
				add_products(w, c, row, pair, odd, add, sums);
}

/* Adds some cells of dy, from the first one of rows on, to the sums of the bias. */
ISA_BF16 static void
sum_bias_cells(const struct amx_weight *w, const struct chunk *c, size_t cells, double *sums)
{
	for (size_t b = 0; b < w->shape.k / LANES; b++) {
		const words *pair = (const words *)(const void *)c->pairs + b * w->pairs + w->reach / 2;
		floats even = { 0 }, odd = { 0 };

		for (size_t i = 0; i < cells; i += 2) {
			even += (floats)(pair[i / 2] << 16);
			if (i + 1 < cells)
				odd += (floats)(pair[i / 2] & 0xffff0000);
		}
		for (size_t l = 0; l < LANES; l++)
			sums[b * LANES + l] += (double)even[l] + (double)odd[l];
	}
}

/* The sums of a slice's chunks for a part, and with the first part those of the bias. */
ISA_TILES static void
compute_slice(const struct amx_weight *w, const struct dnnl_place *place, size_t slice, struct part part)
{
	const size_t chunks = divide_up(w->shape.n * w->rows, w->chunk);
	const size_t first = chunks * slice / w->slices, last = chunks * (slice + 1) / w->slices;
	const struct chunk c = take_chunk(w, place, part);
	float *sums = get_sums(w, place, slice) + part.first * LANES * count_taps(w) * w->across;
	const bool bias = w->shape.bias && part.first == 0;

	if (bias)
		memset(get_bias_sums(w, place, slice), 0, w->shape.k * sizeof(double));
	isa_tiles_begin();
	for (size_t i = first; i < last; i++) {
		const size_t row = i * w->chunk, end = row + w->chunk;

		locate_chunk(w, place, row, end, &c);
		copy_chunk(w, &c);
		multiply_rows(w, &c, i > first, sums);
		if (bias)
			sum_bias_cells(w, &c, (end - row) * w->pitch, get_bias_sums(w, place, slice));
	}
	isa_tiles_end();
}

/* dw of a tap for a block of rows and one of pairs. */
ISA_BF16 static void
join_slices(const struct amx_weight *w, const struct dnnl_place *place, size_t row, size_t pair, size_t tap,
    float *dw)
{
	const size_t at = ((row * count_taps(w) + tap) * (w->across / LANES) + pair) * SUMS;
	double sum[SUMS] = { 0 };

	for (size_t slice = 0; slice < w->slices; slice++) {
		const float *sums = get_sums(w, place, slice) + at;

		for (size_t i = 0; i < SUMS; i++)
			sum[i] += (double)sums[i];
	}
	for (size_t i = 0; i < SUMS; i++) {
		const size_t down = row * LANES + i / LANES, across = pair * LANES + i % LANES;
		const size_t c = w->swapped ? across : down, k = w->swapped ? down : across;

		dw[(k * w->shape.c + c) * count_taps(w) + tap] = (float)sum[i];
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
	const size_t rows = w->down / LANES, pairs = w->across / LANES;

	#pragma omp parallel num_threads((int)w->threads)
	{
		#pragma omp for schedule(static)
		for (size_t i = 0; i < w->slices * w->parts; i++)
			compute_slice(w, place, i / w->parts, cut_part(w, i % w->parts));
		#pragma omp for schedule(static)
		for (size_t i = 0; i < rows * pairs; i++)
			for (size_t tap = 0; tap < count_taps(w); tap++)
				join_slices(w, place, i / pairs, i % pairs, tap, dw);
	}
	if (w->shape.bias)
		join_bias(w, place);
}
