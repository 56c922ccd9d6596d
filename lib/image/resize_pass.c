/* resize_pass - resizes rows of pixels along one axis.  For resize. */
#include "image/resize_pass.h"
#include "base/err.h"
#include "base/isa.h"

#define LANES	RESIZE_PASS_ROWS	/* numbers in a line, summed side by side; also the side of a tile */
#define EIGHT	8u
#define WINDOW	4096u	/* columns transposed at a time: 256 KiB, which a processor's second cache holds */

typedef uint8_t tile_row __attribute__((vector_size(LANES), aligned(1), may_alias));
typedef int32_t eight __attribute__((vector_size(4 * EIGHT), aligned(4), may_alias));

/* A few rows that become narrower or wider. */
struct block {
	const uint8_t	*row[LANES];	/* from the first column that counts on */
	uint8_t		*to[LANES];
	const struct resize_axis *a;
	uint32_t	 n, c;		/* rows and channels */
	size_t		 pixels;	/* pixels of a row that count */
	size_t		 at, end;	/* pixels in line */
	int32_t		*line;		/* [columns,LANES]: columns of the rows, transposed */
};

/* A sample of the result: its pixel and channel. */
struct sample {
	size_t		 x;
	uint32_t	 channel;
};

/* Interleaves the first half of the rows with the second, four times. */
ISA_INLINE void
transpose_tile(tile_row r[LANES])
{
	tile_row s[LANES];

	for (uint32_t round = 0; round < 4; round++) {
		for (uint32_t i = 0; i < LANES / 2; i++) {
			tile_row a = r[i], b = r[i + LANES / 2];

			s[2 * i] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22,
			    7, 23);
			s[2 * i + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
			    14, 30, 15, 31);
		}
		for (uint32_t i = 0; i < LANES; i++)
			r[i] = s[i];
	}
}

/* Copies n columns, at most LANES, to lines. */
ISA_INLINE void
load_columns(const struct block *b, size_t at, size_t n, int32_t *line)
{
	tile_row r[LANES];

	for (uint32_t i = 0; i < LANES; i++)
		if (n == LANES)
			r[i] = *(const tile_row *)(b->row[i] + at);
		else
			memcpy(&r[i], b->row[i] + at, n);
	transpose_tile(r);
	for (size_t k = 0; k < n; k++)
		for (uint32_t i = 0; i < LANES; i++)
			line[k * LANES + i] = r[k][i];
}

static size_t
count_window_pixels(const struct block *b)
{
	return b->pixels * b->c < WINDOW ? b->pixels : WINDOW / b->c;
}

/* Copies the pixels from `at` on to lines, as many as there is room for. */
ISA_INLINE void
load_pixels(struct block *b, size_t at)
{
	size_t n = count_window_pixels(b), columns;

	n = b->pixels - at < n ? b->pixels - at : n;
	columns = n * b->c;
	b->at = at;
	b->end = at + n;
	for (size_t i = 0; i < columns; i += LANES)
		load_columns(b, at * b->c + i, columns - i < LANES ? columns - i : LANES, b->line + i * LANES);
}

ISA_INLINE int32_t
round_sum(int32_t sum)
{
	sum >>= RESIZE_AXIS_BITS;
	sum = sum < 0 ? 0 : sum;
	return sum > 255 ? 255 : sum;
}

/* Adds the weighted sums of lines that are `step` apart. */
ISA_INLINE void
add_lines(const int32_t *restrict line, size_t step, const int32_t *restrict weight, size_t taps,
    int32_t *restrict to)
{
	eight low = *(const eight *)to, high = *(const eight *)(to + EIGHT);

	for (size_t j = 0; j < taps; j++, line += step) {
		low += *(const eight *)line * weight[j];
		high += *(const eight *)(line + EIGHT) * weight[j];
	}
	*(eight *)to = low;
	*(eight *)(to + EIGHT) = high;
}

/* Adds what pixels from `at` to `end` of the row give to n samples.  Returns the sample after them. */
ISA_INLINE struct sample
add_pixels(const struct block *b, size_t at, size_t end, struct sample s, uint32_t n, int32_t *sum)
{
	const struct resize_axis *a = b->a;

	for (uint32_t k = 0; k < n; k++) {
		size_t first = a->first[s.x] - a->first[0], from = first > at ? first : at;
		size_t to = first + a->taps < end ? first + a->taps : end;

		if (from < to)
			add_lines(b->line + ((from - b->at) * b->c + s.channel) * LANES, (size_t)b->c * LANES,
			    a->weight + s.x * a->taps + (from - first), to - from, sum + k * LANES);
		s.channel = s.channel + 1 < b->c ? s.channel + 1 : 0;
		s.x += s.channel == 0;
	}
	return s;
}

