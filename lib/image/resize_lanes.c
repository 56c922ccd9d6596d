/* resize_lanes - pixels resized by filters of a few taps, many pixels at a time: serves resize. */
#include "image/resize_lanes.h"
#include "base/isa.h"

#define LANES	32u	/* numbers that are summed side by side: a line */
#define TILE	8u	/* numbers of a side that are turned at a time */
#define UP	7	/* bits of fraction of a pixel; a sum halves it, so that weights up to 2 and overshoot have room */
#define DOWN	(UP - 2)

typedef int16_t eight __attribute__((vector_size(2 * TILE), aligned(2), may_alias));

/* Rows y to y + rows of the result, of which pixels x to end of the source's rows are needed. */
struct block {
	const struct resize_view *from, *to;
	const struct resize_axis *ay, *ax;
	uint32_t	 y, rows;
	uint32_t	 x, end;
	int16_t		*line;		/* [source rows,LANES]: of some columns */
	int16_t		*side;		/* [columns,LANES]: rows on their side, columns summed; a column is a channel of a pixel */
};

/* a times b as fractions of 2^15, rounded: one instruction, said in the way that gcc knows. */
ISA_INLINE int16_t
times(int16_t a, int16_t b)
{
	return (int16_t)(((a * b >> 14) + 1) >> 1);
}

/* The sum of lines `step` apart, by their weights. */
ISA_INLINE void
add_up(const int16_t *restrict line, size_t step, const int16_t *restrict weight, uint32_t taps, int16_t *restrict to)
{
	int16_t sum[LANES] = { 0 };

	for (uint32_t j = 0; j < taps; j++)
		for (uint32_t i = 0; i < LANES; i++)
			sum[i] = (int16_t)(sum[i] + times(line[j * step + i], weight[j]));
	memcpy(to, sum, sizeof(sum));
}

/* Swaps rows and columns: three times, the first half of the rows is shuffled with the second. */
ISA_INLINE void
turn(const int16_t *from, size_t from_step, int16_t *to, size_t to_step)
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

/* Source rows y to end, n columns from `at` on, as lines. */
ISA_INLINE void
take(const struct block *b, uint32_t y, uint32_t end, size_t at, uint32_t n)
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
sum_columns(const struct block *b)
{
	const struct resize_axis *a = b->ay;
	uint32_t last = b->y + b->rows - 1, first = a->first[b->y], end = a->first[last] + a->taps;
	size_t from = (size_t)b->x * b->from->c, columns = (size_t)b->end * b->from->c - from;
	int16_t sum[LANES][LANES];

	for (size_t x = 0; x < columns; x += LANES) {
		take(b, first, end, from + x, columns - x < LANES ? (uint32_t)(columns - x) : LANES);
		for (uint32_t i = 0; i < LANES; i++) {
			uint32_t y = b->y + i < last ? b->y + i : last;

			add_up(b->line + (size_t)(a->first[y] - first) * LANES, LANES, a->whole + (size_t)y * a->taps, a->taps,
			    sum[i]);
		}
		for (uint32_t i = 0; i < LANES; i += TILE)
			for (uint32_t k = 0; k < LANES; k += TILE)
				turn(&sum[i][k], LANES, b->side + (x + k) * LANES + i, LANES);
	}
}

/* Pixels of sums, in place. */
ISA_INLINE void
round_off(int16_t *sum)
{
	for (uint32_t i = 0; i < LANES; i++) {
		int16_t v = (int16_t)((int16_t)(sum[i] + (1 << (DOWN - 1))) >> DOWN);

		v = v < 0 ? 0 : v;
		sum[i] = v > 255 ? 255 : v;
	}
}

/* n of TILE columns of the result, from `at` on, lying on their side. */
ISA_INLINE void
put(const struct block *b, size_t at, uint32_t n, const int16_t *pixel)
{
	uint8_t *to = b->to->p + b->y * b->to->stride + at, byte[LANES * TILE];
	int16_t row[LANES * TILE];

	for (uint32_t i = 0; i < LANES; i += TILE)
		turn(pixel + i, LANES, row + i * TILE, TILE);
	for (uint32_t i = 0; i < LANES * TILE; i++)
		byte[i] = (uint8_t)row[i];
	for (uint32_t i = 0; i < b->rows; i++, to += b->to->stride)
		if (n == TILE)
			memcpy(to, byte + i * TILE, TILE);
		else
			memcpy(to, byte + i * TILE, n);
}

ISA_INLINE void
sum_rows(const struct block *b)
{
	const struct resize_axis *a = b->ax;
	uint32_t c = b->from->c;
	size_t columns = (size_t)a->key.out * c;
	int16_t sum[TILE][LANES];

	for (size_t at = 0; at < columns; at += TILE) {
		uint32_t n = columns - at < TILE ? (uint32_t)(columns - at) : TILE;

		for (uint32_t k = 0; k < TILE; k++) {
			size_t column = at + (k < n ? k : 0), x = column / c;

			add_up(b->side + ((a->first[x] - b->x) * (size_t)c + column % c) * LANES, (size_t)c * LANES,
			    a->whole + x * a->taps, a->taps, sum[k]);
			round_off(sum[k]);
		}
		put(b, at, n, sum[0]);
	}
}

ISA_CLONES(static, void, make_rows, (const struct block *b), (b))
{
	sum_columns(b);
	sum_rows(b);
}

/* The most source rows that LANES rows need. */
static uint32_t
most_rows(const struct resize_axis *a)
{
	uint32_t most = a->taps;

	for (uint32_t y = 0; y < a->key.out; y += LANES) {
		uint32_t last = a->key.out - y < LANES ? a->key.out - 1 : y + LANES - 1, n = a->first[last] + a->taps - a->first[y];

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
	size_t lines = most_rows(y), sides = (size_t)(b.end - b.x) * from->c + LANES;
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
