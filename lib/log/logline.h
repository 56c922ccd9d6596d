/*
 * logline - parses the measurements in one line of a training log.
 *
 * It reads rows of log/tsv.h, and these lines for people with any prefix ("INFO:root:", "worker 1: ",
 * "2016-01-01 12:00:00 Node[1] "):
 *
 *	Epoch[3] Train-accuracy=0.52			MXNet; Iteration[3] before October 2015
 *	Epoch[3] Time cost=12.3
 *	Epoch[3] Traffic rx=1048576 tx=1024 bytes	netstat-logging --filter
 *	Epoch[3] Validation-accuracy=0.6
 *	Epoch[3] Batch [20]	Speed: 175.98 samples/sec	Train-accuracy=0.52	(Iter[3] without a metric)
 *	After 100 training steps (95 global steps), loss on training batch is 0.81, accuracy is 0.79. (0.014 sec/batch)
 *	| 10 | 0.904931 | 0.867488 | 70 |		epoch, train, validation, seconds: MXNet's tools/parse_log.py
 *
 * Source: mxnet python/mxnet/{model,callback}.py and tools/parse_log.py, 2015-2017.  Threads: no state.
 */
#ifndef LOG_LOGLINE_H
#define LOG_LOGLINE_H

#include <stdbool.h>
#include <stdint.h>

#define LOGLINE_ANYONE	UINT64_MAX	/* the line names no rank */
#define LOGLINE_WHOLE	UINT64_MAX	/* the line is about a whole run */
#define LOGLINE_LABEL	96		/* bytes of a run's name with its zero */

enum logline_measure {
	LOGLINE_TRAIN_ACCURACY,
	LOGLINE_TRAIN_LOSS,
	LOGLINE_VAL_ACCURACY,
	LOGLINE_VAL_LOSS,
	LOGLINE_SECONDS,	/* duration of a step, or of the training of an epoch */
	LOGLINE_SPEED,		/* samples/s of the rank */
	LOGLINE_LOAD,		/* load of the devices, 0..1 */
	LOGLINE_RX,		/* bytes received */
	LOGLINE_TX,		/* bytes sent; TX always follows RX */
	LOGLINE_VAL_SECONDS,	/* duration of the validation of the epoch */
	LOGLINE_TRAIN_TOP5,	/* share of samples whose class is among the five most probable, 0..1 */
	LOGLINE_VAL_TOP5,
	LOGLINE_GLOBAL_STEP,	/* steps of all workers so far */
	LOGLINE_RX_PACKETS,
	LOGLINE_TX_PACKETS,
	LOGLINE_RX_RATE,	/* Mbit/s on average */
	LOGLINE_TX_RATE,
	LOGLINE_RX_PEAK,	/* Mbit/s at most */
	LOGLINE_TX_PEAK,
	LOGLINE_LR,		/* learning rate of a step that tries it */
	LOGLINE_STALENESS,	/* updates that gradients were behind, on average */
	LOGLINE_STALENESS_MOST,
	LOGLINE_MEASURES,
	/* Counters of bytes since the start; their differences are RX and TX. */
	LOGLINE_RX_SO_FAR = LOGLINE_MEASURES,
	LOGLINE_TX_SO_FAR,
	LOGLINE_ALL
};

struct logline {
	uint64_t rank;		/* a rank, or LOGLINE_ANYONE */
	uint64_t at;		/* epoch from 0, step, or LOGLINE_WHOLE */
	bool	 by_step;	/* at is a step */
	uint64_t step;		/* step of the measures if at is the epoch of a single step, else 0 */
	bool	 ends;		/* the last line of a worker */
	char	 label[LOGLINE_LABEL];	/* name of the run, or "" */
	bool	 has[LOGLINE_ALL];
	double	 value[LOGLINE_ALL];
};

/*
 * Parses a line.  Returns 1 if it measures something or gives a step, and 0 for other text.  Returns ERR_FORMAT or
 * ERR_LIMIT if it starts as a row of log/tsv.h and is malformed.
 */
int logline_parse(const char *line, struct logline *l);

void logline_set(struct logline *l, enum logline_measure m, double v);

/* Returns whether another log begins in a text of several: at a fence (```), a table's head or "session started". */
bool logline_begins(const char *line);

#endif
