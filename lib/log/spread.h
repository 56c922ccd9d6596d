/*
 * spread - how many gradients of each worker were how many updates behind, from the rows of log/tsv.h.
 *
 *	9.8	host	worker	1	staleness	0	120 ... bin ... 40		3	3
 *
 * Bins of the same numbers of updates add up over the epochs of a log.  Threads: one at a time.
 */
#ifndef LOG_SPREAD_H
#define LOG_SPREAD_H

#include "log/logline.h"

#include <stddef.h>

struct spread_bin {
	uint64_t from, to;	/* updates behind */
	double	 gradients;
};

/* One worker in one log. */
struct spread_worker {
	char	 log[LOGLINE_LABEL];
	uint64_t rank;
	struct spread_bin *bin;	/* [n] in the order of updates */
	size_t	 n, cap;
};

/* A zeroed list is empty. */
struct spread_list {
	struct spread_worker *worker;
	size_t	 n, cap;
};

/* Adds a line of a log.  Returns 1 if it is a bin, 0 for other text, or ERR_NOMEM. */
int	 spread_add_line(struct spread_list *l, const char *log, const char *line);
void	 spread_free(struct spread_list *l);	/* leaves an empty list */

#endif
