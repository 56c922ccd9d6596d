/* curve_table - figures by epoch into tables: a line an epoch, and a line a run. */
#include "log/curve.h"

#include <inttypes.h>
#include <stdio.h>

/* Names of each measure's column, and digits behind the point for people; -1 for bytes. */
static const struct {
	const char *head, *key;
	int digits;
} columns[LOGLINE_MEASURES] = {
	[LOGLINE_TRAIN_ACCURACY] = { "train accuracy", "train_accuracy", 6 },
	[LOGLINE_TRAIN_LOSS] = { "train loss", "train_loss", 6 },
	[LOGLINE_VAL_ACCURACY] = { "validation accuracy", "validation_accuracy", 6 },
	[LOGLINE_VAL_LOSS] = { "validation loss", "validation_loss", 6 },
	[LOGLINE_TRAIN_TOP5] = { "train top-5", "train_top5_accuracy", 6 },
	[LOGLINE_VAL_TOP5] = { "validation top-5", "validation_top5_accuracy", 6 },
	[LOGLINE_SECONDS] = { "seconds", "seconds", 1 },
	[LOGLINE_SPEED] = { "samples/s", "samples_per_s", 1 },
	[LOGLINE_LOAD] = { "load", "load", 2 },
	[LOGLINE_RX] = { "rx", "rx_bytes", -1 },
	[LOGLINE_TX] = { "tx", "tx_bytes", -1 },
	[LOGLINE_GLOBAL_STEP] = { "global step", "global_step", 0 },
	[LOGLINE_RX_PACKETS] = { "rx packets", "rx_packets", 0 },
	[LOGLINE_TX_PACKETS] = { "tx packets", "tx_packets", 0 },
	[LOGLINE_RX_RATE] = { "rx Mbit/s", "rx_mbit_per_s", 2 },
	[LOGLINE_TX_RATE] = { "tx Mbit/s", "tx_mbit_per_s", 2 },
	[LOGLINE_RX_PEAK] = { "rx peak Mbit/s", "rx_peak_mbit_per_s", 2 },
	[LOGLINE_TX_PEAK] = { "tx peak Mbit/s", "tx_peak_mbit_per_s", 2 },
};

struct shown {
	bool run, epoch, step, rank, measure[LOGLINE_MEASURES];
};

static int
put_whole_number(struct table *t, uint64_t v, const char *no_number)
{
	char text[32];

	if (v == UINT64_MAX)
		return table_cell(t, no_number, "");
	snprintf(text, sizeof(text), "%" PRIu64, v);
	return table_cell(t, text, text);
}

static void
add_columns(const struct shown *s, struct table *t)
{
	if (s->run)
		table_column(t, "run", "run", false);
	if (s->epoch)
		table_column(t, "epoch", "epoch", true);
	if (s->step)
		table_column(t, "step", "step", true);
	if (s->rank)
		table_column(t, "rank", "rank", true);
	for (int m = 0; m < LOGLINE_MEASURES; m++)
		if (s->measure[m])
			table_column(t, columns[m].head, columns[m].key, true);
}

static int
put_row(const struct shown *s, const struct curve_rows *rows, const struct curve_row *r, struct table *t)
{
	char name[LOGLINE_LABEL];
	int e = 0;

	if (s->run) {
		curve_name(rows, r->run, name);
		e = table_cell(t, name, name);
	}
	if (e == 0 && s->epoch)
		e = r->by_step ? table_cell(t, NULL, NULL) : put_whole_number(t, r->at, "all");
	if (e == 0 && s->step)
		e = r->by_step ? put_whole_number(t, r->at, "all") : table_cell(t, NULL, NULL);
	if (e == 0 && s->rank)
		e = put_whole_number(t, r->rank, NULL);
	for (int m = 0; m < LOGLINE_MEASURES && e == 0; m++)
		if (s->measure[m])
			e = !r->has[m] ? table_cell(t, NULL, NULL) :
			    table_number(t, r->value[m], columns[m].digits +
			    (m == LOGLINE_SECONDS && r->by_step ? 2 : 0));
	return e;
}

