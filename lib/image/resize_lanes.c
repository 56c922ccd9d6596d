/* resize_lanes - resizes with filters of a few taps, many pixels at a time.  For resize. */
#include "image/resize_lanes.h"
#include "base/isa.h"

#define LANES	32u	/* numbers in a line, summed side by side */
#define TILE	8u	/* side of the square that is transposed at a time */
/* Fraction bits of a pixel.  A product halves it, which leaves room for weights up to 2 and for overshoot. */
#define UP	7
#define DOWN	(UP - 2)

typedef int16_t eight __attribute__((vector_size(2 * TILE), aligned(2), may_alias));

/* Rows y to y + rows of the result, which need pixels x to end of the source's rows. */
struct block {
	const struct resize_view *from, *to;
	const struct resize_axis *ay, *ax;
	uint32_t	 y, rows;
	uint32_t	 x, end;
	int16_t		*line;		/* [source rows,LANES]: some columns of the source */
	/* [columns,LANES]: sums of columns, transposed; a column is one channel of a pixel */
	int16_t		*side;
};

/* a times b as fractions of 2^15, rounded.  gcc compiles this form to one instruction. */
ISA_INLINE int16_t
multiply_fractions(int16_t a, int16_t b)
{
	return (int16_t)(((a * b >> 14) + 1) >> 1);
}

/* The weighted sum of lines that are `step` apart. */
ISA_INLINE void
sum_lines(const int16_t *restrict line, size_t step, const int16_t *restrict weight, uint32_t taps,
    int16_t *restrict to)
{
	int16_t sum[LANES] = { 0 };

	for (uint32_t j = 0; j < taps; j++)
		for (uint32_t i = 0; i < LANES; i++)
			sum[i] = (int16_t)(sum[i] + multiply_fractions(line[j * step + i], weight[j]));
	memcpy(to, sum, sizeof(sum));
}

