/*
 * report - a run's tables and figures as one page of HTML that needs nothing beside it: no script, no other file.
 *
 * Threads: no state.
 */
#ifndef LOG_REPORT_H
#define LOG_REPORT_H

#include "log/machine.h"
#include "log/plot.h"

/* Rows are means.  title is what the page is about.  0, ERR_SYS (also when gnuplot is missing or fails), ERR_NOMEM. */
int	 report_html(const struct curve_rows *rows, const struct machine_list *machines, unsigned figures,
    const char *title,
	    struct buf *out);

#endif
