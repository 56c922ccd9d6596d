/* fuzz_curve - hostile logs: tables, rates and figures of them. */
#include "log/curve.h"
#include "log/machine.h"
#include "log/plot_figure.h"

#include "base/err.h"

#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct curve c = { 0 };
	struct buf b = { 0 };
	struct curve_rows rows;
	struct machine_list m = { 0 };
	struct rate_list rates = { 0 };
	struct spread_list spread = { 0 };
	struct plot_figure figure;
	struct table t = { 0 };
	char *line, *next;

	if (buf_put(&b, data, size) < 0 || buf_terminate(&b) < 0)
		abort();
	for (line = (char *)b.p; line != NULL; line = next) {
		if ((next = strchr(line, '\n')) != NULL)
			*next++ = 0;
		curve_add_line(&c, line);
		machine_add_line(&m, line);
		rate_add_line(&rates, line);
		spread_add_line(&spread, "log", line);
	}
	for (int by_rank = 0; by_rank < 2; by_rank++) {
		if (curve_rows(&c, by_rank, &rows) < 0)
			abort();
		for (int f = 0; f < TABLE_FORMS; f++) {
			b.n = 0;
			curve_table(&rows, by_rank, &t);
			if (t.columns > 0 && table_put(&t, (enum table_form)f, &b) < 0)
				abort();
			table_free(&t);
		}
		curve_compare(&rows, "a log", &t);
		if (table_html(&t, &b) < 0)
			abort();
		table_free(&t);
		for (unsigned kind = 0; kind < PLOT_FIGURE_KINDS; kind++) {
			if (plot_figure_make(kind, &rows, &rates, &spread, 8, &figure) < 0 ||
			    plot_figure_place_names(&figure, 0.05) < 0)
				abort();
			plot_figure_free(&figure);
		}
		curve_rows_free(&rows);
	}
	machine_table(&m, &t);
	table_free(&t);
	machine_free(&m);
	rate_free(&rates);
	spread_free(&spread);
	curve_free(&c);
	buf_free(&b);
	return 0;
}
