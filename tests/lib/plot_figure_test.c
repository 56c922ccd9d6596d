/* plot_figure_test - lines, axes and places of names of figures. */
#include "log/plot_figure.h"

#include "tap.h"

#include <stdlib.h>

enum { ACCURACY, LOSS, TIME, SPEED, TRAFFIC };

static struct curve_rows rows;
static char labels[20][LOGLINE_LABEL];	/* runs without names */

/* Rows of so many runs and epochs, all with one measure. */
static void
make_rows(uint32_t runs, uint64_t epochs, enum logline_measure m, double (*value)(uint32_t run, uint64_t epoch))
{
	curve_rows_free(&rows);
	rows.row = calloc(runs * epochs, sizeof(*rows.row));
	rows.runs = runs;
	rows.label = labels;
	for (uint32_t run = 0; run < runs; run++)
		for (uint64_t at = 0; at < epochs; at++) {
			struct curve_row *r = &rows.row[rows.n++];

			r->run = run;
			r->at = at;
			r->has[m] = true;
			r->value[m] = value(run, at);
		}
}

static void
copy_measure(enum logline_measure from, enum logline_measure to)
{
	for (size_t i = 0; i < rows.n; i++) {
		rows.row[i].has[to] = rows.row[i].has[from];
		rows.row[i].value[to] = rows.row[i].value[from] / 2;
	}
}

static double high_accuracy(uint32_t run, uint64_t at) { return 0.95 + 0.001 * run + 0.01 * (double)at; }
static double falling_loss(uint32_t run, uint64_t at) { return (run + 1) / pow(10, (double)at); }
static double flat_loss(uint32_t run, uint64_t at) { return 2 + run - 0.1 * (double)at; }
static double steady_speed(uint32_t run, uint64_t at) { return 1000 + run + 0.1 * (double)at; }
static double close_losses(uint32_t run, uint64_t at) { return at == 0 ? 2 : 1 + 1e-6 * run; }

static void
axes(void)
{
	struct plot_figure f;

	make_rows(1, 5, LOGLINE_VAL_ACCURACY, high_accuracy);
	is(plot_figure_make(ACCURACY, &rows, NULL, NULL, 8, &f), 0, "a figure of accuracy is made");
	ok(f.low > 0.94 && f.low < 0.95 && f.high > 0.99 && f.high <= 1, "the axis of a figure fits the data: %g to %g", f.low, f.high);
	ok(f.from == 0 && f.to == 4 && f.whole, "positions are the epochs");
	is_str(f.ylabel, "validation accuracy", "the axis names a single measure");
	plot_figure_free(&f);
	make_rows(1, 4, LOGLINE_TRAIN_LOSS, falling_loss);
	plot_figure_make(LOSS, &rows, NULL, NULL, 8, &f);
	ok(f.log && f.low > 0.0005 && f.low < 0.001 && f.high > 1 && f.high < 2, "a loss that falls by 1000 has a log scale");
	plot_figure_free(&f);
	make_rows(1, 4, LOGLINE_TRAIN_LOSS, flat_loss);
	plot_figure_make(LOSS, &rows, NULL, NULL, 8, &f);
	ok(!f.log && f.low > 1.6 && f.low < 1.7, "a loss that hardly falls has a linear scale");
	plot_figure_free(&f);
	make_rows(1, 4, LOGLINE_SPEED, steady_speed);
	plot_figure_make(SPEED, &rows, NULL, NULL, 8, &f);
	ok(f.high - f.low > 30, "an axis does not magnify a change of 0.03 %%: %g to %g", f.low, f.high);
	plot_figure_free(&f);
	make_rows(1, 1, LOGLINE_SPEED, steady_speed);
	plot_figure_make(SPEED, &rows, NULL, NULL, 8, &f);
	ok(f.from == -0.5 && f.to == 0.5, "a single epoch has an axis around it");
	plot_figure_free(&f);
	make_rows(1, 3, LOGLINE_RX, steady_speed);
	for (size_t i = 0; i < rows.n; i++)
		rows.row[i].by_step = true;
	plot_figure_make(TRAFFIC, &rows, NULL, NULL, 8, &f);
	is_str(f.ylabel, "B received since the step before", "traffic by steps is that since the step before");
	plot_figure_free(&f);
	plot_figure_make(LOSS, &rows, NULL, NULL, 8, &f);
	is(f.lines, 0, "a figure without data has no lines");
}

static void
colours(void)
{
	struct plot_figure f;

	make_rows(1, 3, LOGLINE_TRAIN_ACCURACY, high_accuracy);
	copy_measure(LOGLINE_TRAIN_ACCURACY, LOGLINE_VAL_ACCURACY);
	plot_figure_make(ACCURACY, &rows, NULL, NULL, 8, &f);
	is(f.lines, 2, "a run has a line for each measure");
	ok(f.line[0].colour != f.line[1].colour, "training and validation have two colours");
	ok(f.line[0].dashed && !f.line[1].dashed, "training is dashed");
	ok(strcmp(f.line[0].name, "train") == 0 && strcmp(f.line[1].name, "validation") == 0, "the measures name the lines");
	plot_figure_free(&f);
	make_rows(4, 3, LOGLINE_TRAIN_ACCURACY, high_accuracy);
	copy_measure(LOGLINE_TRAIN_ACCURACY, LOGLINE_VAL_ACCURACY);
	plot_figure_make(ACCURACY, &rows, NULL, NULL, 8, &f);
	is(f.lines, 8, "few runs have both measures");
	ok(f.line[0].colour != f.line[1].colour && f.line[1].colour != f.line[3].colour, "each run has a colour");
	ok(f.line[0].name[0] == 0 && strcmp(f.line[3].name, "2") == 0, "a run is named once, at its validation");
	plot_figure_free(&f);
	plot_figure_make(ACCURACY, &rows, NULL, NULL, 3, &f);
	is(f.lines, 4, "a figure of many runs has one line for each");
	is_str(f.ylabel, "validation accuracy", "the lines show the validation");
	plot_figure_free(&f);
}

