/*
 * mark - copies a training log and adds the traffic of each epoch.
 *
 *	row of log(5)		the line of column names gets nic_rx_bytes and nic_tx_bytes, and each row of an epoch's
 *				end gets their two cells
 *	Epoch[3] Time cost=9.5	(also Iteration[3], with any prefix) is followed by
 *	Epoch[3] Traffic rx=1048576 tx=1024 bytes
 *	a line that the user's expression matches
 *				is followed by
 *	Traffic rx=1048576 tx=1024 bytes
 *
 * Traffic counts from the same rank's mark before.  Lines without a rank share one count.  All other bytes are copied
 * unchanged.
 * Threads: one at a time.
 */
#ifndef WATCH_MARK_H
#define WATCH_MARK_H

#include "watch/traffic.h"

#include <regex.h>

#define MARK_RANKS	4096u	/* ranks with counts of their own */
#define MARK_LINE	65536u	/* bytes of the longest line that can get a mark */

struct marker {
	const regex_t	*also;	/* a further pattern, or NULL */
	struct buf	 part;	/* start of a line whose end has not arrived */
	bool		 skip;	/* the line is too long: copy it to its end */
	struct traffic	 first;	/* counters at the start */
	struct traffic	 last[MARK_RANKS + 1];	/* counters at a rank's last mark; the last is for no rank */
	bool		 seen[MARK_RANKS + 1];
};

/* now holds the counters at the start.  Returns NULL if out of memory. */
struct marker *mark_new(const struct traffic *now, const regex_t *also);
void	 mark_free(struct marker *m);	/* m may be NULL */

/* Takes the log's next n bytes, 0 at its end, and appends the marked log to out.  Returns 0 or ERR_NOMEM. */
int	 mark_copy(struct marker *m, const void *p, size_t n, const struct traffic *now, struct buf *out);

#endif
