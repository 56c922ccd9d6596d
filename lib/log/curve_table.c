/* curve_table - tables of measurements: a line for each epoch, or for each run. */
#include "log/curve.h"

static const struct table_column columns[LOGLINE_MEASURES] = {
	[LOGLINE_TRAIN_ACCURACY] = { "train accuracy", "train_accuracy", true, 6, 3, NULL },
	[LOGLINE_TRAIN_LOSS] = { "train loss", "train_loss", true, 6, 2, NULL },
	[LOGLINE_VAL_ACCURACY] = { "validation accuracy", "validation_accuracy", true, 6, 1, "val accuracy" },
	[LOGLINE_VAL_LOSS] = { "validation loss", "validation_loss", true, 6, 4, "val loss" },
	[LOGLINE_TRAIN_TOP5] = { "train top-5", "train_top5_accuracy", true, 6, 10, NULL },
	[LOGLINE_VAL_TOP5] = { "validation top-5", "validation_top5_accuracy", true, 6, 9, "val top-5" },
	[LOGLINE_SECONDS] = { "seconds", "seconds", true, 1, 5, NULL },
	[LOGLINE_SPEED] = { "samples/s", "samples_per_s", true, 1, 6, NULL },
	[LOGLINE_LOAD] = { "load", "load", true, 2, 8, NULL },
	[LOGLINE_RX] = { "rx", "rx_bytes", true, TABLE_BYTES, 7, NULL },
	[LOGLINE_TX] = { "tx", "tx_bytes", true, TABLE_BYTES, 7, NULL },
	[LOGLINE_GLOBAL_STEP] = { "global step", "global_step", true, 0, 11, NULL },
	[LOGLINE_LR] = { "lr", "lr", true, 7, 2, NULL },
	[LOGLINE_STALENESS] = { "staleness", "staleness", true, 3, 15, NULL },
	[LOGLINE_STALENESS_MOST] = { "staleness at most", "staleness_max", true, 0, 16, NULL },
	[LOGLINE_RX_PACKETS] = { "rx packets", "rx_packets", true, 0, 14, NULL },
	[LOGLINE_TX_PACKETS] = { "tx packets", "tx_packets", true, 0, 14, NULL },
	[LOGLINE_RX_RATE] = { "rx Mbit/s", "rx_mbit_per_s", true, 2, 12, NULL },
	[LOGLINE_TX_RATE] = { "tx Mbit/s", "tx_mbit_per_s", true, 2, 12, NULL },
	[LOGLINE_RX_PEAK] = { "rx peak Mbit/s", "rx_peak_mbit_per_s", true, 2, 13, NULL },
	[LOGLINE_TX_PEAK] = { "tx peak Mbit/s", "tx_peak_mbit_per_s", true, 2, 13, NULL },
};

struct shown {
	bool run, epoch, step, rank, measure[LOGLINE_MEASURES];
};

static void
put_number(struct table *t, bool has, double v)
{
	if (has)
		table_number(t, v);
	else
		table_text(t, NULL);
}

static void
put_run_name(const struct curve_rows *rows, uint32_t run, struct table *t)
{
	char name[LOGLINE_LABEL];

	curve_name(rows, run, name);
	table_text(t, name);
}

_Static_assert(LOGLINE_MEASURES + 4 <= TABLE_COLUMNS, "a table has room for all columns");

static void
add_columns(const struct shown *s, struct table *t)
{
	if (s->run)
		table_column(t, (struct table_column){ "run", "run", false, 0, 0, NULL });
	if (s->epoch)
		table_column(t, (struct table_column){ "epoch", "epoch", true, 0, 0, NULL });
	if (s->step)
		table_column(t, (struct table_column){ "step", "step", true, 0, 0, NULL });
	if (s->rank)
		table_column(t, (struct table_column){ "rank", "rank", true, 0, 0, NULL });
	for (int m = 0; m < LOGLINE_MEASURES; m++)
		if (s->measure[m]) {
			struct table_column c = columns[m];

			c.digits += m == LOGLINE_SECONDS && s->step ? 2 : 0;
			table_column(t, c);
		}
}

/* A row may have nothing but the first value of a counter. */
static bool
has_measure(const struct curve_row *r)
{
	for (int m = 0; m < LOGLINE_MEASURES; m++)
		if (r->has[m])
			return true;
	return false;
}

static void
put_row(const struct shown *s, const struct curve_rows *rows, const struct curve_row *r, struct table *t)
{
	if (s->run)
		put_run_name(rows, r->run, t);
	if (s->epoch)
		table_count(t, r->by_step ? UINT64_MAX : r->at, r->by_step ? "" : "all");
	if (s->step)
		table_count(t, r->by_step ? r->at : UINT64_MAX, r->by_step ? "all" : "");
	if (s->rank)
		table_count(t, r->rank, "");
	for (int m = 0; m < LOGLINE_MEASURES; m++)
		if (s->measure[m])
			put_number(t, r->has[m], r->value[m]);
}

