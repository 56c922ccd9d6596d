/* memplan - places buffers in one block of memory, so that buffers of different steps share bytes. */
#include "engine/memplan.h"

#include "base/err.h"

#include <stdbool.h>
#include <stdlib.h>

static bool
lives_overlap(const struct memplan_buf *a, const struct memplan_buf *b)
{
	return a->first <= b->last && b->first <= a->last;
}

/* Larger first, then by place in buf, so that the order does not depend on qsort(). */
static int
compare_by_size(const void *a, const void *b)
{
	const struct memplan_buf *x = *(struct memplan_buf *const *)a, *y = *(struct memplan_buf *const *)b;

	return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : x < y ? -1 : x > y;
}

/* Returns the lowest offset for b among placed [n], which is sorted by offset. */
static size_t
find_lowest_place(const struct memplan_buf *b, struct memplan_buf *const *placed, uint32_t n)
{
	size_t at = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!lives_overlap(b, placed[i]))
			continue;
		if (placed[i]->at >= at + b->bytes)
			break;
		if (placed[i]->at + placed[i]->bytes > at)
			at = placed[i]->at + placed[i]->bytes;
	}
	return at;
}

/* Inserts b into placed [n] after those with the same or a lower offset. */
static void
insert_placed(struct memplan_buf **placed, uint32_t n, struct memplan_buf *b)
{
	while (n > 0 && placed[n - 1]->at > b->at) {
		placed[n] = placed[n - 1];
		n--;
	}
	placed[n] = b;
}

int
memplan_place(struct memplan_buf *buf, uint32_t n, size_t *bytes)
{
	struct memplan_buf **order = calloc(2 * (size_t)n + 1, sizeof(*order)), **placed = order + n;

	if (order == NULL)
		return ERR_NOMEM;
	*bytes = 0;
	for (uint32_t i = 0; i < n; i++) {
		buf[i].bytes = memplan_round(buf[i].bytes);
		order[i] = &buf[i];
	}
	qsort(order, n, sizeof(*order), compare_by_size);
	for (uint32_t i = 0; i < n; i++) {
		struct memplan_buf *b = order[i];

		b->at = find_lowest_place(b, placed, i);
		insert_placed(placed, i, b);
		if (b->first <= b->last && b->at + b->bytes > *bytes)
			*bytes = b->at + b->bytes;
	}
	free(order);
	return 0;
}
