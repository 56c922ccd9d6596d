/* curve - collects the measurements of training logs, and averages them by run, epoch and rank. */
#include "log/curve.h"

#include "base/err.h"
#include "base/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One measurement.  order keeps the order of lines among otherwise equal ones. */
struct curve_item {
	uint64_t at, rank;
	double value;
	uint32_t run, order;
	enum logline_measure measure;
	bool by_step;
};

static int
add_measurement(struct curve *c, const struct logline *l, int m)
{
	struct curve_item *p;

	if (c->n == CURVE_MOST)
		return err_fail(ERR_LIMIT, "more than %u measurements", CURVE_MOST);
	if ((p = grow_by_one(c->item, c->n, &c->cap, sizeof(*p))) == NULL)
		return ERR_NOMEM;
	c->item = p;
	c->item[c->n] = (struct curve_item){ .at = l->at, .rank = l->rank, .value = l->value[m], .run = c->run,
		.order = c->added++, .measure = (enum logline_measure)m, .by_step = l->by_step };
	c->n++;
	return 0;
}

/* The first epoch takes the place of the steps. */
static void
drop_steps(struct curve *c)
{
	size_t n = c->begin;

	for (size_t i = c->begin; i < c->n; i++)
		if (!c->item[i].by_step)
			c->item[n++] = c->item[i];
	c->n = n;
	memset(c->counter, 0, sizeof(c->counter));	/* these items have moved */
}

static bool
has_measures(const struct logline *l)
{
	for (int m = 0; m < LOGLINE_MEASURES; m++)
		if (l->has[m])
			return true;
	return false;
}

/* Steps repeat a counter, and only its last value in an epoch matters.  Received and sent are adjacent items. */
static int
add_counters(struct curve *c, const struct logline *l)
{
	size_t *place = l->rank < CURVE_RANKS ? &c->counter[l->rank] : NULL;
	bool both = l->has[LOGLINE_RX_SO_FAR] && l->has[LOGLINE_TX_SO_FAR];
	struct curve_item *i = place != NULL && *place > 0 ? &c->item[*place - 1] : NULL;

	if (both && i != NULL && i->run == c->run && i->at == l->at && i->rank == l->rank && !l->by_step) {
		i[0].value = l->value[LOGLINE_RX_SO_FAR];
		i[1].value = l->value[LOGLINE_TX_SO_FAR];
		return 0;
	}
	if (place != NULL && both)
		*place = c->n + 1;
	for (int m = LOGLINE_RX_SO_FAR; m < LOGLINE_ALL; m++)
		if (l->has[m])
			ERR_TRY(add_measurement(c, l, m));
	return 0;
}

/* Names the current run. */
static int
set_label(struct curve *c, const char *label, bool first)
{
	void *p;

	if (c->labels <= c->run) {
		uint32_t n = c->run < 8 ? 16 : 2 * c->run;

		if ((p = realloc(c->label, n * sizeof(*c->label))) == NULL)
			return err_nomem();
		c->label = p;
		if ((p = realloc(c->from, n * sizeof(*c->from))) == NULL)
			return err_nomem();
		c->from = p;
		c->labels = n;
	}
	memcpy(c->label[c->run], label, LOGLINE_LABEL);
	if (first)
		memcpy(c->from[c->run], c->log, LOGLINE_LABEL);
	else if (strcmp(c->from[c->run], c->log) != 0)
		c->from[c->run][0] = 0;
	return 0;
}

/* The number after a key in a head, or -1. */
static int64_t
parse_head_number(const char *line, const char *key)
{
	const char *p = strstr(line, key);

	return p != NULL ? (int64_t)strtoul(p + strlen(key), NULL, 10) : -1;
}

/* The first log of a rank may begin with epoch 0 in the same run.  Any further one then begins another run. */
static void
read_log_head(struct curve *c, const char *line)
{
	int64_t rank = parse_head_number(line, " rank="), workers = parse_head_number(line, " workers=");

	if (strncmp(line, "# tally ", 8) != 0 || strstr(line, " tool=pworker ") == NULL || rank < 0 ||
	    rank >= CURVE_RANKS)
		return;
	if (!c->headed[rank] && (c->workers == 0 || c->workers == (uint64_t)workers))
		c->top[rank] = 0;
	else {
		c->further = true;
		for (int i = 0; i < (int)CURVE_RANKS; i++)
			c->top[i] = c->highest;
	}
	c->headed[rank] = c->heads[rank] = true;
	c->workers = (uint64_t)workers;
}

static uint64_t *
rank_top(struct curve *c, const struct logline *l)
{
	return l->rank < CURVE_RANKS && c->headed[l->rank] ? &c->top[l->rank] : &c->highest;
}

/* Whether a rank of the run has had epoch or step 0. */
static bool
has_begun(const struct curve *c)
{
	for (size_t i = 0; i < CURVE_RANKS; i++)
		if (c->first[i])
			return true;
	return false;
}

