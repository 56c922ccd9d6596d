/*
 * profile - what each layer of a net costs in a training step, as a table for programs and for people.
 *
 *	# tally 0.1 tool=pworker host=a net=lenet engine=cpu ...	a comment
 *	layer	direction	step_ms	step_share ...		the column names
 *	conv1	forward	1.23	0.05 ...			rows; a cell is empty if it does not apply
 *
 * log(5) describes the columns.  Threads: no state.
 */
#ifndef LOG_PROFILE_H
#define LOG_PROFILE_H

#include "log/table.h"

/* Means of a step. */
struct profile_row {
	const char *layer, *direction;
	double	    seconds;
	double	    flops;		/* floating-point operations; 0: not counted */
	double	    bytes;		/* operands; 0: not counted */
};

/* What the shares of a row relate to. */
struct profile_whole {
	double step_s;
	double flops_per_s, bytes_per_s;	/* the measured peaks */
};

/* Appends the line of column names, and a row's line.  Each returns 0 or ERR_NOMEM. */
int	 profile_head(struct buf *out);
int	 profile_put(struct buf *out, const struct profile_row *r, const struct profile_whole *whole);

/* Adds the columns to an empty table. */
void	 profile_columns(struct table *t);
/*
 * Adds the row of a line, with or without its newline, to the table.  Returns 1 for a row, 0 for an empty line, a
 * comment or the column names, or ERR_FORMAT with the name of the column.
 */
int	 profile_read(const char *line, struct table *t);

#endif
