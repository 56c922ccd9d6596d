/*
 * mark - a training log passes through, and each epoch's end in it gets the traffic since the one before.
 *
 *	rows of log(5)		the line of names gets nic_rx_bytes and nic_tx_bytes, each row of an epoch's end its
 *				two cells
 *	Epoch[3] Time cost=9.5	(also Iteration[3], whatever stands in front) is followed by
 *	Epoch[3] Traffic rx=1048576 tx=1024 bytes
 *	what an expression of the user's finds
 *				is followed by
 *	Traffic rx=1048576 tx=1024 bytes
 *
 * Each rank has its own count; lines of nobody in particular have one together.  All else passes to the last byte.
 * Threads: a marker is for one thread at a time.
 */
#ifndef WATCH_MARK_H
#define WATCH_MARK_H

#include "watch/traffic.h"

#include <regex.h>

#define MARK_RANKS	4096u	/* whose epochs are told apart */
#define MARK_LINE	65536u	/* bytes of the longest line that is looked at */

struct marker {
	const regex_t	*also;	/* or NULL */
	struct buf	 part;	/* of a line that has not ended */
	bool		 skip;	/* until its end: it is too long */
	struct traffic	 first;	/* when all began */
	struct traffic	 last[MARK_RANKS + 1];	/* at the epoch's end before; the last one is nobody's */
	bool		 seen[MARK_RANKS + 1];
};

/* From here on traffic counts.  NULL when out of memory. */
struct marker *mark_new(const struct traffic *now, const regex_t *also);
void	 mark_free(struct marker *m);	/* NULL is fine */

/* Takes bytes of the log, n of 0 for its end, and appends what is to be written.  0 or ERR_NOMEM. */
int	 mark_take(struct marker *m, const void *p, size_t n, const struct traffic *now, struct buf *out);

#endif
