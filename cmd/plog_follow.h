/* plog_follow - reads logs while they grow, and shows the table as it grows. */
#ifndef CMD_PLOG_FOLLOW_H
#define CMD_PLOG_FOLLOW_H

#include "log/curve.h"
#include "log/machine.h"
#include "log/rate.h"
#include "log/spread.h"

#include <stdbool.h>

#define PLOG_LOW	12	/* fewest lines of a screen that figures share with a table */

/* What the logs hold. */
struct logs {
	struct curve curve;
	struct machine_list machines;
	struct rate_list rates;
	struct spread_list spread;
};

struct follow_opt {
	char *const *path;	/* ends with NULL; "-" is standard input */
	bool	 all, by_rank, plot;
	unsigned figures;
	const char *title;	/* title of the figures */
};

/*
 * Returns when every worker whose log begins has ended, or standard input and all pipes have.  Reads a log that is
 * truncated or replaced from its start.  Exits if a log cannot be read.
 */
void	plog_follow(const struct follow_opt *o, struct logs *l);

/* Adds a line of a log.  Returns as curve_add_line() does, but exits if memory or the most measurements are reached. */
int	plog_line(struct logs *l, const char *path, const char *line);

/* The name of a log's runs: its file's name without folders, or "standard input" for "-". */
const char *plog_name(const char *path);
/* The columns and lines of standard output, 80x24 if it is no terminal. */
void	plog_screen(unsigned *wide, unsigned *high);

#endif
