/*
 * memplan - buffers that are alive for some steps each, into one piece of memory.
 *
 * They are placed by falling size, each at the lowest offset that touches no
 * buffer alive in the same steps (greedy by size: Pisarchyk and Lee, "Efficient
 * Memory Management for Deep Neural Net Inference", 2020).  The same buffers get
 * the same places on every machine.
 *
 * Calls nothing of lib/, since the module of engine/cuda.h is built with it too.
 */
#ifndef ENGINE_MEMPLAN_H
#define ENGINE_MEMPLAN_H

#include <stddef.h>
#include <stdint.h>

#define MEMPLAN_LINE	((size_t)256)	/* bytes that each buffer begins at a multiple of, and is rounded up to */

struct memplan_buf {
	size_t	 bytes;
	uint32_t first, last;	/* steps in which it is alive; first > last: never */
	size_t	 at;		/* bytes from the memory's start */
};

/* bytes as a buffer takes them. */
static inline size_t
memplan_round(size_t bytes)
{
	return (bytes + MEMPLAN_LINE - 1) / MEMPLAN_LINE * MEMPLAN_LINE;
}

/*
 * Rounds the bytes of buf [n] and sets their `at`; *bytes gets the size of it all. Returns 0, or
 * ERR_NOMEM with no line noted.
 */
int	 memplan_place(struct memplan_buf *buf, uint32_t n, size_t *bytes);

#endif