/* A counter's first value alone says nothing. */
static bool
has_measure(const struct curve_row *r)
{
	for (int m = 0; m < LOGLINE_MEASURES; m++)
		if (r->has[m])
			return true;
	return false;
}

int
curve_table(const struct curve_rows *rows, bool by_rank, struct table *t)
{
	struct shown s = { .run = rows->runs > 1, .rank = by_rank };
	int e = 0;

	for (size_t i = 0; i < rows->n; i++) {
		s.step |= rows->row[i].by_step;
		s.epoch |= !rows->row[i].by_step;
		s.run |= rows->label[rows->row[i].run][0] != 0;
		for (int m = 0; m < LOGLINE_MEASURES; m++)
			s.measure[m] |= rows->row[i].has[m] && columns[m].head != NULL;
	}
	if (rows->n == 0)
		return 0;
	add_columns(&s, t);
	for (size_t i = 0; i < rows->n && e == 0; i++)
		if (has_measure(&rows->row[i]))
			e = put_row(&s, rows, &rows->row[i], t);
	return e;
}

/* A run in one line: the measures' means, but the accuracies' best and last. */
struct summary {
	uint64_t epochs, best_at;
	double	 best, last_train, last_valid;
	double	 sum[LOGLINE_MEASURES];
	uint64_t n[LOGLINE_MEASURES];
};

static struct summary
summarize_run(const struct curve_row *r, size_t n)
{
	struct summary s = { .best = -1, .last_train = -1, .last_valid = -1 };

	for (; n > 0; n--, r++) {
		s.epochs += r->at != LOGLINE_WHOLE;
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

static int
put_summary(const struct curve_rows *rows, const bool *shown, uint32_t run, const struct summary *s, struct table *t)
{
	const double accuracy[] = { s->best, s->last_valid, s->last_train };
	char name[LOGLINE_LABEL];
	int e;

	curve_name(rows, run, name);
	e = table_cell(t, name, name);
	e = e < 0 ? e : put_whole_number(t, s->epochs, NULL);
	for (int i = 0; i < 3 && e == 0; i++) {
		e = accuracy[i] < 0 ? table_cell(t, NULL, NULL) : table_number(t, accuracy[i], 6);
		if (i == 0 && e == 0)
			e = s->best < 0 ? table_cell(t, NULL, NULL) : put_whole_number(t, s->best_at, "all");
	}
	for (size_t i = 0; i < MEANS && e == 0; i++)
		if (shown[means[i]])
			e = s->n[means[i]] == 0 ? table_cell(t, NULL, NULL) :
			    table_number(t, s->sum[means[i]] / (double)s->n[means[i]], columns[means[i]].digits);
	return e;
}

int
curve_compare(const struct curve_rows *rows, struct table *t)
{
	bool shown[LOGLINE_MEASURES] = { false };
	int e = 0;

	for (size_t i = 0; i < rows->n; i++)
		for (int m = 0; m < LOGLINE_MEASURES; m++)
			shown[m] |= rows->row[i].has[m];
	table_column(t, "run", "run", false);
	table_column(t, "epochs", "epochs", true);
	table_column(t, "best validation", "best_validation_accuracy", true);
	table_column(t, "at", "best_at", true);
	table_column(t, "last validation", "last_validation_accuracy", true);
	table_column(t, "last train", "last_train_accuracy", true);
	for (size_t i = 0; i < MEANS; i++)
		if (shown[means[i]])
			table_column(t, columns[means[i]].head, columns[means[i]].key, true);
	for (size_t i = 0, k; i < rows->n && e == 0; i = k) {
		struct summary s;

		for (k = i; k < rows->n && rows->row[k].run == rows->row[i].run; k++)
			continue;
		s = summarize_run(&rows->row[i], k - i);
		e = put_summary(rows, shown, rows->row[i].run, &s, t);
	}
	return e;
}