static bool
begins_run(struct curve *c, const struct logline *l, const char *label)
{
	bool place = l->at != LOGLINE_WHOLE;

	if (c->fresh || (place && c->placed && l->by_step != c->by_step) || strcmp(label, c->label[c->run]) != 0)
		return true;
	/*
	 * A resumed run may repeat its last epoch, but a further log with epoch 0 again is another run's, whichever of
	 * its ranks has written first.
	 */
	if (place && c->further && l->at == 0 && has_begun(c))
		return true;
	return place && l->at + (l->by_step ? 0 : 1) < *rank_top(c, l);
}

void
curve_begin(struct curve *c, const char *name)
{
	snprintf(c->file, sizeof(c->file), "%s", name);
	memset(&c->doc, 0, sizeof(c->doc));
	c->fresh = true;
}

void
curve_log(struct curve *c, const char *name)
{
	snprintf(c->log, sizeof(c->log), "%s", name);
}

void
curve_label_logs(struct curve *c)
{
	for (uint32_t i = 0; c->n > 0 && i <= c->run; i++)
		if (c->label[i][0] != 0 || c->from[i][0] == 0)
			return;
	for (uint32_t i = 0; c->n > 0 && c->run > 0 && i <= c->run; i++)
		memcpy(c->label[i], c->from[i], LOGLINE_LABEL);
}

int
curve_add_line(struct curve *c, const char *line)
{
	struct logline l, at_step;
	const char *label;
	bool first;
	int e;

	read_log_head(c, line);
	e = doc_parse(&c->doc, line, &l);
	if (e == 0)
		e = logline_parse(line, &l);
	if (c->doc.begins || (e == 0 && logline_begins(line)))
		c->fresh = true;
	c->doc.begins = false;
	if (e <= 0 || l.ends)
		return e;
	label = l.label[0] != 0 ? l.label : c->file;
	first = c->n == 0;
	if (!first && begins_run(c, &l, label)) {
		first = true;
		c->run++;
		c->highest = 0;
		c->placed = c->further = c->finished = false;
		c->begin = c->n;
		memset(c->top, 0, sizeof(c->top));
		memcpy(c->headed, c->heads, sizeof(c->headed));
		memset(c->first, 0, sizeof(c->first));
	}
	ERR_TRY(set_label(c, label, first));
	c->fresh = false;
	if (l.at != LOGLINE_WHOLE) {
		c->by_step = l.by_step;
		c->placed = true;
		c->further = false;
		memset(c->heads, 0, sizeof(c->heads));
		if (l.at == 0 && l.rank < CURVE_RANKS)
			c->first[l.rank] = true;
		uint64_t *top = rank_top(c, &l);

		*top = l.at > *top ? l.at : *top;
		c->highest = l.at > c->highest ? l.at : c->highest;
	}
	if (l.step == 0 && l.at != LOGLINE_WHOLE && !l.by_step && !c->finished && has_measures(&l)) {
		c->finished = true;
		drop_steps(c);
	}
	at_step = l;
	if (l.step > 0) {
		at_step.at = l.step;
		at_step.by_step = true;
	}
	for (int m = 0; m < LOGLINE_MEASURES && (l.step == 0 || !c->finished); m++)
		if (l.has[m] && (e = add_measurement(c, &at_step, m)) < 0)
			return e;
	return (e = add_counters(c, &l)) < 0 ? e : 1;
}

void
curve_free(struct curve *c)
{
	free(c->item);
	free(c->label);
	free(c->from);
	*c = (struct curve){ 0 };
}

#define DIFFER(a, b)	if ((a) != (b)) return (a) < (b) ? -1 : 1

static int
compare_by_order(const void *pa, const void *pb)
{
	const struct curve_item *a = pa, *b = pb;

	DIFFER(a->run, b->run);
	DIFFER(a->at, b->at);
	DIFFER(a->rank, b->rank);
	DIFFER(a->measure, b->measure);
	DIFFER(a->order, b->order);
	return 0;
}

static bool
is_same_row(const struct curve_item *a, const struct curve_item *b)
{
	return a->run == b->run && a->at == b->at && a->rank == b->rank;
}

/* Makes a row of the n items of one rank and epoch, which are sorted by measure. */
static struct curve_row
fold_measurements(const struct curve_item *t, size_t n)
{
	struct curve_row row = { .run = t->run, .at = t->at, .rank = t->rank, .by_step = t->by_step };
	double sum = 0, count = 0;

	for (size_t i = 0; i < n; i++) {
		bool averaged = t[i].rank == LOGLINE_ANYONE || t[i].measure == LOGLINE_SPEED;

		if (!averaged || i == 0 || t[i].measure != t[i - 1].measure)
			sum = count = 0;
		sum += t[i].value;
		count++;
		row.has[t[i].measure] = true;
		row.value[t[i].measure] = sum / count;
	}
	return row;
}

