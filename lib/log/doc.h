/*
 * doc - parses measurements in tables and summaries of documents.
 *
 *	| model | gpus | Accuracy (validation) | Epochs | Training time (s/epoch) | Throughput (samples/s) |
 *			a Markdown table: columns are known by their heads, and others name the run, in which a
 *			backslash escapes punctuation;
 *			"8.1s" is 8.1, "6800 (8-80%)" is a speed and a load of 0.8
 *	| 10 | 0.90 |	its rows
 *	rx   tx		and below it lines of a name and two numbers, in the unit of an earlier line "(unit:GiB)"
 *	bytes  2.73 TiB | 2.73 TiB	(also "bytes: rx 1 GiB | tx 2 GiB"),
 *			"packets 3 | 4", "average 5.1 Mbit/s | 5.2 Mbit/s", "max ..." and "time 761.53 minutes":
 *			the summary of vnstat -l
 *	batch131*2+93  RX bytes:4052730933873 (4.0 TB)  TX bytes:4078247662911 (4.0 TB)
 *			ifconfig's counters by step
 *	Acc@1 85.060 Acc@5 99.550
 *	Training/Testing Accuracy achieved: 87.3% / 71.7%,  Total training time: 451.8 minutes
 *	1.5	2026-11-21T19:10:00.123Z	host	eth0	end	...	netstat-logging's rows (watch/traffic.h)
 *
 * The short line before a summary ("server1:") names its run, and the summary describes the whole run.  A table whose
 * columns name nothing has the name of that line, followed by a list item after it ("- batch size 512").  "one epoch",
 * "30 epochs" or "epoch 50" in a line without measurements becomes a prefix of the names of summaries, until counters
 * by step follow.
 * Threads: one at a time.
 */
#ifndef LOG_DOC_H
#define LOG_DOC_H

#include "log/logline.h"

#define DOC_COLUMNS	16

enum doc_column { DOC_NAME, DOC_EPOCH, DOC_STEP, DOC_MEASURE };

/* The state between lines.  A zeroed struct is the start of a document. */
struct doc {
	char	 heading[LOGLINE_LABEL];	/* the last short line */
	char	 item[LOGLINE_LABEL];		/* the list item after it */
	char	 span[24];			/* "one epoch", "30 epochs", "epoch 50" */
	double	 unit;				/* unit of numbers below "rx tx", or 0 */
	int	 columns;	/* columns of the current table; 0 outside, -1 in a table without measurements */
	bool	 pairs;		/* the lines are below the head "rx tx" */
	enum doc_column column[DOC_COLUMNS];
	enum logline_measure measure[DOC_COLUMNS];
	bool	 begins;	/* the next measurement starts another table */
};

/*
 * Parses a line.  Returns 1 and sets l->by_step, l->at, l->label and the measures if it measures something.  Returns 0
 * for other text, which may name what follows.
 */
int	 doc_parse(struct doc *d, const char *line, struct logline *l);

#endif
