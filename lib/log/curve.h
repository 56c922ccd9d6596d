/*
 * curve - collects the measurements of training logs, and averages them by run, epoch and rank.
 *
 * lib/log reads logs and shows them.  tsv, logline and doc parse lines; curve, machine, rate, spread and profile
 * collect what they measure; table, plot with plot_figure, report and tfevents show it, with numbers from amount.
 *
 * Lines of several ranks may alternate in any way, and those of each rank keep their order.  Each of these begins a new
 * run:
 *	- another log
 *	- a line that names another run
 *	- an epoch two or more below the highest so far
 *	- a second epoch 0 of a rank after a second head
 *	- a step below the highest
 * The highest is that of the line's rank if the rank's log has a head, else that of all ranks.  If a rank reports a
 * measure twice for an epoch, as after a resumed run, the last value counts.  Speeds, and measures without a rank, are
 * averaged.  The bytes of an epoch are the difference of a counter since the epoch before.  In a log by epochs the
 * counter starts at 0, in one by steps at its first value.  A run whose log ends before an epoch does has the measures
 * of its steps instead.
 * Threads: one at a time.
 */
#ifndef LOG_CURVE_H
#define LOG_CURVE_H

#include "log/doc.h"
#include "log/table.h"

#define CURVE_MOST	(1u << 24)	/* most measurements */

#define CURVE_RANKS	256u	/* ranks with state of their own; further ranks cost an item for each counter */

struct curve_item;

struct curve {
	struct curve_item *item;
	size_t	 n, cap;
	uint32_t run;		/* the current one, from 0 */
	uint64_t highest;	/* epoch or step of the run */
	uint64_t top[CURVE_RANKS];	/* the same of each rank */
	bool	 headed[CURVE_RANKS];	/* the rank's log has had its head */
	bool	 heads[CURVE_RANKS];	/* the same since the last position: the head is that of a run that may begin */
	bool	 first[CURVE_RANKS];	/* the rank has had epoch or step 0 */
	uint64_t workers;	/* number of workers in the last head, or 0 */
	bool	 by_step;	/* the last position was a step */
	bool	 placed;	/* a line of the run had a position */
	bool	 finished;	/* an epoch of the run has measures, so that those of its steps do not count */
	size_t	 begin;		/* first item of the run */
	uint32_t added;		/* items so far, with those of steps that an epoch has replaced */
	bool	 further;	/* a rank's log has begun again, and no position has followed yet */
	bool	 fresh;		/* the next measurement begins another log */
	struct doc doc;
	char	 file[LOGLINE_LABEL];	/* name of runs without a name */
	char	(*label)[LOGLINE_LABEL];	/* name of each run */
	char	(*from)[LOGLINE_LABEL];	/* name of the log that each run is from, or "" if it is from several */
	uint32_t labels;
	char	log[LOGLINE_LABEL];	/* name of the log that is being read, or "" */
	size_t	 counter[CURVE_RANKS];	/* 1 + index of the item that the rank's next counter replaces */
};

/* The measures of an epoch or step, of one rank or the mean of all. */
struct curve_row {
	uint32_t run;		/* from 0 */
	uint64_t rank;		/* a rank, or LOGLINE_ANYONE */
	uint64_t at;		/* epoch, step or LOGLINE_WHOLE */
	bool	 by_step;
	bool	 has[LOGLINE_ALL];
	double	 value[LOGLINE_ALL];
};

struct curve_rows {
	struct curve_row *row;
	size_t	 n;
	uint32_t runs;
	char	(*label)[LOGLINE_LABEL];	/* name of each run or "", owned by the curve */
};

/*
 * Adds a line to a curve, which is empty if zeroed.  Returns 1 if the line measures something, 0 for other text,
 * ERR_FORMAT, ERR_LIMIT or ERR_NOMEM.
 */
int	 curve_add_line(struct curve *c, const char *line);
/* Begins another log.  Its runs have this name unless lines name them; "" is none. */
void	 curve_begin(struct curve *c, const char *name);
void	 curve_free(struct curve *c);	/* leaves an empty curve */

/* Names the log that the next lines are from.  It may continue a run. */
void	 curve_log(struct curve *c, const char *name);
/* Names runs after their logs if none has a name and each is from one log. */
void	 curve_label_logs(struct curve *c);
/* Makes rows by run, epoch and, if asked for, rank.  The caller frees them.  Returns 0 or ERR_NOMEM. */
int	 curve_rows(struct curve *c, bool by_rank, struct curve_rows *rows);
void	 curve_rows_free(struct curve_rows *rows);	/* leaves no rows */

/* The name of a run: its label, numbered if the run before has the same, or its number from 1. */
void	 curve_name(const struct curve_rows *rows, uint32_t run, char name[LOGLINE_LABEL]);

/* Makes a table of the rows, with the columns that have data. */
void	 curve_table(const struct curve_rows *rows, bool by_rank, struct table *t);
/*
 * Makes a table with a line for each run: epochs, best and last accuracy, and means of the rest.  Rows are means.  A
 * single run that has no name gets `name`.
 */
void	 curve_compare(const struct curve_rows *rows, const char *name, struct table *t);

#endif
