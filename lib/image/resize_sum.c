/* resize_sum - resizes with any filter and size, in floats.  For resize. */
#include "image/resize_sum.h"

/* Sums n columns, from `at` on, for row i of the result. */
static void
sum_columns(const struct resize_view *from, const struct resize_axis *a, uint32_t i, size_t at, size_t n,
    float *restrict sum)
{
	for (size_t x = 0; x < n; x++)
		sum[x] = 0.5f;
	for (uint32_t j = 0; j < a->taps; j++) {
		const uint8_t *restrict p = from->p + (a->first[i] + j) * from->stride + at;
		float w = a->weight[(size_t)i * a->taps + j];

		for (size_t x = 0; x < n; x++)
			sum[x] += w * (float)p[x];
	}
}

static void
sum_row(const struct resize_axis *a, const float *sum, uint32_t c, uint8_t *p)
{
	for (uint32_t i = 0; i < a->key.out; i++) {
		const float *w = a->weight + (size_t)i * a->taps, *s = sum + (size_t)(a->first[i] - a->first[0]) * c;

		for (uint32_t k = 0; k < c; k++) {
			float v = 0;

			for (uint32_t j = 0; j < a->taps; j++)
				v += w[j] * s[(size_t)j * c + k];
			*p++ = v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v;
		}
	}
}

int
resize_sum(const struct resize_view *from, const struct resize_axis *y, const struct resize_axis *x,
    const struct resize_view *to, struct buf *room)
{
	size_t at = (size_t)x->first[0] * from->c, n = (size_t)(x->first[x->key.out - 1] + x->taps) * from->c - at;
	float *sum;
	int e;

	room->n = 0;
	if ((e = buf_room(room, n * sizeof(*sum))) < 0)
		return e;
	sum = (float *)(void *)room->p;
	for (uint32_t i = 0; i < y->key.out; i++) {
		sum_columns(from, y, i, at, n, sum);
		sum_row(x, sum, from->c, to->p + i * to->stride);
	}
	return 0;
}
