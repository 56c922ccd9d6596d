/*
 * tsv - one measurement a line: a row of a run's log, as text and back.  log(5) is the format's page.
 *
 *	# tally 0.1 tool=pworker host=a rank=0 workers=2 ...	what wrote the log: comments
 *	time_s	host	role	rank	event	epoch	...		the columns' names, with units
 *	12.345	a	worker	0	step	0	...	rows; a cell is empty if its column does not apply
 *
 * Logs may be joined in any order of lines: every row says whose it is, and comments and names that come again are
 * skipped.  A reader ignores cells behind the last column it knows.
 * Threads: no state; the caller's buffer.
 */
#ifndef LOG_TSV_H
#define LOG_TSV_H

#include "base/buf.h"

#include <stdint.h>

#define TSV_HOST	256	/* bytes of a host's name, its zero counted */
#define TSV_NAME	32	/* bytes of the other names */
#define TSV_NONE	UINT64_MAX	/* a count that does not apply */
#define TSV_VOID	(-1.0)	/* a measure that does not apply; every measure is 0 or more, or not finite */

#define TSV_EVENTS(X) \
	X(TSV_START, "start")		/* the process begins to train */ \
	X(TSV_STEP, "step")		/* the steps since the row before */ \
	X(TSV_EPOCH, "epoch")		/* the end of an epoch: the whole of it */ \
	X(TSV_VALIDATION, "validation")	/* every record of the validation set once */ \
	X(TSV_SAVE, "save")		/* weights are on disk */ \
	X(TSV_TRAFFIC, "traffic")	/* what moved since the rows of this event before: start-up, an epoch */ \
	X(TSV_LOAD, "load")		/* how busy process and host were since the row of this event before */ \
	X(TSV_END, "end")		/* the process is done: the whole run */

#define TSV_ENUM(name, text) name,
enum tsv_event { TSV_EVENTS(TSV_ENUM) TSV_EVENT_COUNT };
#undef TSV_ENUM

enum tsv_role { TSV_WORKER, TSV_SERVER, TSV_ROLE_COUNT };

struct tsv_row {
	double		 time_s;		/* since the process began */
	char		 host[TSV_HOST];
	enum tsv_role	 role;
	uint64_t	 rank;			/* from 0 */
	enum tsv_event	 event;
	uint64_t	 epoch;			/* from 0 */
	uint64_t	 step;			/* updates done over the whole run, so from 1 */
	uint64_t	 samples;		/* that loss and accuracy are over */
	double		 loss;			/* mean over the samples */
	double		 accuracy;		/* 0..1 */
	double		 samples_per_s;		/* of this rank */
	double		 lr;			/* of the last step */
	/* that the worker waited for servers, since the row before of its event */
	double		 wait_s;
	uint64_t	 sent_bytes, received_bytes;	/* since the process began */
	/* Columns from here on may be missing in a line, as in older logs. */
	/* in the time that the row is of; with a class: payload of that class */
	uint64_t	 rx_bytes, tx_bytes;
	char		 peer[TSV_NAME];	/* "server 0", "worker 0"; "all"; "" */
	char class[TSV_NAME]; /* of wire/peer_traffic.h; "wire": on the socket; "all": messages but
	                         those of the start; "" */
	double		 cpu;			/* processors that the process kept busy */
	double		 host_load;		/* share of the host's that were busy, 0..1 */
	double		 top5_accuracy;		/* 0..1: the class is among the five most probable */
	char		 device[TSV_NAME];	/* "gpu:0": the one that the row is about; "" */
	double		 device_load;		/* 0..1: the share of the time that it computed, for whomever */
	uint64_t	 device_bytes;		/* of its memory that are in use, by whomever */
};

/* A row of whom and what at 0 s, all else not applying.  A longer host is cut. */
struct tsv_row tsv_blank(enum tsv_event event, enum tsv_role role, uint64_t rank, const char *host);
/* Appends the line of column names, and a row's line.  Each returns 0 or ERR_NOMEM. */
int	 tsv_head(struct buf *out);
int	 tsv_put(struct buf *out, const struct tsv_row *r);
/*
 * Reads a line, with or without its newline.  Returns 1 for a row, 0 for an empty line, a comment or the columns'
 * names, ERR_FORMAT or ERR_LIMIT (the line noted names the column).
 */
int	 tsv_parse(const char *line, struct tsv_row *r);
/* Is this line the columns' names, or a comment of such a log? */
int	 tsv_is_head(const char *line);

#endif
