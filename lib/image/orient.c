/* orient - pixels as a camera was held in, pixels upright out. */
#include "image/orient.h"

struct orient_rect
orient_back(unsigned turn, struct orient_rect r, uint32_t h, uint32_t w)
{
	if (orient_swaps(turn))
		r = (struct orient_rect){ .y = r.x, .x = r.y, .h = r.w, .w = r.h };
	if (orient_flips_rows(turn))
		r.y = h - r.h - r.y;
	if (orient_flips_columns(turn))
		r.x = w - r.w - r.x;
	return r;
}

void
orient_pixels(unsigned turn, const uint8_t *from, uint32_t h, uint32_t w, uint32_t c, size_t stride,
    uint8_t *to, size_t to_stride)
{
	ptrdiff_t down = orient_flips_rows(turn) ? -(ptrdiff_t)stride : (ptrdiff_t)stride;
	ptrdiff_t along = orient_flips_columns(turn) ? -(ptrdiff_t)c : (ptrdiff_t)c;
	uint32_t rows = orient_swaps(turn) ? w : h, columns = orient_swaps(turn) ? h : w;
	const uint8_t *p = from + (orient_flips_rows(turn) ? (h - 1) * stride : 0) +
	    (orient_flips_columns(turn) ? (size_t)(w - 1) * c : 0);
	ptrdiff_t next_row = orient_swaps(turn) ? along : down, next = orient_swaps(turn) ? down : along;

	for (uint32_t y = 0; y < rows; y++, p += next_row, to += to_stride) {
		const uint8_t *q = p;

		for (uint32_t x = 0; x < columns; x++, q += next)
			for (uint32_t i = 0; i < c; i++)
				to[(size_t)x * c + i] = q[i];
	}
}
