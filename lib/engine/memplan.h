/*
 * memplan - places buffers in one block of memory, so that buffers of different steps share bytes.
 *
 * Places the largest buffer first, each at the lowest offset where it overlaps no buffer that is alive in the same
 * steps (greedy by size: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020).  The
 * same buffers get the same offsets on every machine.
 *
 * Calls nothing of lib/, because the module of engine/cuda.h is built with it too.
 */
#ifndef ENGINE_MEMPLAN_H
#define ENGINE_MEMPLAN_H

#include <stddef.h>
#include <stdint.h>

#define MEMPLAN_LINE	((size_t)256)	/* alignment of each buffer and of its size, in bytes */

struct memplan_buf {
	size_t	 bytes;
	uint32_t first, last;	/* steps in which it is alive; first > last: none, and the block has no bytes for it */
	size_t	 at;		/* offset in the block; undefined if it is never alive */
};

/* Returns bytes, rounded up to the alignment. */
static inline size_t
memplan_round(size_t bytes)
{
	return (bytes + MEMPLAN_LINE - 1) / MEMPLAN_LINE * MEMPLAN_LINE;
}

/*
 * Rounds `bytes` of buf [n] and sets `at`; *bytes gets the size of the block.  Returns 0, or ERR_NOMEM, without a line
 * of err.h.
 */
int	 memplan_place(struct memplan_buf *buf, uint32_t n, size_t *bytes);

#endif
