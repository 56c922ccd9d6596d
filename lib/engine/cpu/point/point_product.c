/*
 * point_product - sums that the registers hold: of 14 pixels and two blocks for y and dx, of 8 channels and two blocks
 * for dw.  The last of an odd number of blocks is alone.
 *
 * This file is compiled with fused multiply-adds, as the library's products have them.
 */
#include "engine/cpu/point/point_product.h"

#include "base/isa.h"

#define LANES	POINT_LANES
#define AHEAD	24u	/* pixels from one that is read to one that is fetched */
#define SMALL_SUMS	32u	/* blocks of sums that the fastest cache holds beside pixels */
#define SHARES	65536u	/* parts of a pixel, in which the fetched ones are counted */

size_t
point_panel_at(size_t row, size_t column, size_t rows, size_t blocks)
{
	const size_t first = column / LANES / POINT_PANEL * POINT_PANEL;
	const size_t width = (first + POINT_PANEL <= blocks ? POINT_PANEL : 1) * LANES;

	return first * LANES * rows + row * width + column - first * LANES;
}

/*
 * pixels and blocks are constants of the caller, so that the compiler keeps the sums in registers.  The first panel
 * fetches pixels that follow; the others find them in the cache.
 */
ISA_INLINE void
multiply_pixels(const struct point_map *x, size_t first, size_t pixels, const float *w, size_t blocks,
    const float *plus, bool fetch, bool stream, float *y, size_t y_apart)
{
	isa_line sum[POINT_PIXELS][POINT_PANEL];

	for (size_t i = 0; plus != NULL && i < pixels; i++)
		for (size_t j = 0; j < blocks; j++)
			__builtin_prefetch(plus + j * y_apart + (first + i) * LANES);

	#pragma GCC unroll 14
	for (size_t i = 0; i < pixels; i++)
		#pragma GCC unroll 2
		for (size_t j = 0; j < blocks; j++)
			sum[i][j] = (isa_line){ 0 };
	for (size_t b = 0; b < x->blocks; b++) {
		const float *from = x->p + b * x->apart + first * LANES;

		for (size_t i = 0; fetch && i < pixels; i++)
			__builtin_prefetch(from + (AHEAD + i) * LANES);
		for (size_t l = 0; l < LANES; l++, w += blocks * LANES) {
			#pragma GCC unroll 14
			for (size_t i = 0; i < pixels; i++)
				#pragma GCC unroll 2
				for (size_t j = 0; j < blocks; j++)
					sum[i][j] += from[i * LANES + l] * *(const isa_line *)(w + j * LANES);
		}
	}
	#pragma GCC unroll 14
	for (size_t i = 0; i < pixels; i++)
		#pragma GCC unroll 2
		for (size_t j = 0; j < blocks; j++) {
			const size_t at = j * y_apart + (first + i) * LANES;

			if (plus != NULL)
				sum[i][j] += *(const isa_line *)(plus + at);
			if (stream)
				isa_stream_line(&sum[i][j], y + at);
			else
				*(isa_line *)(y + at) = sum[i][j];
		}
}

/* All pixels by one panel. */
ISA_INLINE void
multiply_panel(const struct point_map *x, size_t pixels, const float *w, size_t blocks, const float *plus, bool fetch,
    bool stream, float *y, size_t y_apart)
{
	size_t i = 0;

	for (; i + POINT_PIXELS <= pixels; i += POINT_PIXELS)
		multiply_pixels(x, i, POINT_PIXELS, w, blocks, plus, fetch, stream, y, y_apart);
	for (; i + 7 <= pixels; i += 7)
		multiply_pixels(x, i, 7, w, blocks, plus, fetch, stream, y, y_apart);
	for (; i + 4 <= pixels; i += 4)
		multiply_pixels(x, i, 4, w, blocks, plus, fetch, stream, y, y_apart);
	for (; i < pixels; i++)
		multiply_pixels(x, i, 1, w, blocks, plus, fetch, stream, y, y_apart);
}

ISA_CLONES(extern, void, point_multiply, (const struct point_map *x, size_t pixels, const float *w, size_t blocks,
    const float *plus, bool stream, float *y, size_t y_apart),
    (x, pixels, w, blocks, plus, stream, y, y_apart))
{
	const size_t rows = x->blocks * LANES;
	size_t j = 0;

	for (; j + 2 <= blocks; j += 2)
		multiply_panel(x, pixels, w + j * LANES * rows, 2, plus != NULL ? plus + j * y_apart : NULL,
		    j == 0, stream, y + j * y_apart, y_apart);
	if (j < blocks)
		multiply_panel(x, pixels, w + j * LANES * rows, 1, plus != NULL ? plus + j * y_apart : NULL,
		    j == 0, stream, y + j * y_apart, y_apart);
	if (stream)
		isa_streamed();
}

