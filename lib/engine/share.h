/*
 * share - how threads share the items of a loop.
 *
 * Processors that other programs use, or of two kinds, are not equally fast.  Loops that take long therefore have
 * schedule(dynamic, share_chunk(items)): a thread takes some items, and then the next that nobody took.
 */
#ifndef ENGINE_SHARE_H
#define ENGINE_SHARE_H

#include <stddef.h>

#include <omp.h>

/* Returns how many items a thread takes at a time: a sixteenth of an equal part, or one. */
static inline int
share_chunk(size_t items)
{
	const size_t some = items / (16 * (size_t)omp_get_max_threads());

	return some > 1 ? (int)some : 1;
}

#endif
