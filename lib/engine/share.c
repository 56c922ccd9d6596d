/* share - how threads share the items of a loop. */
#include "engine/share.h"

#include <omp.h>

struct share
share_start(size_t items)
{
	const size_t threads = (size_t)omp_get_max_threads(), some = items / (16 * threads);

	return (struct share){ .items = items, .parts = threads < SHARE_PARTS ? threads : SHARE_PARTS,
		.chunk = some > 1 ? some : 1 };
}

struct share_run
share_enter(const struct share *s)
{
	return (struct share_run){ .part = (size_t)omp_get_thread_num() % s->parts, .parts_left = s->parts };
}

bool
share_take(struct share *s, struct share_run *r)
{
	for (; r->parts_left > 0; r->parts_left--, r->part = (r->part + 1) % s->parts) {
		const size_t from = s->items * r->part / s->parts, to = s->items * (r->part + 1) / s->parts;
		size_t at, count;

		#pragma omp atomic capture
		{
			at = s->taken[r->part];
			s->taken[r->part] += s->chunk;
		}
		if (at >= to - from)
			continue;
		count = to - from - at < s->chunk ? to - from - at : s->chunk;
		r->first = s->last_first ? to - at - count : from + at;
		r->end = r->first + count;
		return true;
	}
	return false;
}
