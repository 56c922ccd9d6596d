/*
 * plot - draws figures of measurements with gnuplot(1).
 *
 * share/plot/epochs.gp has the style of the figures.  lib/log/plot_figure.c chooses their lines, axes and labels.
 * Threads: no state.
 */
#ifndef LOG_PLOT_H
#define LOG_PLOT_H

#include "log/curve.h"
#include "log/rate.h"
#include "log/spread.h"

enum plot_kind { PLOT_PNG, PLOT_SVG, PLOT_TEXT };

#define PLOT_ALL	(~0u)

struct plot_opt {
	enum plot_kind kind;
	unsigned figures;	/* a set from plot_figures(), or PLOT_ALL */
	/* columns and lines of a text, at least 40 and 8; wide: pixels of a picture, at least 400, or 0: 900 */
	unsigned wide, high;
	const char *title;
	const struct spread_list *spread;	/* histograms of staleness, lent */
};

/* The set of figures in a list like "accuracy,time", or 0 if a name is unknown. */
unsigned plot_figures(const char *names);

/*
 * Appends the figures that have data.  Rows are means.  Figures that do not fit into a text are omitted, and *omitted
 * counts them unless omitted is NULL.  Returns 0, ERR_ITEM if no figure has data, ERR_SYS (also if gnuplot is missing
 * or fails) or ERR_NOMEM.
 */
int	 plot_draw(const struct curve_rows *rows, const struct rate_list *rates, const struct plot_opt *opt,
    struct buf *out, unsigned *omitted);
/* Draws into a file, which appears only when it is complete. */
int	 plot_file(const struct curve_rows *rows, const struct rate_list *rates, const struct plot_opt *opt,
    const char *path);

#endif
