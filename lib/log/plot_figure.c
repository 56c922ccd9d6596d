/* plot_figure - the lines, axes and labels of one figure. */
#include "log/plot_figure.h"

#include "base/err.h"
#include "base/grow.h"
#include "log/amount.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_POINTS	600	/* most points of a line of rates */
#define LOG_RATIO	8	/* a loss that changes by this factor has a logarithmic axis */
#define FAR_RATIO	100	/* so have other values of several runs */

static const struct {
	const char *name, *unit, *unit_by_step;
	enum logline_measure measure[2];
	const char *which[2];	/* names of the two measures */
} figures[PLOT_FIGURE_KINDS] = {
	{ "accuracy", "accuracy", "accuracy", { LOGLINE_TRAIN_ACCURACY, LOGLINE_VAL_ACCURACY },
	    { "train", "validation" } },
	{ "loss", "loss", "loss", { LOGLINE_TRAIN_LOSS, LOGLINE_VAL_LOSS }, { "train", "validation" } },
	{ "time", "seconds an epoch", "seconds a step", { LOGLINE_SECONDS, LOGLINE_VAL_SECONDS },
	    { "training", "with validation" } },
	{ "speed", "samples/s", "samples/s", { LOGLINE_SPEED, LOGLINE_SPEED }, { "", "" } },
	{ "traffic", "an epoch", "since the step before", { LOGLINE_RX, LOGLINE_TX }, { "received", "sent" } },
	{ "rate", "Mbit/s", "Mbit/s", { LOGLINE_RX_RATE, LOGLINE_TX_RATE }, { "received", "sent" } },
	{ "lr", "loss", "loss", { LOGLINE_TRAIN_LOSS, LOGLINE_VAL_LOSS }, { "", "" } },
	{ "staleness", "updates behind", "updates behind", { LOGLINE_STALENESS_MOST, LOGLINE_STALENESS },
	    { "most", "mean" } },
	{ "histogram", "% of gradients", "% of gradients", { LOGLINE_STALENESS, LOGLINE_STALENESS }, { "", "" } },
};
enum { LOSS = 1, TIME = 2, TRAFFIC = 4, RATE = 5, LR = 6, HISTOGRAM = 8 };

/* Dark enough for text on white. */
static const uint32_t colours[] = { 0x1b6ca8, 0xc8442c, 0x2e8540, 0x7b4ea3, 0xa8720a, 0x00798c, 0xb0307a, 0x8d5524,
    0x4d4d4d, 0x3d4db7 };
#define COLOURS	(sizeof(colours) / sizeof(*colours))

unsigned
plot_figures(const char *names)
{
	unsigned set = 0;
	size_t i, n;

	for (;; names += n + 1) {
		n = strcspn(names, ",");
		for (i = 0; i < PLOT_FIGURE_KINDS; i++)
			if (strlen(figures[i].name) == n && strncmp(names, figures[i].name, n) == 0)
				break;
		if (i == PLOT_FIGURE_KINDS)
			return 0;
		set |= 1u << i;
		if (names[n] == 0)
			return set;
	}
}

/* Halfway to white. */
static uint32_t
lighten_colour(uint32_t rgb)
{
	return (rgb >> 1 & 0x7f7f7f) + 0x7f7f7f;
}

static int
add_line(struct plot_figure *f, const char *name, size_t run, uint32_t colour, bool dashed)
{
	struct plot_line *p = grow_by_one(f->line, f->lines, &f->lines_cap, sizeof(*p));

	if (p == NULL)
		return ERR_NOMEM;
	f->line = p;
	p[f->lines] = (struct plot_line){ .colour = colour, .mark = (unsigned)(run / COLOURS), .dashed = dashed,
		.first = f->points };
	snprintf(p[f->lines++].name, LOGLINE_LABEL, "%s", name);
	return 0;
}

static int
add_point(struct plot_figure *f, double x, double y)
{
	double (*p)[2] = grow_by_one(f->point, f->points, &f->points_cap, sizeof(*p));

	if (p == NULL)
		return ERR_NOMEM;
	f->point = p;
	p[f->points][0] = x;
	p[f->points++][1] = y;
	f->line[f->lines - 1].n++;
	return 0;
}