/* Replaces counters by their difference to the same rank's row before, which is p or NULL. */
static void
subtract_counters(struct curve_row *r, const struct curve_row *p)
{
	for (int i = 0; i < 2; i++) {
		int so_far = LOGLINE_RX_SO_FAR + i, m = LOGLINE_RX + i;
		double before = p != NULL && p->has[so_far] ? p->value[so_far] : 0;

		if (r->has[m] || !r->has[so_far] || (r->by_step && (p == NULL || !p->has[so_far])))
			continue;
		/* A restarted process counts from 0. */
		r->has[m] = true;
		r->value[m] = r->value[so_far] >= before ? r->value[so_far] - before : r->value[so_far];
	}
}

/* Rows are sorted by run, epoch and rank, so that a rank's row before is near. */
static void
subtract_all_counters(struct curve_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		struct curve_row *r = &rows->row[i], *p = r;

		while (p > rows->row && p[-1].run == r->run && p[-1].at + 1 >= r->at &&
		    !(p[-1].rank == r->rank && p[-1].at != r->at))
			p--;
		p = p > rows->row && p[-1].run == r->run && p[-1].rank == r->rank ? p - 1 : NULL;
		if (p == NULL && r->by_step && i > 0 && r[-1].run == r->run)
			p = r - 1;
		subtract_counters(r, p);
	}
}

/* Merges the rows of all ranks into one row for each epoch. */
static void
average_ranks(struct curve_rows *rows)
{
	size_t n = 0;

	for (size_t i = 0, k; i < rows->n; i = k) {
		struct curve_row sum = rows->row[i];
		double count[LOGLINE_MEASURES] = { 0 };

		memset(sum.value, 0, sizeof(sum.value));
		memset(sum.has, 0, sizeof(sum.has));
		sum.rank = LOGLINE_ANYONE;
		for (k = i; k < rows->n && rows->row[k].run == sum.run && rows->row[k].at == sum.at; k++)
			for (int m = 0; m < LOGLINE_MEASURES; m++)
				if (rows->row[k].has[m]) {
					sum.has[m] = true;
					sum.value[m] += rows->row[k].value[m];
					count[m]++;
				}
		for (int m = 0; m < LOGLINE_MEASURES; m++)
			if (sum.has[m])
				sum.value[m] /= count[m];
		rows->row[n++] = sum;
	}
	rows->n = n;
}

/* In a run that shows its steps, counters have no epoch that they belong to. */
static void
drop_epochs_of_steps(struct curve_rows *rows)
{
	size_t n = 0;

	for (size_t i = 0, k; i < rows->n; i = k) {
		bool by_step = false;

		for (k = i; k < rows->n && rows->row[k].run == rows->row[i].run; k++)
			by_step |= rows->row[k].by_step;
		for (size_t j = i; j < k; j++)
			if (!by_step || rows->row[j].by_step || rows->row[j].at == LOGLINE_WHOLE)
				rows->row[n++] = rows->row[j];
	}
	rows->n = n;
}

int
curve_rows(struct curve *c, bool by_rank, struct curve_rows *rows)
{
	*rows = (struct curve_rows){ .runs = c->n > 0 ? c->run + 1 : 0, .label = c->label };
	if (c->n == 0)
		return 0;
	if ((rows->row = calloc(c->n, sizeof(*rows->row))) == NULL)
		return err_nomem();
	memset(c->counter, 0, sizeof(c->counter));	/* sorting moves the items */
	qsort(c->item, c->n, sizeof(*c->item), compare_by_order);
	for (size_t i = 0, k; i < c->n; i = k) {
		for (k = i + 1; k < c->n && is_same_row(&c->item[i], &c->item[k]); k++)
			continue;
		rows->row[rows->n++] = fold_measurements(&c->item[i], k - i);
	}
	drop_epochs_of_steps(rows);
	subtract_all_counters(rows);
	if (!by_rank)
		average_ranks(rows);
	return 0;
}

void
curve_name(const struct curve_rows *rows, uint32_t run, char name[LOGLINE_LABEL])
{
	const char *label = rows->label[run];
	uint32_t first = run;

	while (label[0] != 0 && first > 0 && run - first < 999 && strcmp(rows->label[first - 1], label) == 0)
		first--;
	if (label[0] == 0)
		snprintf(name, LOGLINE_LABEL, "%u", run + 1);
	else if (first == run)
		memcpy(name, label, LOGLINE_LABEL);
	else
		snprintf(name, LOGLINE_LABEL, "%.84s (%u)", label, run - first + 1);
}

void
curve_rows_free(struct curve_rows *rows)
{
	free(rows->row);
	*rows = (struct curve_rows){ 0 };
}
