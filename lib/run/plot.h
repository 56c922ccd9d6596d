/*
 * plot - figures by epoch into a picture.
 *
 * gnuplot(1) draws, by share/plot/epochs.gp, which gets the variables runs, loss (1 when there is any), by ("epoch" or
 * "step") and the datablock $data: at, then the measures of run/logline.h in their order, NaN where there is none, a
 * block a run.
 */
#ifndef RUN_PLOT_H
#define RUN_PLOT_H

#include "run/curve.h"

/* Writes path, a PNG, at once or not at all.  Returns 0, ERR_SYS (also when gnuplot is missing or fails), ERR_NOMEM. */
int plot_png(const struct curve_rows *rows, const char *path);

#endif