/* 20 runs that end in one place. */
static void
names(void)
{
	struct plot_figure f;
	bool apart = true, inside = true, ordered = true;

	make_rows(20, 3, LOGLINE_TRAIN_LOSS, close_losses);
	plot_figure_make(LOSS, &rows, NULL, NULL, 8, &f);
	is(plot_figure_place_names(&f, 0.045), 0, "names are placed");
	for (size_t i = 0; i < f.lines; i++) {
		inside &= f.line[i].label > -0.01 && f.line[i].label < 1.01;
		ordered &= i == 0 || f.line[i].label > f.line[i - 1].label;
		for (size_t k = 0; k < i; k++)
			apart &= fabs(f.line[i].label - f.line[k].label) > 0.0449;
	}
	ok(f.lines == 20 && apart, "20 names do not overlap");
	ok(inside, "the names stand beside the figure");
	ok(ordered, "the names have the order of the lines");
	ok(f.line[0].colour == f.line[10].colour && f.line[0].mark != f.line[10].mark, "runs of one colour have other marks");
	plot_figure_free(&f);
	make_rows(3, 1, LOGLINE_TRAIN_LOSS, flat_loss);
	plot_figure_make(LOSS, &rows, NULL, NULL, 8, &f);
	ok(f.dots && f.rows == 3 && f.point[2][1] == 3 && f.point[2][0] == 4, "runs of one epoch are rows of dots");
	plot_figure_free(&f);
}

static void
rates(void)
{
	struct rate_list l = { 0 };
	struct curve_rows none = { 0 };
	struct plot_figure f;
	char line[128];

	for (int i = 1; i <= 2000; i++) {
		snprintf(line, sizeof(line), "%d\t2026-11-21T19:10:00.123Z\th\teth0\tperiod\t1\t%d\t125000\t\t\t\t", i,
		    i % 2 * 250000);
		rate_add_line(&l, line);
	}
	plot_figure_make(5, &none, &l, NULL, 8, &f);
	ok(f.lines == 2 && f.line[0].n == 500, "a long log has means of its periods: %zu points", f.line[0].n);
	is_str(f.xlabel, "minutes", "the axis of a long log has minutes");
	near(f.point[0][1], 1, 1e-9, "a point is the mean of adjacent periods");
	ok(f.low == 0 || f.low < 1, "the axis of rates fits");
	plot_figure_free(&f);
	rate_free(&l);
}

#define BIN(rank, n, from, to)	"1\th\tworker\t" rank "\tstaleness\t0\t7\t\t\t\t\t\t\t\t\t\t\t\tbin\t\t\t\t\t\t\t" n "\t\t" from "\t" to

static void
spread(void)
{
	static const char *const line[] = { BIN("0", "10", "0", "0"), BIN("0", "20", "2", "2"), BIN("0", "10", "0", "0"),
		BIN("1", "100", "32", "63"), "1\th\tworker\t1\tepoch\t0\t7\t\t\t\t\t\t\t\t" };
	static const double first[][2] = { { 0, 50 }, { 1, 0 }, { 1, 0 }, { 2, 50 }, { 3, 0 } };
	static const double second[][2] = { { 31, 0 }, { 47.5, 3.125 }, { 64, 0 } };
	struct spread_list l = { 0 };
	struct curve_rows none = { 0 };
	struct plot_figure f;

	for (size_t i = 0; i < sizeof(line) / sizeof(*line); i++)
		is(spread_add_line(&l, "a.tsv", line[i]), i < 4, "row %zu %s of a histogram", i, i < 4 ? "is" : "is not");
	is(l.n, 2, "each worker has a histogram");
	plot_figure_make(8, &none, NULL, &l, 8, &f);
	is(f.lines, 2, "each worker has a line");
	is_str(f.line[1].name, "worker 1", "the line has its name");
	ok(f.line[0].n == 5 && memcmp(f.point, first, sizeof(first)) == 0, "the line has shares, and zeros between them");
	ok(f.line[1].n == 3 && memcmp(f.point + 5, second, sizeof(second)) == 0,
	    "the share of a wide bin is that of each number in it");
	plot_figure_free(&f);
	is(spread_add_line(&l, "b.tsv", line[0]), 1, "a row of another log");
	plot_figure_make(8, &none, NULL, &l, 8, &f);
	is_str(f.lines == 3 ? f.line[2].name : "", "b.tsv worker 0", "workers of several logs have their names");
	plot_figure_free(&f);
	plot_figure_make(8, &none, NULL, NULL, 8, &f);
	is(f.lines, 0, "without staleness there is no histogram");
	plot_figure_free(&f);
	spread_free(&l);
}

int
main(void)
{
	axes();
	colours();
	names();
	rates();
	spread();
	curve_rows_free(&rows);
	return done();
}
