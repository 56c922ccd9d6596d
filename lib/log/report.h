/*
 * report - tables and figures as one self-contained page of HTML, without scripts.
 *
 * Threads: no state.
 */
#ifndef LOG_REPORT_H
#define LOG_REPORT_H

#include "log/machine.h"
#include "log/plot.h"

/*
 * Appends a page with the figures and the title of opt.  Rows are means.  Returns 0, ERR_SYS (also if gnuplot is
 * missing or fails) or ERR_NOMEM.
 */
int	 report_html(const struct curve_rows *rows, const struct machine_list *machines, const struct rate_list *rates,
    const struct plot_opt *opt, struct buf *out);

#endif