/* Interleaves the first half of the rows with the second, three times. */
ISA_INLINE void
transpose_tile(const int16_t *from, size_t from_step, int16_t *to, size_t to_step)
{
	eight r[TILE], s[TILE];

	for (uint32_t i = 0; i < TILE; i++)
		r[i] = *(const eight *)(from + i * from_step);
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < TILE / 2; i++) {
			s[2 * i] = __builtin_shufflevector(r[i], r[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
			s[2 * i + 1] = __builtin_shufflevector(r[i], r[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
		}
		for (uint32_t i = 0; i < TILE; i++)
			r[i] = s[i];
	}
	for (uint32_t i = 0; i < TILE; i++)
		*(eight *)(to + i * to_step) = r[i];
}

/* Copies source rows y to end, n columns from `at` on, to lines. */
ISA_INLINE void
load_lines(const struct block *b, uint32_t y, uint32_t end, size_t at, uint32_t n)
{
	int16_t *restrict to = b->line;

	for (; y < end; y++, to += LANES) {
		const uint8_t *restrict p = b->from->p + y * b->from->stride + at;

		if (n == LANES)
			for (uint32_t i = 0; i < LANES; i++)
				to[i] = (int16_t)(p[i] << UP);
		else
			for (uint32_t i = 0; i < LANES; i++)
				to[i] = (int16_t)(i < n ? p[i] << UP : 0);
	}
}

ISA_INLINE void
sum_lane_columns(const struct block *b)
{
	const struct resize_axis *a = b->ay;
	uint32_t last = b->y + b->rows - 1, first = a->first[b->y], end = a->first[last] + a->taps;
	size_t from = (size_t)b->x * b->from->c, columns = (size_t)b->end * b->from->c - from;
	int16_t sum[LANES][LANES];

	for (size_t x = 0; x < columns; x += LANES) {
		load_lines(b, first, end, from + x, columns - x < LANES ? (uint32_t)(columns - x) : LANES);
		for (uint32_t i = 0; i < LANES; i++) {
			uint32_t y = b->y + i < last ? b->y + i : last;

			sum_lines(b->line + (size_t)(a->first[y] - first) * LANES, LANES,
			    a->whole + (size_t)y * a->taps, a->taps,
			    sum[i]);
		}
		for (uint32_t i = 0; i < LANES; i += TILE)
			for (uint32_t k = 0; k < LANES; k += TILE)
				transpose_tile(&sum[i][k], LANES, b->side + (x + k) * LANES + i, LANES);
	}
}

/* Rounds sums to pixels, in place. */
ISA_INLINE void
round_sums(int16_t *sum)
{
	for (uint32_t i = 0; i < LANES; i++) {
		int16_t v = (int16_t)((int16_t)(sum[i] + (1 << (DOWN - 1))) >> DOWN);

		v = v < 0 ? 0 : v;
		sum[i] = v > 255 ? 255 : v;
	}
}

/* Writes n of TILE transposed columns of the result, from `at` on. */
ISA_INLINE void
store_columns(const struct block *b, size_t at, uint32_t n, const int16_t *pixel)
{
	uint8_t *to = b->to->p + b->y * b->to->stride + at, byte[LANES * TILE];
	int16_t row[LANES * TILE];

	for (uint32_t i = 0; i < LANES; i += TILE)
		transpose_tile(pixel + i, LANES, row + i * TILE, TILE);
	for (uint32_t i = 0; i < LANES * TILE; i++)
		byte[i] = (uint8_t)row[i];
	for (uint32_t i = 0; i < b->rows; i++, to += b->to->stride)
		if (n == TILE)
			memcpy(to, byte + i * TILE, TILE);
		else
			memcpy(to, byte + i * TILE, n);
}

ISA_INLINE void
sum_lane_rows(const struct block *b)
{
	const struct resize_axis *a = b->ax;
	uint32_t c = b->from->c;
	size_t columns = (size_t)a->key.out * c;
	int16_t sum[TILE][LANES];

	for (size_t at = 0; at < columns; at += TILE) {
		uint32_t n = columns - at < TILE ? (uint32_t)(columns - at) : TILE;

		for (uint32_t k = 0; k < TILE; k++) {
			size_t column = at + (k < n ? k : 0), x = column / c;

			sum_lines(b->side + ((a->first[x] - b->x) * (size_t)c + column % c) * LANES, (size_t)c * LANES,
			    a->whole + x * a->taps, a->taps, sum[k]);
			round_sums(sum[k]);
		}
		store_columns(b, at, n, sum[0]);
	}
}

ISA_CLONES(static, void, make_rows, (const struct block *b), (b))
{
	sum_lane_columns(b);
	sum_lane_rows(b);
}

/* The most source rows that LANES rows of the result need. */
static uint32_t
bound_rows(const struct resize_axis *a)
{
	uint32_t most = a->taps;

	for (uint32_t y = 0; y < a->key.out; y += LANES) {
		uint32_t last = a->key.out - y < LANES ? a->key.out - 1 : y + LANES - 1;
		uint32_t n = a->first[last] + a->taps - a->first[y];

		most = n > most ? n : most;
	}
	return most;
}

int
resize_lanes(const struct resize_view *from, const struct resize_axis *y, const struct resize_axis *x,
    const struct resize_view *to, struct buf *room)
{
	struct block b = { .from = from, .to = to, .ay = y, .ax = x, .x = x->first[0],
		.end = x->first[x->key.out - 1] + x->taps };
	size_t lines = bound_rows(y), sides = (size_t)(b.end - b.x) * from->c + LANES;
	int e;

	room->n = 0;
	if ((e = buf_room(room, (lines + sides) * LANES * sizeof(*b.line))) < 0)
		return e;
	b.line = (int16_t *)(void *)room->p;
	b.side = b.line + lines * LANES;
	for (; b.y < y->key.out; b.y += LANES) {
		b.rows = y->key.out - b.y < LANES ? y->key.out - b.y : LANES;
		make_rows(&b);
	}
	return 0;
}