static bool
get_value(const struct curve_row *r, unsigned kind, int which, double *v)
{
	enum logline_measure m = figures[kind].measure[which];

	/* Losses of different learning rates have a figure of their own. */
	if (r->at == LOGLINE_WHOLE || !r->has[m] || r->has[LOGLINE_LR] != (kind == LR))
		return false;
	*v = r->value[m];
	if (kind == TIME && which == 1) {
		if (!r->has[LOGLINE_SECONDS])
			return false;
		*v += r->value[LOGLINE_SECONDS];
	}
	return isfinite(*v);
}

/* Returns whether any of n rows has a value. */
static bool
has_values(const struct curve_row *r, size_t n, unsigned kind, int which)
{
	double v;

	for (size_t i = 0; i < n; i++)
		if (get_value(&r[i], kind, which, &v))
			return true;
	return false;
}

/* Counts the runs with a position.  *single says whether none has two, so that there is no line to draw. */
static unsigned
count_runs(const struct curve_rows *rows, bool *single)
{
	unsigned n = 0;

	*single = true;
	for (size_t i = 0, last = SIZE_MAX; i < rows->n; i++) {
		if (rows->row[i].at == LOGLINE_WHOLE)
			continue;
		if (last < i && rows->row[last].run == rows->row[i].run)
			*single = false;
		else
			n++;
		last = i;
	}
	return n;
}

/* Adds the line of one measure of one run, which has n rows. */
static int
add_run(struct plot_figure *f, const struct curve_rows *rows, size_t first, size_t n, unsigned kind, int which,
    bool pair)
{
	const struct curve_row *r = &rows->row[first];
	/* Rows of dots have names, and need no colours. */
	const uint32_t colour = colours[f->dots ? 0 : f->many ? r->run % COLOURS : pair && which == 0];
	char name[LOGLINE_LABEL] = "";
	double v;

	if (!has_values(r, n, kind, which))
		return 0;
	if (!f->many && pair)
		snprintf(name, sizeof(name), "%s", figures[kind].which[which]);
	else if (f->many && !(pair && which == 0 && has_values(r, n, kind, 1)))
		curve_name(rows, r->run, name);
	ERR_TRY(add_line(f, name, r->run, f->many && !f->dots && pair && which == 0 ? lighten_colour(colour) : colour,
	    pair && which == 0));
	for (; n > 0; n--, r++)
		if (get_value(r, kind, which, &v))
			ERR_TRY(f->dots ? add_point(f, v, f->rows) : add_point(f, kind == LR ? r->value[LOGLINE_LR] :
			    (double)r->at, v));
	return 0;
}

static int
add_runs(struct plot_figure *f, const struct curve_rows *rows, unsigned kind, unsigned pairs)
{
	const char *const *which = figures[kind].which;
	bool has[2] = { has_values(rows->row, rows->n, kind, 0), has_values(rows->row, rows->n, kind, 1) };
	bool pair, by_step = false;
	unsigned runs = count_runs(rows, &f->dots);
	const char *only, *unit;

	f->many = runs > 1;
	f->dots &= f->many;
	has[1] &= which[1][0] != 0;
	pair = has[0] && has[1] && runs <= pairs;
	only = pair || (kind == TIME && !has[1]) ? "" : which[has[1]];
	for (size_t i = 0; i < rows->n; i++)
		by_step |= rows->row[i].by_step;
	f->whole = kind != LR;
	f->log_positions = kind == LR;
	snprintf(f->xlabel, sizeof(f->xlabel), "%s", kind == LR ? "learning rate" : by_step ? "step" : "epoch");
	unit = by_step ? figures[kind].unit_by_step : figures[kind].unit;
	if (only[0] == 0)
		snprintf(f->ylabel, sizeof(f->ylabel), "%s", unit);
	else if (kind == TIME)
		snprintf(f->ylabel, sizeof(f->ylabel), "%s, %s", unit, only);
	else
		snprintf(f->ylabel, sizeof(f->ylabel), "%s %s", only, unit);
	if (pair && f->many) {
		f->first = which[0];
		f->second = which[1];
	}
	for (size_t i = 0, k; i < rows->n; i = k) {
		for (k = i; k < rows->n && rows->row[k].run == rows->row[i].run; k++)
			continue;
		f->rows += has_values(&rows->row[i], k - i, kind, 0) || has_values(&rows->row[i], k - i, kind, 1);
		if (pair || !has[1])
			ERR_TRY(add_run(f, rows, i, k - i, kind, 0, pair));
		if (has[1])
			ERR_TRY(add_run(f, rows, i, k - i, kind, 1, pair));
	}
	return 0;
}

