/* turn - pixels as a camera was held in, pixels upright out. */
#include "image/turn.h"

struct turn_rect
turn_back(unsigned turn, struct turn_rect r, uint32_t h, uint32_t w)
{
	if (turn_swaps(turn))
		r = (struct turn_rect){ .y = r.x, .x = r.y, .h = r.w, .w = r.h };
	if (turn_flips_rows(turn))
		r.y = h - r.h - r.y;
	if (turn_flips_columns(turn))
		r.x = w - r.w - r.x;
	return r;
}

void
turn_pixels(unsigned turn, const uint8_t *from, uint32_t h, uint32_t w, uint32_t c, size_t stride,
    uint8_t *to, size_t to_stride)
{
	ptrdiff_t down = turn_flips_rows(turn) ? -(ptrdiff_t)stride : (ptrdiff_t)stride;
	ptrdiff_t along = turn_flips_columns(turn) ? -(ptrdiff_t)c : (ptrdiff_t)c;
	uint32_t rows = turn_swaps(turn) ? w : h, columns = turn_swaps(turn) ? h : w;
	const uint8_t *p = from + (turn_flips_rows(turn) ? (h - 1) * stride : 0) +
	    (turn_flips_columns(turn) ? (size_t)(w - 1) * c : 0);
	ptrdiff_t next_row = turn_swaps(turn) ? along : down, next = turn_swaps(turn) ? down : along;

	for (uint32_t y = 0; y < rows; y++, p += next_row, to += to_stride) {
		const uint8_t *q = p;

		for (uint32_t x = 0; x < columns; x++, q += next)
			for (uint32_t i = 0; i < c; i++)
				to[(size_t)x * c + i] = q[i];
	}
}
