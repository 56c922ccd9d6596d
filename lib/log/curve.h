/*
 * curve - the lines of training logs into figures by epoch.
 *
 * Lines of several ranks and runs may come in any mix.  Another run begins with another log, with a line about a run of
 * another name, and with a line about an epoch two or more below the highest so far, or about a step below the highest.
 * The highest is that of the line's rank as long as the head of each rank's log has come once, else that of all ranks.
 * Of a measure that a rank gives twice for an epoch, as after a run was resumed, the last value counts; speeds, and
 * measures that no rank's name is on, are averaged.  Bytes of an epoch are what a counter grew by since the epoch
 * before; in a log by epochs it starts at 0, in one by steps at its first value.
 * Threads: a curve is for one thread at a time.
 */
#ifndef LOG_CURVE_H
#define LOG_CURVE_H

#include "log/doc.h"
#include "log/table.h"

#define CURVE_MOST	(1u << 24)	/* most measurements */

#define CURVE_RANKS	256u	/* whose counters are kept once an epoch; those of others cost an item a step */

struct curve_item;

struct curve {
	struct curve_item *item;
	size_t	 n, cap;
	uint32_t run;		/* that the next line belongs to */
	uint64_t highest;	/* epoch or step in it */
	uint64_t top[CURVE_RANKS];	/* of the lines of a rank */
	bool	 headed[CURVE_RANKS];	/* its log's head has come */
	uint64_t workers;	/* as the heads say; 0: none has */
	bool	 by_step, placed;	/* its lines are about steps; one was about a step or epoch at all */
	bool	 fresh;		/* another log begins with the next measurement */
	unsigned ends;		/* last lines of processes seen */
	struct doc doc;
	char	 file[LOGLINE_LABEL];	/* name of the runs that have none */
	char	(*label)[LOGLINE_LABEL];	/* of each run */
	uint32_t labels;
	size_t	 counter[CURVE_RANKS];	/* places of items that are replaced by later ones, and 1 more */
};

/* The figures of an epoch, or step: one rank's, or the mean of all. */
struct curve_row {
	uint32_t run;		/* from 0 */
	uint64_t rank;		/* or LOGLINE_ANYONE */
	uint64_t at;
	bool	 by_step;
	bool	 has[LOGLINE_ALL];
	double	 value[LOGLINE_ALL];
};

struct curve_rows {
	struct curve_row *row;
	size_t	 n;
	uint32_t runs;
	char	(*label)[LOGLINE_LABEL];	/* of each run, the curve's; "" for none */
};

/* A struct curve of zeros is empty.  Takes a line: 1 measured, 0 other text, ERR_FORMAT, ERR_LIMIT, ERR_NOMEM. */
int	 curve_take(struct curve *c, const char *line);
/* What follows is another log; runs in it that have no name get this one ("" for none). */
void	 curve_begin(struct curve *c, const char *name);
void	 curve_free(struct curve *c);	/* and is empty again */

/* By run, epoch and, unless it is the mean that is asked for, rank.  The rows are the caller's.  0 or ERR_NOMEM. */
int	 curve_rows(struct curve *c, bool by_rank, struct curve_rows *rows);
void	 curve_rows_free(struct curve_rows *rows);	/* and is empty again */

/* The name of a run: its label, numbered where runs of that label follow each other, else its number from 1. */
void	 curve_name(const struct curve_rows *rows, uint32_t run, char name[LOGLINE_LABEL]);

/* A table with the columns that have anything in them.  0 or ERR_NOMEM. */
int	 curve_table(const struct curve_rows *rows, bool by_rank, struct table *t);
/* A line a run, of rows that are means: epochs, best and last accuracy, and means of the rest. */
int	 curve_compare(const struct curve_rows *rows, struct table *t);

#endif
