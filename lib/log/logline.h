/*
 * logline - one line of a training log, ours or another's, into what it measured.
 *
 * Read are rows of log/tsv.h and lines for people, whatever stands in front of them ("INFO:root:", "worker 1: ",
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

#define LOGLINE_ANYONE	UINT64_MAX	/* the line does not say whose it is */
#define LOGLINE_WHOLE	UINT64_MAX	/* it is about the whole of a run */
#define LOGLINE_LABEL	96		/* bytes of a run's name, its zero counted */

enum logline_measure {
	LOGLINE_TRAIN_ACCURACY,
	LOGLINE_TRAIN_LOSS,
	LOGLINE_VAL_ACCURACY,
	LOGLINE_VAL_LOSS,
	LOGLINE_SECONDS,	/* of the epoch's training; of a step where the line is a step's */
	LOGLINE_SPEED,		/* samples/s, of whom the line is about */
	LOGLINE_LOAD,		/* of the devices, 0..1 */
	LOGLINE_RX,		/* bytes that came in */
	LOGLINE_TX,		/* bytes that went out */
	LOGLINE_VAL_SECONDS,	/* of the epoch's validation */
	LOGLINE_TRAIN_TOP5,	/* accuracy by the five most probable classes */
	LOGLINE_VAL_TOP5,
	LOGLINE_GLOBAL_STEP,	/* all workers' steps so far, where the line is a step's */
	LOGLINE_RX_PACKETS,	/* what was sent always behind what came in */
	LOGLINE_TX_PACKETS,
	LOGLINE_RX_RATE,	/* Mbit/s on average */
	LOGLINE_TX_RATE,
	LOGLINE_RX_PEAK,	/* Mbit/s at most */
	LOGLINE_TX_PEAK,
	LOGLINE_MEASURES,
	/* Counters: what they grow by between two rows is traffic. */
	LOGLINE_RX_SO_FAR = LOGLINE_MEASURES,
	LOGLINE_TX_SO_FAR,
	LOGLINE_ALL
};

struct logline {
	uint64_t rank;		/* or LOGLINE_ANYONE */
	uint64_t at;		/* epoch, from 0, or step; or LOGLINE_WHOLE */
	bool	 by_step;	/* at is a step */
	bool	 ends;		/* the last line of its process */
	char	 label[LOGLINE_LABEL];	/* of the run that it is about; "" when the line does not say */
	bool	 has[LOGLINE_ALL];
	double	 value[LOGLINE_ALL];
};

/*
 * Returns 1 when the line measures something, or is a step that tells how far the run is; 0 when it is any other text;
 * ERR_FORMAT or ERR_LIMIT when it is a row of
 * ours that is broken, which is told by its first cells.
 */
int logline_parse(const char *line, struct logline *l);

/*
 * Does another log begin here?  Where logs were pasted into one text: a fence (```), a table's
 * head, "session started".
 */
bool logline_begins(const char *line);

#endif
