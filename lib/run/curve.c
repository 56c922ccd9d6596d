/* curve - the lines of training logs into figures by epoch. */
#include "run/curve.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

/* One measurement; order keeps those that are equal else as they came. */
struct curve_item {
	uint64_t at, rank;
	double value;
	uint32_t run, order;
	enum logline_measure measure;
	bool by_step;
};

static int
add(struct curve *c, const struct logline *l, enum logline_measure m)
{
	size_t cap = c->cap > 0 ? 2 * c->cap : 256;
	struct curve_item *p;

	if (c->n == CURVE_MOST)
		return err_fail(ERR_LIMIT, "more than %u measurements", CURVE_MOST);
	if (c->n == c->cap) {
		if ((p = realloc(c->item, cap * sizeof(*p))) == NULL)
			return err_nomem();
		c->item = p;
		c->cap = cap;
	}
	c->item[c->n] = (struct curve_item){ .at = l->at, .rank = l->rank, .value = l->value[m], .run = c->run,
		.order = (uint32_t)c->n, .measure = m, .by_step = l->by_step };
	c->n++;
	return 0;
}

int
curve_take(struct curve *c, const char *line)
{
	struct logline l;
	int e = logline_parse(line, &l);

	if (e == 0 && logline_begins(line))
		c->fresh = true;
	if (e <= 0)
		return e;
	if (c->n > 0 && (c->fresh || l.by_step != c->by_step || l.at + (l.by_step ? 0 : 1) < c->highest)) {
		c->run++;
		c->highest = 0;
	}
	c->fresh = false;
	c->by_step = l.by_step;
	c->highest = l.at > c->highest ? l.at : c->highest;
	for (int m = 0; m < LOGLINE_MEASURES; m++)
		if (l.has[m] && (e = add(c, &l, (enum logline_measure)m)) < 0)
			return e;
	return 1;
}

void
curve_free(struct curve *c)
{
	free(c->item);
	*c = (struct curve){ 0 };
}

#define DIFFER(a, b)	if ((a) != (b)) return (a) < (b) ? -1 : 1

static int
by_order(const void *pa, const void *pb)
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
same_row(const struct curve_item *a, const struct curve_item *b)
{
	return a->run == b->run && a->at == b->at && a->rank == b->rank;
}

/* The items of one rank and epoch, n of them, the measures sorted, into a row. */
static struct curve_row
fold(const struct curve_item *t, size_t n)
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

/* Rows by rank, ranks next to each other, into one row an epoch. */
static void
mean(struct curve_rows *rows)
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

int
curve_rows(struct curve *c, bool by_rank, struct curve_rows *rows)
{
	*rows = (struct curve_rows){ .runs = c->n > 0 ? c->run + 1 : 0 };
	if (c->n == 0)
		return 0;
	if ((rows->row = calloc(c->n, sizeof(*rows->row))) == NULL)
		return err_nomem();
	qsort(c->item, c->n, sizeof(*c->item), by_order);
	for (size_t i = 0, k; i < c->n; i = k) {
		for (k = i + 1; k < c->n && same_row(&c->item[i], &c->item[k]); k++)
			continue;
		rows->row[rows->n++] = fold(&c->item[i], k - i);
	}
	if (!by_rank)
		mean(rows);
	return 0;
}

void
curve_rows_free(struct curve_rows *rows)
{
	free(rows->row);
	*rows = (struct curve_rows){ 0 };
}