/* Sums n samples, at most LANES, of all rows.  Returns the sample after them. */
ISA_INLINE struct sample
sum_samples(struct block *b, struct sample s, uint32_t n, int32_t *sum)
{
	const struct resize_axis *a = b->a;
	size_t last = s.x + (s.channel + n - 1) / b->c;
	size_t at = a->first[s.x] - a->first[0], end = a->first[last] - a->first[0] + a->taps, to;
	struct sample next = s;

	for (uint32_t k = 0; k < LANES * LANES; k++)
		sum[k] = RESIZE_AXIS_ONE / 2;
	for (; at < end; at = to) {
		if (at < b->at || at >= b->end || (end > b->end && at > b->at))
			load_pixels(b, at);
		to = end < b->end ? end : b->end;
		next = add_pixels(b, at, to, s, n, sum);
	}
	return next;
}

ISA_CLONES(static, void, make_rows, (struct block *b), (b))
{
	size_t out = (size_t)b->a->key.out * b->c;
	struct sample next = { 0, 0 };

	for (size_t at = 0; at < out; at += LANES) {
		uint32_t n = out - at < LANES ? (uint32_t)(out - at) : LANES;
		int32_t sum[LANES * LANES];
		uint8_t pixel[LANES * LANES];
		tile_row r[LANES];

		next = sum_samples(b, next, n, sum);
		for (uint32_t k = 0; k < LANES * LANES; k++)
			pixel[k] = (uint8_t)round_sum(sum[k]);
		memcpy(r, pixel, sizeof(r));
		transpose_tile(r);
		for (uint32_t i = 0; i < b->n; i++)
			if (n == LANES)
				*(tile_row *)(b->to[i] + at) = r[i];
			else
				memcpy(b->to[i] + at, &r[i], n);
	}
}

int
resize_pass_across(const struct resize_view *from, uint32_t n, const struct resize_axis *x,
    const struct resize_view *to, struct buf *room)
{
	struct block b = { .a = x, .c = from->c };
	size_t at = (size_t)x->first[0] * from->c;

	b.pixels = x->first[x->key.out - 1] + x->taps - x->first[0];
	room->n = 0;
	ERR_TRY(buf_room(room, count_window_pixels(&b) * b.c * LANES * sizeof(*b.line)));
	b.line = (int32_t *)(void *)room->p;
	for (uint32_t y = 0; y < n; y += LANES) {
		b.n = n - y < LANES ? n - y : LANES;
		b.at = b.end = 0;
		for (uint32_t i = 0; i < LANES; i++) {
			uint32_t row = y + (i < b.n ? i : 0);

			b.row[i] = from->p + row * from->stride + at;
			b.to[i] = to->p + row * to->stride;
		}
		make_rows(&b);
	}
	return 0;
}

/* The weighted sum of rows that are `stride` apart. */
ISA_CLONES(static, void, sum_rows, (const uint8_t *restrict p, size_t stride, size_t row,
    const int32_t *restrict weight, uint32_t taps, uint8_t *restrict to), (p, stride, row, weight, taps, to))
{
	int32_t sum[4 * LANES];

	for (size_t x = 0; x < row; x += 4 * LANES) {
		size_t n = row - x < 4 * LANES ? row - x : 4 * LANES;

		for (size_t i = 0; i < 4 * LANES; i++)
			sum[i] = RESIZE_AXIS_ONE / 2;
		for (uint32_t j = 0; j < taps; j++)
			if (n == 4 * LANES)
				for (size_t i = 0; i < 4 * LANES; i++)
					sum[i] += p[j * stride + x + i] * weight[j];
			else
				for (size_t i = 0; i < n; i++)
					sum[i] += p[j * stride + x + i] * weight[j];
		for (size_t i = 0; i < n; i++)
			to[x + i] = (uint8_t)round_sum(sum[i]);
	}
}

void
resize_pass_down(const struct resize_view *from, uint32_t base, size_t row, const struct resize_axis *a, uint32_t y,
    uint32_t end, const struct resize_view *to)
{
	for (; y < end; y++)
		sum_rows(from->p + (a->first[y] - base) * from->stride, from->stride, row,
		    a->weight + (size_t)y * a->taps, a->taps, to->p + y * to->stride);
}
