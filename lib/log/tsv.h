/*
 * tsv - formats and parses the rows of a run's log, one measurement a line.  The format is described in log(5).
 *
 *	# tally 0.1 tool=pworker host=a rank=0 workers=2 ...	a comment: what wrote the log
 *	time_s	host	role	rank	event	epoch	...		the column names, with units
 *	12.345	a	worker	0	step	0	...	rows; a cell is empty if its column does not apply
 *
 * Logs of several processes can be joined, and their lines may alternate in any way if those of each process keep
 * their order: each row names its process, and readers skip repeated heads.  A reader ignores cells after the last
 * column that it knows.
 * Threads: no state.
 */
#ifndef LOG_TSV_H
#define LOG_TSV_H

#include "base/buf.h"

#include <stdint.h>

#define TSV_HOST	256	/* bytes of a host's name with its zero */
#define TSV_NAME	32	/* bytes of the other names */
#define TSV_NONE	UINT64_MAX	/* a count that does not apply */
#define TSV_VOID	(-1.0)	/* a measure that does not apply; others are at least 0, NaN or infinite */

#define TSV_EVENTS(X) \
	X(TSV_START, "start")		/* training begins */ \
	X(TSV_STEP, "step")		/* the steps since the row before */ \
	X(TSV_SWEEP, "sweep")		/* a step of a run that tries learning rates */ \
	X(TSV_EPOCH, "epoch")		/* a whole epoch, at its end */ \
	X(TSV_VALIDATION, "validation")	/* one pass over the validation data */ \
	X(TSV_SAVE, "save")		/* a checkpoint is on disk */ \
	X(TSV_TRAFFIC, "traffic")	/* bytes since the previous rows of this event */ \
	X(TSV_STALENESS, "staleness")	/* how far behind gradients were since the previous rows of this event */ \
	X(TSV_LOAD, "load")		/* load of process and host since the previous row of this event */ \
	X(TSV_END, "end")		/* the whole run, at the end of the process */

#define TSV_ENUM(name, text) name,
enum tsv_event { TSV_EVENTS(TSV_ENUM) TSV_EVENT_COUNT };
#undef TSV_ENUM

enum tsv_role { TSV_WORKER, TSV_SERVER, TSV_ROLE_COUNT };

struct tsv_row {
	double		 time_s;		/* seconds since the process began */
	char		 host[TSV_HOST];
	enum tsv_role	 role;
	uint64_t	 rank;			/* from 0 */
	enum tsv_event	 event;
	uint64_t	 epoch;			/* from 0 */
	uint64_t	 step;			/* updates since the start of the run, from 1 */
	uint64_t	 samples;		/* samples over which loss and accuracy are means */
	double		 loss;			/* mean */
	double		 accuracy;		/* 0..1 */
	double		 samples_per_s;		/* speed of this rank */
	double		 lr;			/* learning rate of the last step */
	double		 wait_s;		/* waiting for servers since the previous row of this event */
	uint64_t	 sent_bytes, received_bytes;	/* bytes since the process began */
	/* Older logs have no columns from here on. */
	uint64_t	 rx_bytes, tx_bytes;	/* bytes of the row; of one class of payload if class is set */
	char		 peer[TSV_NAME];	/* "server 0", "worker 0"; "all"; "" */
	char		 class[TSV_NAME];	/* a class of wire/peer_traffic.h, "wire", "all" or "" */
	double		 cpu;			/* processors kept busy by the process */
	double		 host_load;		/* share of the host's processors that was busy, 0..1 */
	double		 top5_accuracy;		/* share of samples whose class is among the five most probable, 0..1 */
	char		 device[TSV_NAME];	/* device of the row, "gpu:0", or "" */
	double		 device_load;		/* share of the time that it computed, for any process, 0..1 */
	uint64_t	 device_bytes;		/* memory in use, by any process */
	uint64_t	 updates;		/* gradients of slices in the row */
	double		 staleness;		/* mean number of updates that these were behind */
	uint64_t	 staleness_min, staleness_max;	/* the least and the most, or the bounds of a bin */
};

/* A row at 0 s in which nothing else applies.  A longer host is truncated. */
struct tsv_row tsv_blank(enum tsv_event event, enum tsv_role role, uint64_t rank, const char *host);
/* Append the line of column names, and a row.  Each returns 0 or ERR_NOMEM. */
int	 tsv_head(struct buf *out);
int	 tsv_put(struct buf *out, const struct tsv_row *r);
/*
 * Parses a line, with or without its newline.  Returns 1 for a row, 0 for an empty line or a head, or ERR_FORMAT or
 * ERR_LIMIT with a message that names the column.
 */
int	 tsv_parse(const char *line, struct tsv_row *r);
/* Returns whether the line is a comment or the column names. */
int	 tsv_is_head(const char *line);

#endif
