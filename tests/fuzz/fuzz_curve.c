/* fuzz_curve - hostile logs: the table of whatever they hold. */
#include "log/curve.h"
#include "log/machine.h"

#include "base/err.h"

#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct curve c = { 0 };
	struct buf b = { 0 };
	struct curve_rows rows;
	struct machine_list m = { 0 };
	struct table t = { 0 };
	char *line, *next;

	if (buf_put(&b, data, size) < 0 || buf_terminate(&b) < 0)
		abort();
	for (line = (char *)b.p; line != NULL; line = next) {
		if ((next = strchr(line, '\n')) != NULL)
			*next++ = 0;
		curve_take(&c, line);
		machine_take(&m, line);
	}
	for (int by_rank = 0; by_rank < 2; by_rank++) {
		if (curve_rows(&c, by_rank, &rows) < 0)
			abort();
		for (int f = 0; f < TABLE_FORMS; f++) {
			b.n = 0;
			if (curve_table(&rows, by_rank, &t) < 0 || (t.columns > 0 && table_put(&t, (enum table_form)f, &b) < 0))
				abort();
			table_free(&t);
		}
		if (curve_compare(&rows, &t) < 0 || table_html(&t, &b) < 0)
			abort();
		table_free(&t);
		curve_rows_free(&rows);
	}
	if (machine_table(&m, &t) < 0)
		abort();
	table_free(&t);
	machine_free(&m);
	curve_free(&c);
	buf_free(&b);
	return 0;
}
