/* plog_follow - logs that still grow: what is new in them, and its table line by line. */
#ifndef CMD_PLOG_FOLLOW_H
#define CMD_PLOG_FOLLOW_H

#include "log/curve.h"
#include "log/machine.h"

#include <stdbool.h>

struct follow_opt {
	char *const *path;	/* NULL behind the last; - is standard input */
	bool	 by_rank, compare, plot;
	unsigned figures;
};

/*
 * Until every worker whose log begins has ended, or standard input and all pipes have.  A log that is cut off, or
 * replaced by another file of its name, begins again.  Exits when a log cannot be read.
 */
void	follow(const struct follow_opt *o, struct curve *c, struct machine_list *m);

/*
 * A line of a log; exits when memory or the most measurements are reached.  Its error otherwise, or
 * 0 and 1 as curve_take().
 */
int	plog_line(struct curve *c, struct machine_list *m, const char *path, const char *line);

/* What a log's runs are called after: its file's name. */
const char *plog_name(const char *path);
/* Columns for a drawing on standard output. */
unsigned plog_wide(void);

#endif
