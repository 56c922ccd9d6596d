/*
 * plot - figures by epoch into a picture.
 *
 * gnuplot(1) draws, by share/plot/epochs.gp, which gets the variables kind ("png", "svg" or "text"), wide (columns of a
 * text), runs, by ("epoch" or "step"), single (1 when no run has two places), validated (1 when it is known how long
 * that took), have (the columns of $data with a number, between blanks), shown (the numbers of runs that have a place),
 * figures (words of the table below that have data), the array title and the datablock $data: at, then the measures of
 * log/logline.h in their order, NaN where there is none, a block a run.
 */
#ifndef LOG_PLOT_H
#define LOG_PLOT_H

#include "log/curve.h"

enum plot_kind { PLOT_PNG, PLOT_SVG, PLOT_TEXT };

/* Figures, and the measures that each shows. */
#define PLOT_FIGURES(X) \
	X("accuracy", LOGLINE_TRAIN_ACCURACY, LOGLINE_VAL_ACCURACY) \
	X("loss", LOGLINE_TRAIN_LOSS, LOGLINE_VAL_LOSS) \
	X("time", LOGLINE_SECONDS, LOGLINE_SECONDS) \
	X("speed", LOGLINE_SPEED, LOGLINE_SPEED) \
	X("traffic", LOGLINE_RX, LOGLINE_TX)

#define PLOT_ALL	(~0u)

/* "accuracy,time" into a set of figures; 0 when a name is none of them. */
unsigned plot_figures(const char *names);

/*
 * Appends the picture of those figures that have data; a text is `wide` columns.  Returns 0, ERR_ITEM when none of them
 * has any, ERR_SYS (also when gnuplot is missing or fails), ERR_NOMEM.
 */
int	 plot_draw(const struct curve_rows *rows, enum plot_kind kind, unsigned figures, unsigned wide,
    struct buf *out);
/* The same into path, which is written at once or not at all. */
int	 plot_file(const struct curve_rows *rows, enum plot_kind kind, unsigned figures, const char *path);

#endif
