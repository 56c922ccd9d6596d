/*
 * share - how threads share the items of a loop.
 *
 * Each thread has a part of the items, the same in each loop over the samples of a batch.  So it finds in its own
 * caches what it wrote in the loop before: not all processors share one.  Processors that other programs use, or of two
 * kinds, are not equally fast.  A thread takes some items of its part at a time, and at the end those of other parts
 * that nobody took.
 *
 *	struct share s = share_start(items);
 *
 *	#pragma omp parallel
 *	SHARE_EACH(&s, i)
 *		work(i);
 */
#ifndef ENGINE_SHARE_H
#define ENGINE_SHARE_H

#include <stdbool.h>
#include <stddef.h>

#define SHARE_PARTS	128	/* the most parts; further threads share them */

struct share {
	size_t items, parts;
	size_t chunk;			/* items that a thread takes at a time */
	bool   last_first;		/* threads take the last chunk of a part first; share_start(): false */
	size_t taken[SHARE_PARTS];	/* items of each part that were taken, or more at its end */
};

/* What a thread has taken, [first, end), and where it takes next. */
struct share_run {
	size_t first, end, part, parts_left;
};

/* For the threads of the next parallel region, which take a sixteenth of a part at a time, or one item. */
struct share share_start(size_t items);

/* For the calling thread of the region. */
struct share_run share_enter(const struct share *s);

/* Takes items for the thread whose run r is.  Returns false if all are taken. */
bool	 share_take(struct share *s, struct share_run *r);

/* A loop over the items that the calling thread takes.  No break out of it: it is two loops. */
#define SHARE_EACH(s, i) \
	for (struct share_run share_run_ = share_enter(s); share_take(s, &share_run_);) \
		for (size_t i = share_run_.first; i < share_run_.end; i++)

#endif