/* Adds the line of received or sent bytes of a series, with means of adjacent points if there are many. */
static int
add_rate(struct plot_figure *f, const struct rate_series *s, int which, double unit_s)
{
	size_t n = (s->n + RATE_POINTS - 1) / RATE_POINTS;

	for (size_t i = 0, k; i < s->n; i = k) {
		double sum = 0;

		for (k = i; k < s->n && k < i + n; k++)
			sum += which == 0 ? s->point[k].rx : s->point[k].tx;
		ERR_TRY(add_point(f, s->point[k - 1].time_s / unit_s, sum / (double)(k - i)));
	}
	return 0;
}

static int
add_rates(struct plot_figure *f, const struct rate_list *l)
{
	double longest = 0, unit_s = 1;
	bool many = l->n > 1;

	for (size_t i = 0; i < l->n; i++)
		longest = fmax(longest, l->series[i].point[l->series[i].n - 1].time_s);
	if (longest > 600)
		unit_s = longest > 3 * 3600 ? 3600 : 60;
	snprintf(f->xlabel, sizeof(f->xlabel), "%s", unit_s > 60 ? "hours" : unit_s > 1 ? "minutes" : "seconds");
	snprintf(f->ylabel, sizeof(f->ylabel), "%s", figures[RATE].unit);
	if (many) {
		f->first = figures[RATE].which[0];
		f->second = figures[RATE].which[1];
	}
	for (size_t i = 0; i < l->n; i++)
		for (int which = 0; which < 2; which++) {
			uint32_t colour = colours[many ? i % COLOURS : which == 0];

			ERR_TRY(add_line(f, !many ? figures[RATE].which[which] : which == 1 ? l->series[i].name : "", i,
			    many && which == 0 ? lighten_colour(colour) : colour, which == 0));
			ERR_TRY(add_rate(f, &l->series[i], which, unit_s));
		}
	return 0;
}

/* Adds the line of a worker: for each number of updates the share of its gradients that were as many behind. */
static int
add_spread(struct plot_figure *f, const struct spread_worker *w)
{
	double all = 0;

	for (size_t i = 0; i < w->n; i++)
		all += w->bin[i].gradients;
	for (size_t i = 0; i < w->n; i++) {
		const double from = (double)w->bin[i].from, to = (double)w->bin[i].to;

		/* Bins without gradients have no rows. */
		if (from > 0 && (i == 0 || w->bin[i - 1].to + 1 < w->bin[i].from))
			ERR_TRY(add_point(f, from - 1, 0));
		ERR_TRY(add_point(f, (from + to) / 2, 100 * w->bin[i].gradients / all / (to - from + 1)));
		if (i + 1 == w->n || w->bin[i + 1].from > w->bin[i].to + 1)
			ERR_TRY(add_point(f, to + 1, 0));
	}
	return 0;
}

static int
add_spreads(struct plot_figure *f, const struct spread_list *l)
{
	bool logs = false;

	f->whole = f->many = true;
	snprintf(f->xlabel, sizeof(f->xlabel), "%s", "updates behind");
	snprintf(f->ylabel, sizeof(f->ylabel), "%s", figures[HISTOGRAM].unit);
	for (size_t i = 1; i < l->n; i++)
		logs |= strcmp(l->worker[i].log, l->worker[0].log) != 0;
	for (size_t i = 0; i < l->n; i++) {
		char name[LOGLINE_LABEL];

		snprintf(name, sizeof(name), "%.60s%sworker %" PRIu64, logs ? l->worker[i].log : "", logs ? " " : "",
		    l->worker[i].rank);
		ERR_TRY(add_line(f, name, i, colours[i % COLOURS], false));
		ERR_TRY(add_spread(f, &l->worker[i]));
	}
	return 0;
}

/*
 * The largest first value of a line.  Far above it, a test of learning rates shows only that the loss
 * diverges.
 */
static double
find_start(const struct plot_figure *f)
{
	double start = -INFINITY;

	for (size_t i = 0; i < f->lines; i++)
		if (f->line[i].n > 0)
			start = fmax(start, f->point[f->line[i].first][1]);
	return start;
}

