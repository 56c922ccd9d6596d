/* fuzz_curve - hostile logs: the table of whatever they hold. */
#include "run/curve.h"

#include "base/err.h"

#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct curve c = { 0 };
	struct buf b = { 0 };
	struct curve_rows rows;
	char *line, *next;

	if (buf_put(&b, data, size) < 0 || buf_terminate(&b) < 0)
		abort();
	for (line = (char *)b.p; line != NULL; line = next) {
		if ((next = strchr(line, '\n')) != NULL)
			*next++ = 0;
		curve_take(&c, line);
	}
	for (int by_rank = 0; by_rank < 2; by_rank++) {
		b.n = 0;
		if (curve_rows(&c, by_rank, &rows) < 0 || curve_table(&rows, by_rank, &b) < 0)
			abort();
		curve_rows_free(&rows);
	}
	curve_free(&c);
	buf_free(&b);
	return 0;
}
