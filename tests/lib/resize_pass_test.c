/* resize_pass_test - rows of any width equal plain sums to the last bit, and scratch memory does not grow with the width. */
#include "image/resize_pass.h"
#include "tap.h"

#include <stdlib.h>

#define ROWS		19u	/* more than are made at a time, and no multiple of it */
#define SCRATCH_MOST	300000u

/* Counts the samples of the result that differ from plain sums. */
static size_t
count_wrong(const struct resize_view *from, const struct resize_axis *a, const struct resize_view *to)
{
	size_t wrong = 0;

	for (uint32_t y = 0; y < ROWS; y++)
		for (uint32_t x = 0; x < a->key.out; x++)
			for (uint32_t k = 0; k < from->c; k++) {
				int64_t sum = RESIZE_AXIS_ONE / 2;

				for (uint32_t j = 0; j < a->taps; j++)
					sum += (int64_t)a->weight[(size_t)x * a->taps + j] *
					    from->p[y * from->stride + (a->first[x] + j) * (size_t)from->c + k];
				sum >>= RESIZE_AXIS_BITS;
				sum = sum < 0 ? 0 : sum > 255 ? 255 : sum;
				wrong += to->p[y * to->stride + x * (size_t)from->c + k] != sum;
			}
	return wrong;
}

static void
test_width(enum resize_inter inter, uint32_t c, uint32_t w, uint32_t out, double at, double size)
{
	struct resize_axis_key key = { inter, w, out, at, size };
	struct resize_view from = { NULL, (size_t)w * c, c }, to = { NULL, (size_t)out * c, c };
	struct resize_axis axis = { 0 };
	struct buf room = { 0 };
	uint32_t bits = 1;

	from.p = malloc(ROWS * from.stride);
	to.p = malloc(ROWS * to.stride);
	for (size_t i = 0; i < ROWS * from.stride; i++) {
		bits = bits * 1664525u + 1013904223u;
		from.p[i] = (uint8_t)(bits >> 24);
	}
	resize_axis_make(&axis, &key);
	is(resize_pass_across(&from, ROWS, &axis, &to, &room), 0, "filter %d: %u pixels of %u channels become %u", inter, w,
	    c, out);
	is(count_wrong(&from, &axis, &to), 0, "all samples are the plain sums");
	ok(room.cap <= SCRATCH_MOST, "the scratch memory takes %zu bytes", room.cap);
	resize_axis_free(&axis);
	buf_free(&room);
	free(from.p);
	free(to.p);
}

int
main(void)
{
	for (enum resize_inter i = RESIZE_NEAREST; i <= RESIZE_LANCZOS; i++) {
		test_width(i, 3, 20000, 257, 0, 20000);
		test_width(i, 1, 20000, 3, 0, 20000);	/* one pixel's sum is wider than what is kept */
		test_width(i, 3, 5000, 7, 1234.5, 3000);
		test_width(i, 1, 4100, 4099, 0, 4100);
		test_width(i, 3, 1365, 1000, 0, 1365);
		test_width(i, 3, 1366, 2500, 0, 1366);
	}
	return done();
}