void
curve_table(const struct curve_rows *rows, bool by_rank, struct table *t)
{
	struct shown s = { .run = rows->runs > 1, .rank = by_rank };

	for (size_t i = 0; i < rows->n; i++) {
		s.step |= rows->row[i].by_step;
		s.epoch |= !rows->row[i].by_step;
		s.run |= rows->label[rows->row[i].run][0] != 0;
		for (int m = 0; m < LOGLINE_MEASURES; m++)
			s.measure[m] |= rows->row[i].has[m] && columns[m].head != NULL;
	}
	if (rows->n == 0)
		return;
	add_columns(&s, t);
	for (size_t i = 0; i < rows->n; i++)
		if (has_measure(&rows->row[i]))
			put_row(&s, rows, &rows->row[i], t);
}

/* A run: sums of its measures, and its accuracies, which are negative if unknown. */
struct summary {
	uint64_t epochs, steps, best_at;
	double	 best, last_train, last_valid;
	double	 sum[LOGLINE_MEASURES];
	uint64_t n[LOGLINE_MEASURES];
};

static struct summary
summarize_run(const struct curve_row *r, size_t n)
{
	struct summary s = { .best = -1, .last_train = -1, .last_valid = -1 };

	for (; n > 0; n--, r++) {
		s.epochs += r->at != LOGLINE_WHOLE && !r->by_step;
		if (r->by_step && r->at > s.steps)
			s.steps = r->at;
		for (int m = 0; m < LOGLINE_MEASURES; m++)
			if (r->has[m]) {
				s.sum[m] += r->value[m];
				s.n[m]++;
			}
		if (r->has[LOGLINE_TRAIN_ACCURACY])
			s.last_train = r->value[LOGLINE_TRAIN_ACCURACY];
		if (!r->has[LOGLINE_VAL_ACCURACY])
			continue;
		s.last_valid = r->value[LOGLINE_VAL_ACCURACY];
		if (s.last_valid > s.best) {
			s.best = s.last_valid;
			s.best_at = r->at;
		}
	}
	return s;
}

static const int means[] = { LOGLINE_SECONDS, LOGLINE_SPEED, LOGLINE_LOAD, LOGLINE_RX, LOGLINE_TX };
#define MEANS	(sizeof(means) / sizeof(*means))

/* The columns that at least one run has. */
struct compared {
	bool steps, epochs, measure[LOGLINE_ALL];
};

/* The seconds of steps do not compare with those of epochs. */
static bool
is_comparable(const struct summary *s, const struct compared *c, int measure)
{
	return measure != LOGLINE_SECONDS || !c->epochs || s->steps == 0 || s->epochs > 0;
}

static void
put_summary(const struct summary *s, const struct compared *c, struct table *t)
{
	table_count(t, s->epochs, "");
	if (c->steps)
		table_count(t, s->steps > 0 ? s->steps : UINT64_MAX, "");
	if (c->measure[LOGLINE_VAL_ACCURACY]) {
		put_number(t, s->best >= 0, s->best);
		table_count(t, s->best >= 0 ? s->best_at : UINT64_MAX, s->best >= 0 ? "all" : "");
		put_number(t, s->last_valid >= 0, s->last_valid);
	}
	put_number(t, s->last_train >= 0, s->last_train);
	for (size_t i = 0; i < MEANS; i++)
		if (c->measure[means[i]])
			put_number(t, s->n[means[i]] > 0 && is_comparable(s, c, means[i]),
			    s->sum[means[i]] / (double)s->n[means[i]]);
}

static void
add_compared_columns(const struct compared *c, struct table *t)
{
	bool valid = c->measure[LOGLINE_VAL_ACCURACY];

	table_column(t, (struct table_column){ "run", "run", false, 0, 0, NULL });
	table_column(t, (struct table_column){ "epochs", "epochs", true, 0, 4, NULL });
	if (c->steps)
		table_column(t, (struct table_column){ "steps", "steps", true, 0, 1, NULL });
	if (valid) {
		table_column(t, (struct table_column){ "best validation", "best_validation_accuracy", true, 6, 0,
		    "best val" });
		table_column(t, (struct table_column){ "at", "best_at", true, 0, 1, NULL });
		table_column(t, (struct table_column){ "last validation", "last_validation_accuracy", true, 6, 2,
		    "last val" });
	}
	table_column(t, (struct table_column){ "last train", "last_train_accuracy", true, 6, valid ? 3 : 0, NULL });
	for (size_t i = 0; i < MEANS; i++)
		if (c->measure[means[i]]) {
			struct table_column column = columns[means[i]];

			column.digits += means[i] == LOGLINE_SECONDS && !c->epochs ? 2 : 0;
			table_column(t, column);
		}
}

void
curve_compare(const struct curve_rows *rows, const char *name, struct table *t)
{
	const bool unnamed = rows->runs == 1 && rows->label[0][0] == 0;
	struct compared c = { 0 };

	for (size_t i = 0; i < rows->n; i++) {
		c.steps |= rows->row[i].by_step;
		c.epochs |= !rows->row[i].by_step;
		for (int m = 0; m < LOGLINE_MEASURES; m++)
			c.measure[m] |= rows->row[i].has[m];
	}
	add_compared_columns(&c, t);
	for (size_t i = 0, k; i < rows->n; i = k) {
		struct summary s;

		for (k = i; k < rows->n && rows->row[k].run == rows->row[i].run; k++)
			continue;
		s = summarize_run(&rows->row[i], k - i);
		if (unnamed)
			table_text(t, name);
		else
			put_run_name(rows, rows->row[i].run, t);
		put_summary(&s, &c, t);
	}
}
