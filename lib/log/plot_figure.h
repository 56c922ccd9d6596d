/*
 * plot_figure - the lines, axes and labels of one figure.
 *
 * A figure has up to two measures: training and validation, or received and sent bytes.  A position is a value of the x
 * axis: an epoch, a step, a time, a learning rate or a number of updates.  With one run each measure is a line of its
 * own colour.  With several, each run has a colour, and its first measure is dashed and lighter.  With more than
 * `pairs` runs only the second measure is drawn, if there is one.  If no run has two positions, each run is a row of
 * dots instead.
 *
 * Threads: no state.
 */
#ifndef LOG_PLOT_FIGURE_H
#define LOG_PLOT_FIGURE_H

#include "log/plot.h"

#define PLOT_FIGURE_KINDS	9

struct plot_line {
	char	 name[LOGLINE_LABEL];	/* "" for none */
	uint32_t colour;		/* 0xrrggbb */
	unsigned mark;			/* tells runs of one colour apart, from 0 */
	bool	 dashed;
	size_t	 first, n;		/* points */
	double	 label;			/* place of the name above the lower end of the axis, 0..1 */
};

struct plot_figure {
	char	 xlabel[32], ylabel[64];
	bool	 many;			/* lines have the colours and names of runs, not of measures */
	bool	 dots;			/* x is the value, and y the row of the run */
	unsigned rows;			/* rows of dots, from 1 at the top */
	bool	 log;			/* the axis of the values is logarithmic */
	bool	 whole;			/* positions are whole numbers */
	bool	 log_positions;		/* the axis of positions is logarithmic */
	double	 from, to;		/* range of positions */
	double	 low, high;		/* range of values */
	const char *first, *second;	/* meaning of dashed and solid lines, or NULL */
	struct plot_line *line;
	size_t	 lines, lines_cap;
	double	(*point)[2];
	size_t	 points, points_cap;
};

/*
 * Makes figure `kind` of rows that are means, of rates, or of histograms of staleness.  Up to `pairs` runs have both
 * measures.  Without data the figure has no lines.  Returns 0 or ERR_NOMEM.
 */
int	 plot_figure_make(unsigned kind, const struct curve_rows *rows, const struct rate_list *rates,
    const struct spread_list *spread, unsigned pairs, struct plot_figure *f);
/* Places the names of lines at the ends of the lines, at least gap apart.  Returns 0 or ERR_NOMEM. */
int	 plot_figure_place_names(struct plot_figure *f, double gap);
void	 plot_figure_free(struct plot_figure *f);

#endif
