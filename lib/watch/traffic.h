/*
 * traffic - bytes and packets that went in and out, and what a period, a run or a log says of them.
 *
 *	# tally 0.1 tool=netstat-logging host=a interface=eth0 ...		a comment
 *	time_s	clock	host	interface	event	seconds	rx_bytes ...		the columns' names
 *	1.000	2026-11-21T19:10:00.123Z	a	eth0	period	1.000	1024 ...	rows
 *
 * The summary at a run's end has the layout and the units of `vnstat -l`: bytes in powers of 1024, rates in bits a
 * second and powers of 1000, two digits, the next unit from 1000 on.  Source: vnStat 2.10, src/traffic.c and
 * src/misc.c. Threads: no state.
 */
#ifndef WATCH_TRAFFIC_H
#define WATCH_TRAFFIC_H

#include "base/buf.h"

#include <stdbool.h>

#define TRAFFIC_NONE	UINT64_MAX	/* not counted here */

enum traffic_way { TRAFFIC_RX, TRAFFIC_TX, TRAFFIC_WAYS };

/* Counters, or what they grew by. */
struct traffic {
	uint64_t bytes[TRAFFIC_WAYS];
	uint64_t packets[TRAFFIC_WAYS];	/* or TRAFFIC_NONE */
	/* bytes with the packets' headers, where bytes is without them; or TRAFFIC_NONE */
	uint64_t wire[TRAFFIC_WAYS];
};

/*
 * What the counters grew by from before to now.  A counter that is lower now has wrapped at 32 bits when that makes
 * less than 2^31 of it, as drivers of old do; else it began again at 0.
 */
struct traffic traffic_since(const struct traffic *before, const struct traffic *now);
/* Adds; what one of the two does not count the sum does not. */
void	 traffic_add(struct traffic *sum, const struct traffic *t);

/* A run: a sum of zeros is empty. */
struct traffic_sum {
	struct traffic total;
	double	 seconds;
	uint64_t periods;	/* whole ones, which most and least are over */
	double	 most_bytes[TRAFFIC_WAYS], least_bytes[TRAFFIC_WAYS];		/* a second */
	double	 most_packets[TRAFFIC_WAYS], least_packets[TRAFFIC_WAYS];	/* a second */
};

/* A period's traffic; one that was cut short counts in total and seconds alone. */
void	 traffic_take(struct traffic_sum *s, const struct traffic *t, double seconds, bool whole);
/* The summary.  0 or ERR_NOMEM, as for all below. */
int	 traffic_summary(const struct traffic_sum *s, const char *name, struct buf *out);

/* A line of the log. */
struct traffic_row {
	double	 time_s;	/* since the run began */
	uint64_t date_ns;	/* since 1970, UTC */
	const char *host, *interface, *event;
	double	 seconds;	/* that the traffic is of */
	struct traffic traffic;
};

int	 traffic_head(struct buf *out);		/* the columns' names */
int	 traffic_put(const struct traffic_row *r, struct buf *out);
int	 traffic_json(const struct traffic_row *r, struct buf *out);	/* the same as an object a line */

#endif
