/*
 * doc - the tables and summaries that people put into documents, into what they measured.
 *
 *	| model | gpus | Accuracy (validation) | Epochs | Training time (s/epoch) | Throughput (samples/s) |
 *			a Markdown table with a head: columns are known by their names; others name the run;
 *			"8.1s" is 8.1, "6800 (8-80%)" a speed and a load of 0.8
 *	| 10 | 0.90 |	its rows
 *	rx   tx		and lines below of a name and two numbers, in the unit that a line before gave as (unit:GiB)
 *	bytes  2.73 TiB | 2.73 TiB	(also "bytes: rx 1 GiB | tx 2 GiB"),
 *			"packets 3 | 4", "average 5.1 Mbit/s | 5.2 Mbit/s", "max ..." and "time 761.53 minutes":
 *			the summary of vnstat -l
 *	batch131*2+93  RX bytes:4052730933873 (4.0 TB)  TX bytes:4078247662911 (4.0 TB)
 *			ifconfig's counters by step
 *	Acc@1 85.060 Acc@5 99.550
 *	Training/Testing Accuracy achieved: 87.3% / 71.7%,  Total training time: 451.8 minutes
 *	1.5	2026-11-21T19:10:00.123Z	host	eth0	end	...	netstat-logging's rows (watch/traffic.h)
 *
 * Summaries are named after the short line before them ("server1:"), and are about a whole run; so is a table that
 * names nothing by itself, behind an item of a list ("- batch size 512") with that, too.  "one epoch", "30 epochs" or
 * "epoch 50" in a line that measures nothing stands in front of the names of summaries until counters by step follow.
 * Threads: a struct doc is for one thread at a time.
 */
#ifndef LOG_DOC_H
#define LOG_DOC_H

#include "log/logline.h"

#define DOC_COLUMNS	16

enum doc_column { DOC_NAME, DOC_EPOCH, DOC_STEP, DOC_MEASURE };

/* One of zeros stands at a document's begin. */
struct doc {
	char	 heading[LOGLINE_LABEL];	/* the short line before */
	char	 item[LOGLINE_LABEL];		/* the item of a list behind that */
	/* the epochs that those below are of: "one epoch", "30 epochs", "epoch 50" */
	char	 span[24];
	double	 unit;				/* of numbers below rx and tx; 0 when none was given */
	/* of the table that this is in; 0 outside of one, -1 in one of other things */
	int	 columns;
	bool	 pairs;				/* below a head "rx tx" */
	enum doc_column column[DOC_COLUMNS];
	enum logline_measure measure[DOC_COLUMNS];
	bool	 begins;	/* the next measurement begins another table */
};

/*
 * Returns 1 when the line measures something, 0 when it is any other text; it then may name or begin what follows.
 * l->by_step, l->at and l->label are set.
 */
int	 doc_take(struct doc *d, const char *line, struct logline *l);

#endif
