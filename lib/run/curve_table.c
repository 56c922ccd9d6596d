/* curve_table - figures by epoch into an aligned table. */
#include "run/curve.h"

/* Head and digits behind the point of each measure's column; seconds of a step are small. */
static const struct {
	const char *head;
	int width, digits;
} columns[LOGLINE_MEASURES] = {
	[LOGLINE_TRAIN_ACCURACY] = { "train accuracy", 14, 4 },
	[LOGLINE_TRAIN_LOSS] = { "train loss", 10, 4 },
	[LOGLINE_VAL_ACCURACY] = { "validation accuracy", 19, 4 },
	[LOGLINE_VAL_LOSS] = { "validation loss", 15, 4 },
	[LOGLINE_SECONDS] = { "seconds", 8, 1 },
	[LOGLINE_SPEED] = { "samples/s", 9, 1 },
};

struct shown {
	bool run, rank, measure[LOGLINE_MEASURES];
	bool by_step;
};

static int
put_head(const struct shown *s, struct buf *out)
{
	int e = 0;

	if (s->run)
		e = buf_put_fmt(out, "%3s  ", "run");
	e = e < 0 ? e : buf_put_fmt(out, "%7s", s->by_step ? "step" : "epoch");
	if (s->rank)
		e = e < 0 ? e : buf_put_fmt(out, "  %4s", "rank");
	for (int m = 0; m < LOGLINE_MEASURES && e == 0; m++)
		if (s->measure[m])
			e = buf_put_fmt(out, "  %*s", columns[m].width, columns[m].head);
	return e < 0 ? e : buf_put(out, "\n", 1);
}

static int
put_row(const struct shown *s, const struct curve_row *r, struct buf *out)
{
	int e = 0;

	if (s->run)
		e = buf_put_fmt(out, "%3u  ", r->run + 1);
	e = e < 0 ? e : buf_put_fmt(out, "%7llu", (unsigned long long)r->at);
	if (s->rank && r->rank == LOGLINE_ANYONE)
		e = e < 0 ? e : buf_put_fmt(out, "  %4s", "-");
	else if (s->rank)
		e = e < 0 ? e : buf_put_fmt(out, "  %4llu", (unsigned long long)r->rank);
	for (int m = 0; m < LOGLINE_MEASURES && e == 0; m++) {
		int digits = columns[m].digits + (m == LOGLINE_SECONDS && r->by_step ? 2 : 0);

		if (s->measure[m] && r->has[m])
			e = buf_put_fmt(out, "  %*.*f", columns[m].width, digits, r->value[m]);
		else if (s->measure[m])
			e = buf_put_fmt(out, "  %*s", columns[m].width, "-");
	}
	return e < 0 ? e : buf_put(out, "\n", 1);
}

int
curve_table(const struct curve_rows *rows, bool by_rank, struct buf *out)
{
	struct shown s = { .run = rows->runs > 1, .rank = by_rank };
	int e = 0;

	for (size_t i = 0; i < rows->n; i++)
		for (int m = 0; m < LOGLINE_MEASURES; m++)
			s.measure[m] |= rows->row[i].has[m];
	for (size_t i = 0; i < rows->n && e == 0; i++) {
		if (i == 0 || rows->row[i].by_step != s.by_step) {
			s.by_step = rows->row[i].by_step;
			e = put_head(&s, out);
		}
		e = e < 0 ? e : put_row(&s, &rows->row[i], out);
	}
	return e;
}
