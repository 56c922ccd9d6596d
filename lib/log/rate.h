/*
 * rate - traffic over time, from the rows of netstat-logging(1).
 *
 *	1.000	2026-11-21T19:10:00.123Z	host	eth0	period	1.000	1024	512 ...
 *
 * Threads: one at a time.
 */
#ifndef LOG_RATE_H
#define LOG_RATE_H

#include "log/logline.h"

#include <stddef.h>

struct rate_point {
	double	 time_s;	/* seconds from the start of the log to the end of the period */
	double	 rx, tx;	/* Mbit/s */
};

/* One interface or command in one log. */
struct rate_series {
	char	 name[LOGLINE_LABEL];	/* "host interface" */
	struct rate_point *point;
	size_t	 n, cap;
};

/* A zeroed list is empty. */
struct rate_list {
	struct rate_series *series;
	size_t	 n, cap;
};

/* Adds a line.  Returns 1 if it is the row of a period, 0 for other text, or ERR_NOMEM. */
int	 rate_add_line(struct rate_list *l, const char *line);
void	 rate_free(struct rate_list *l);	/* leaves an empty list */

#endif
