/*
 * traffic - bytes and packets received and sent: counters, sums, log rows and summaries.
 *
 * lib/watch measures traffic and load.  Read it in this order: traffic; nic (counters of interfaces) and meter (those
 * of a command: meter_packets, meter_calls), which fill its counters; mark (adds them to a training log).  load and
 * gpuload measure processors and GPUs.
 *
 *	# tally 0.1 tool=netstat-logging host=a interface=eth0 ...		a comment
 *	time_s	clock	host	interface	event	seconds	rx_bytes ...		the column names
 *	1.000	2026-11-21T19:10:00.123Z	a	eth0	period	1.000	1024 ...	rows
 *
 * The summary at the end of a run has the layout and the units of `vnstat -l`: bytes in powers of 1024, rates in bits
 * per second and powers of 1000, two digits, and the next unit from 1000 on.  Source: vnStat 2.10, src/traffic.c and
 * src/misc.c.
 * Threads: no state.
 */
#ifndef WATCH_TRAFFIC_H
#define WATCH_TRAFFIC_H

#include "base/buf.h"

#include <stdbool.h>

#define TRAFFIC_NONE	UINT64_MAX	/* not counted */

enum traffic_way { TRAFFIC_RX, TRAFFIC_TX, TRAFFIC_WAYS };

/* Counters, or differences of counters. */
struct traffic {
	uint64_t bytes[TRAFFIC_WAYS];
	uint64_t packets[TRAFFIC_WAYS];	/* packets, or TRAFFIC_NONE */
	uint64_t wire[TRAFFIC_WAYS];	/* bytes with packet headers if bytes excludes them, or TRAFFIC_NONE */
};

/*
 * The difference of the counters.  A lower counter has wrapped at 32 bits, as in old drivers, if the difference is then
 * below 2^31.  Otherwise it has restarted at 0.
 */
struct traffic traffic_since(const struct traffic *before, const struct traffic *now);
/* Adds t to sum.  A count that is TRAFFIC_NONE in either is TRAFFIC_NONE in the sum. */
void	 traffic_add(struct traffic *sum, const struct traffic *t);
/* Sets to 0 what is counted. */
void	 traffic_clear(struct traffic *t);

/* The traffic of a run.  A zeroed sum is empty. */
struct traffic_sum {
	struct traffic total;
	double	 seconds;
	uint64_t periods;	/* complete ones, the base of most and least */
	double	 most_bytes[TRAFFIC_WAYS], least_bytes[TRAFFIC_WAYS];		/* a second */
	double	 most_packets[TRAFFIC_WAYS], least_packets[TRAFFIC_WAYS];	/* a second */
};

/* Adds a period.  An incomplete one counts in total and seconds only. */
void	 traffic_add_period(struct traffic_sum *s, const struct traffic *t, double seconds, bool whole);
/* Appends the summary.  Returns 0 or ERR_NOMEM, as all functions below. */
int	 traffic_summary(const struct traffic_sum *s, const char *name, struct buf *out);

/* A row of the log. */
struct traffic_row {
	double	 time_s;	/* seconds since the run began */
	uint64_t date_ns;	/* nanoseconds since 1970, UTC */
	const char *host, *interface, *event;
	double	 seconds;	/* length of the period */
	struct traffic traffic;
};

int	 traffic_head(struct buf *out);	/* the column names */
int	 traffic_put(const struct traffic_row *r, struct buf *out);
int	 traffic_json(const struct traffic_row *r, struct buf *out);	/* the same as an object a line */

#endif
