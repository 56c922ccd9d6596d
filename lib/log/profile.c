/* profile - writes and reads the rows of a profile. */
#include "log/profile.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

#define CELL	128	/* most bytes of a cell that is read, with the zero */

/* The first two are names. */
static const struct table_column columns[] = {
	{ "layer", "layer", .turn = 0 }, { "direction", "direction", .turn = 0 },
	{ "ms", "step_ms", .number = true, .digits = 3 }, { "of step", "step_share", .number = true, .digits = 3 },
	{ "GFLOP/s", "gflops_per_s", .number = true, .digits = 1 },
	{ "moved", "bytes", .number = true, .digits = TABLE_BYTES, .turn = 1 },
	{ "GB/s", "gb_per_s", .number = true, .digits = 1 },
	{ "of product", "product_share", .number = true, .digits = 3 },
	{ "of memory", "memory_share", .number = true, .digits = 3 },
};
#define COLUMNS	(sizeof(columns) / sizeof(*columns))
#define NAMES	2

int
profile_head(struct buf *out)
{
	for (size_t i = 0; i < COLUMNS; i++)
		ERR_TRY(buf_put_fmt(out, "%s%c", columns[i].key, i + 1 < COLUMNS ? '\t' : '\n'));
	return 0;
}

/* Appends a cell, which is empty unless both are above 0. */
static int
put_quotient(struct buf *out, double a, double b)
{
	return a > 0 && b > 0 ? buf_put_fmt(out, "\t%.9g", a / b) : buf_put(out, "\t", 1);
}

int
profile_put(struct buf *out, const struct profile_row *r, const struct profile_whole *whole)
{
	const double cell[][2] = { { r->seconds, 1e-3 }, { r->seconds, whole->step_s }, { r->flops, 1e9 * r->seconds },
		{ r->bytes, 1 }, { r->bytes, 1e9 * r->seconds }, { r->flops, r->seconds * whole->flops_per_s },
		{ r->bytes, r->seconds * whole->bytes_per_s } };

	ERR_TRY(buf_put_fmt(out, "%s\t%s", r->layer, r->direction));
	_Static_assert(sizeof(cell) / sizeof(*cell) == COLUMNS - NAMES, "one cell a column");
	for (size_t i = 0; i < COLUMNS - NAMES; i++)
		ERR_TRY(put_quotient(out, cell[i][0], cell[i][1]));
	return buf_put(out, "\n", 1);
}

void
profile_columns(struct table *t)
{
	for (size_t i = 0; i < COLUMNS; i++)
		table_column(t, columns[i]);
}

/* Copies cell i of *line, which starts after the tab of the one before.  Returns 0 or ERR_FORMAT. */
static int
read_cell(const char **line, size_t i, char cell[CELL])
{
	size_t n = strcspn(*line, "\t\r\n");
	char *end;

	if (n >= CELL || (i + 1 < COLUMNS && (*line)[n] != '\t'))
		return err_fail(ERR_FORMAT, "%s: too long, or the last cell", columns[i].key);
	memcpy(cell, *line, n);
	cell[n] = 0;
	*line += n + 1;
	if (columns[i].number && n > 0 && (!(strtod(cell, &end) >= 0) || *end != 0))
		return err_fail(ERR_FORMAT, "%s: '%s' is not a measure", columns[i].key, cell);
	return 0;
}

int
profile_read(const char *line, struct table *t)
{
	char cell[COLUMNS][CELL];

	if (*line == '#' || line[strspn(line, " \r\n")] == 0 || strncmp(line, "layer\tdirection\t", 16) == 0)
		return 0;
	for (size_t i = 0; i < COLUMNS; i++) {
		int e = read_cell(&line, i, cell[i]);

		if (e < 0)
			return e;
	}
	for (size_t i = 0; i < COLUMNS; i++)
		if (columns[i].number && cell[i][0] != 0)
			table_number(t, strtod(cell[i], NULL));
		else
			table_text(t, cell[i][0] != 0 ? cell[i] : NULL);
	return 1;
}