/* Fits the axis of values: logarithmic if values differ much, from 0 if they are at most half of the largest. */
static void
fit_values(struct plot_figure *f, unsigned kind)
{
	const int axis = f->dots ? 0 : 1;
	const bool loss = kind == LOSS || kind == LR;
	double low = INFINITY, high = -INFINITY, margin;

	for (size_t i = 0; i < f->points; i++) {
		low = fmin(low, f->point[i][axis]);
		high = fmax(high, f->point[i][axis]);
	}
	if (kind == LR)
		high = fmin(high, 1.5 * find_start(f));
	f->log = low > 0 && kind != 0 && high > low * (loss ? LOG_RATIO : FAR_RATIO) && (loss || f->lines > 2);
	if (f->log) {
		f->low = low / pow(high / low, 0.05);
		f->high = high * pow(high / low, 0.05);
		return;
	}
	margin = 0.05 * (high - low);
	if (high - low < 0.01 * fabs(high) || high == low)	/* all but equal: do not magnify the difference */
		margin = high != 0 ? 0.02 * fabs(high) : 0.5;
	f->high = kind == 0 && high <= 1 ? fmin(high + margin, 1) : high + margin;
	f->low = low >= 0 && low <= 0.5 * high && kind != 0 && kind != LR ? 0 : low >= 0 ? fmax(low - margin, 0) :
	    low - margin;
}

/* Fits the axis of positions.  A single position has half a position on each side. */
static void
fit_positions(struct plot_figure *f)
{
	f->from = INFINITY;
	f->to = -INFINITY;
	for (size_t i = 0; i < f->points; i++) {
		f->from = fmin(f->from, f->point[i][0]);
		f->to = fmax(f->to, f->point[i][0]);
	}
	if (f->from == f->to) {
		f->from -= 0.5;
		f->to += 0.5;
	}
}

/* Bytes have a unit in powers of 1024, so that the axis has round numbers. */
static void
scale_bytes(struct plot_figure *f)
{
	const int axis = f->dots ? 0 : 1;
	char text[sizeof(f->ylabel)];
	double most = 0, unit = 1;
	int i = 0;

	for (size_t k = 0; k < f->points; k++)
		most = fmax(most, f->point[k][axis]);
	for (; i < 6 && most >= 1024 * unit; i++)
		unit *= 1024;
	for (size_t k = 0; k < f->points; k++)
		f->point[k][axis] /= unit;
	memcpy(text, f->ylabel, sizeof(text));
	snprintf(f->ylabel, sizeof(f->ylabel), "%s %.50s", amount_units[i], text);
}

int
plot_figure_make(unsigned kind, const struct curve_rows *rows, const struct rate_list *rates,
    const struct spread_list *spread, unsigned pairs, struct plot_figure *f)
{
	int e = 0;

	*f = (struct plot_figure){ .lines = 0 };
	if (kind == HISTOGRAM)
		e = spread != NULL ? add_spreads(f, spread) : 0;
	else if (kind != RATE)
		e = add_runs(f, rows, kind, pairs);
	else if (rates->n > 0)
		e = add_rates(f, rates);
	if (f->lines == 0 || e < 0)
		return e;
	if (kind == TRAFFIC)
		scale_bytes(f);
	fit_values(f, kind);
	fit_positions(f);
	return 0;
}

/* The place of a line's last point above the lower end of the axis, 0..1. */
static double
find_last_place(const struct plot_figure *f, const struct plot_line *l)
{
	double v = f->point[l->first + l->n - 1][1];

	return f->log ? log(v / f->low) / log(f->high / f->low) : (v - f->low) / (f->high - f->low);
}

static int
compare_by_place(const void *pa, const void *pb)
{
	const struct plot_line *a = *(const struct plot_line *const *)pa, *b = *(const struct plot_line *const *)pb;

	return a->label < b->label ? -1 : a->label > b->label;
}

int
plot_figure_place_names(struct plot_figure *f, double gap)
{
	struct plot_line **named = calloc(f->lines + 1, sizeof(struct plot_line *));
	size_t n = 0;

	if (named == NULL)
		return err_nomem();
	for (size_t i = 0; i < f->lines; i++) {
		struct plot_line *l = &f->line[i];

		if (l->name[0] != 0 && l->n > 0) {
			l->label = find_last_place(f, l);
			named[n++] = l;
		}
	}
	qsort(named, n, sizeof(struct plot_line *), compare_by_place);
	for (size_t i = 1; i < n; i++)
		named[i]->label = fmax(named[i]->label, named[i - 1]->label + gap);
	/* Names that were pushed above the figure push others down. */
	for (size_t i = n; i-- > 0;)
		named[i]->label = fmin(named[i]->label, i + 1 == n ? 1 : named[i + 1]->label - gap);
	free(named);
	return 0;
}

void
plot_figure_free(struct plot_figure *f)
{
	free(f->line);
	free(f->point);
	*f = (struct plot_figure){ .lines = 0 };
}