/*
 * The calls of sum_channels() for some pixels.  They also fetch the pixels of the next call of point_sum_products(),
 * block after block, so that the fetches are spread over all calls.
 */
struct calls {
	const struct point_map *x, *dy;
	size_t			pixels, per_block, done;	/* per_block: calls that fetch one block */
	bool			fetch_sums;		/* the fastest cache does not hold the sums */
};

/* The first pixel that the next call fetches. */
ISA_INLINE const float *
find_fetched(const struct calls *c)
{
	const size_t block = c->done / c->per_block;
	const size_t first = c->done % c->per_block * c->pixels / c->per_block * LANES;

	if (block < c->x->blocks)
		return c->x->next + block * c->x->apart + first;
	if (block < c->x->blocks + c->dy->blocks)
		return c->dy->next + (block - c->x->blocks) * c->dy->apart + first;
	return c->x->p;		/* all is fetched */
}

/*
 * The sums of some channels of a block of x and some blocks of dy; both numbers are constants of the caller.  For each
 * pixel, `share` parts of SHARES of one are fetched.
 */
ISA_INLINE void
sum_channels(const struct calls *c, const float *x, size_t channels, const float *dy, size_t blocks, bool add,
    float *sum)
{
	const size_t apart = c->dy->apart, share = SHARES / c->per_block;
	const float *fetch = find_fetched(c);
	isa_line each[LANES][POINT_PANEL];
	size_t shares = 0;

	for (size_t l = 0; c->fetch_sums && l < channels; l++)
		for (size_t j = 0; j < blocks; j++)
			__builtin_prefetch(sum + (j * LANES + l) * LANES);
	#pragma GCC unroll 16
	for (size_t l = 0; l < channels; l++)
		#pragma GCC unroll 2
		for (size_t j = 0; j < blocks; j++)
			each[l][j] = (isa_line){ 0 };
	for (size_t i = 0; i < c->pixels; i++, x += LANES, dy += LANES, shares += share) {
		__builtin_prefetch(fetch + shares / SHARES * LANES);
		#pragma GCC unroll 16
		for (size_t l = 0; l < channels; l++)
			#pragma GCC unroll 2
			for (size_t j = 0; j < blocks; j++)
				each[l][j] += x[l] * *(const isa_line *)(dy + j * apart);
	}
	#pragma GCC unroll 16
	for (size_t l = 0; l < channels; l++)
		#pragma GCC unroll 2
		for (size_t j = 0; j < blocks; j++) {
			isa_line *to = (isa_line *)(sum + (j * LANES + l) * LANES);

			if (add)
				each[l][j] += *to;
			*to = each[l][j];
		}
}

/* Some blocks of dy with all of x. */
ISA_INLINE void
sum_panel(struct calls *c, size_t first, size_t blocks, bool add, float *sum, size_t sum_apart)
{
	const size_t channels = LANES / blocks;

	for (size_t i = 0; i < c->x->blocks; i++)
		for (size_t l = 0; l < LANES; l += channels, c->done++)
			sum_channels(c, c->x->p + i * c->x->apart + l, channels, c->dy->p + first * c->dy->apart,
			    blocks, add, sum + i * sum_apart + (first * LANES + l) * LANES);
}

ISA_CLONES(extern, void, point_sum_products, (const struct point_map *x, const struct point_map *dy, size_t pixels,
    bool add, float *sum, size_t sum_apart),
    (x, dy, pixels, add, sum, sum_apart))
{
	const size_t all = x->blocks * dy->blocks, fetched = x->blocks + dy->blocks;
	struct calls c = { .x = x, .dy = dy, .pixels = pixels,
		.per_block = all > fetched ? all / fetched : 1,
		.fetch_sums = add && all > SMALL_SUMS };
	size_t j = 0;

	for (; j + 2 <= dy->blocks; j += 2)
		sum_panel(&c, j, 2, add, sum, sum_apart);
	if (j < dy->blocks)
		sum_panel(&c, j, 1, add, sum, sum_apart);
}
