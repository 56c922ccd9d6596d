/* orient - makes pixels upright that a camera stored in another orientation. */
#include "image/orient.h"

struct orient_rect
orient_back(unsigned orientation, struct orient_rect r, uint32_t h, uint32_t w)
{
	if (orient_swaps(orientation))
		r = (struct orient_rect){ .y = r.x, .x = r.y, .h = r.w, .w = r.h };
	if (orient_flips_rows(orientation))
		r.y = h - r.h - r.y;
	if (orient_flips_columns(orientation))
		r.x = w - r.w - r.x;
	return r;
}

void
orient_pixels(unsigned orientation, const uint8_t *from, uint32_t h, uint32_t w, uint32_t c, size_t stride,
    uint8_t *to, size_t to_stride)
{
	ptrdiff_t row_step = orient_flips_rows(orientation) ? -(ptrdiff_t)stride : (ptrdiff_t)stride;
	ptrdiff_t column_step = orient_flips_columns(orientation) ? -(ptrdiff_t)c : (ptrdiff_t)c;
	uint32_t rows = orient_swaps(orientation) ? w : h, columns = orient_swaps(orientation) ? h : w;
	const uint8_t *p = from + (orient_flips_rows(orientation) ? (h - 1) * stride : 0) +
	    (orient_flips_columns(orientation) ? (size_t)(w - 1) * c : 0);
	ptrdiff_t to_next_row = orient_swaps(orientation) ? column_step : row_step;
	ptrdiff_t to_next = orient_swaps(orientation) ? row_step : column_step;

	for (uint32_t y = 0; y < rows; y++, p += to_next_row, to += to_stride) {
		const uint8_t *q = p;

		for (uint32_t x = 0; x < columns; x++, q += to_next)
			for (uint32_t i = 0; i < c; i++)
				to[(size_t)x * c + i] = q[i];
	}
}
