/* check_beside - compares an .idx and a .sum with the records of a .rec. */
#include "record/check_beside.h"
#include "base/err.h"
#include "base/grow.h"
#include "base/io.h"
#include "record/beside.h"
#include "record/idx.h"
#include "record/sum.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define REPORTED	8u	/* most errors reported of a file: that of another .rec has one in each line */

struct pair {
	uint64_t	at, key;
};

struct side {
	char		*path;
	bool		 exists;
	uint64_t	 faults;
	char		 line[REPORTED][160];
};

struct check_sides {
	struct side		 index, sums;
	struct pair		*pair;		/* [pairs] entries by offset */
	size_t			 pairs, next;	/* pairs before next are checked */
	struct sum_reader	*reader;
	struct sum_line		 ahead;		/* the next line, if has is 1 */
	int			 has;		/* 1 if ahead is valid, 0 after the last line, or an error */
	uint64_t		 rising;	/* offsets of lines that are in order are at least this */
};

__attribute__((format(printf, 2, 3))) static void
note_fault(struct side *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (s->faults < REPORTED)
		vsnprintf(s->line[s->faults], sizeof(s->line[0]), fmt, ap);
	va_end(ap);
	s->faults++;
}

static int
compare_by_offset(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static int
read_pairs(struct check_sides *s, const struct buf *text)
{
	const uint8_t *p = text->p, *end = text->n > 0 ? p + text->n : p;
	struct pair one, *more;
	size_t cap = 0;
	int e;

	while ((e = idx_line(&p, end, &one.key, &one.at)) > 0) {
		if ((more = grow_by_one(s->pair, s->pairs, &cap, sizeof(*more))) == NULL)
			return ERR_NOMEM;
		s->pair = more;
		s->pair[s->pairs++] = one;
	}
	if (e < 0)
		note_fault(&s->index, "line %zu: %s", s->pairs + 1, err_line());
	if (s->pairs > 0)
		qsort(s->pair, s->pairs, sizeof(*s->pair), compare_by_offset);
	return 0;
}

static int
open_index(struct check_sides *s)
{
	struct buf text = { 0 };
	int e;

	if (access(s->index.path, F_OK) < 0)
		return 0;
	s->index.exists = true;
	if ((e = io_slurp(s->index.path, SIZE_MAX / 2, &text)) == 0)
		e = read_pairs(s, &text);
	else if (e != ERR_NOMEM)
		note_fault(&s->index, "%s", err_line());
	buf_free(&text);
	return e == ERR_NOMEM ? e : 0;
}

static void
read_sum(struct check_sides *s)
{
	if (s->has > 0 && s->ahead.at >= s->rising)
		s->rising = s->ahead.at + 1;
	if (s->reader != NULL && (s->has = sum_next(s->reader, &s->ahead)) < 0)
		note_fault(&s->sums, "%s", err_line());
}

static int
open_sums(struct check_sides *s)
{
	int e;

	if (access(s->sums.path, F_OK) < 0)
		return 0;
	s->sums.exists = true;
	if ((e = sum_open(s->sums.path, &s->reader)) == ERR_NOMEM)
		return e;
	if (e < 0)
		note_fault(&s->sums, "%s", err_line());
	read_sum(s);
	return 0;
}

int
check_sides_open(const char *rec, struct check_sides **out)
{
	struct check_sides *s = calloc(1, sizeof(*s));
	int e = 0;

	*out = NULL;
	if (s == NULL)
		return err_nomem();
	if (strcmp(rec, "-") != 0) {
		s->index.path = beside_name(rec, ".idx");
		s->sums.path = beside_name(rec, ".sum");
		e = s->index.path != NULL && s->sums.path != NULL ? open_index(s) : err_nomem();
		if (e == 0)
			e = open_sums(s);
	}
	if (e < 0) {
		check_sides_close(s);
		return e;
	}
	*out = s;
	return 0;
}

void
check_sides_close(struct check_sides *s)
{
	if (s == NULL)
		return;
	sum_close(s->reader);
	free(s->pair);
	free(s->index.path);
	free(s->sums.path);
	free(s);
}

/* Skips the lines of both files up to an offset, and reports their records as missing. */
static void
skip_lines(struct check_sides *s, uint64_t at, bool report)
{
	for (; s->next < s->pairs && s->pair[s->next].at < at; s->next++)
		if (report && s->next > 0 && s->pair[s->next].at == s->pair[s->next - 1].at)
			note_fault(&s->index, "lists the offset %" PRIu64 " twice", s->pair[s->next].at);
		else if (report)
			note_fault(&s->index, "lists id %" PRIu64 " at %" PRIu64 ", where no record starts",
			    s->pair[s->next].key, s->pair[s->next].at);
	for (; s->has > 0 && s->ahead.at < at; read_sum(s))
		if (report && s->ahead.at < s->rising)
			note_fault(&s->sums, "lists the record at %" PRIu64 " twice or out of order", s->ahead.at);
		else if (report)
			note_fault(&s->sums, "lists a record of %" PRIu64 " bytes at %" PRIu64 ", where none starts",
			    s->ahead.bytes, s->ahead.at);
}

int
check_sides_record(struct check_sides *s, const struct recwalk_rec *r, uint64_t id)
{
	const struct pair *p;
	bool same = true;

	skip_lines(s, r->at, true);
	p = s->next < s->pairs ? &s->pair[s->next] : NULL;
	if (p != NULL && p->at == r->at) {
		if (p->key != id)
			note_fault(&s->index, "the record at %" PRIu64 " has id %" PRIu64 ", not %" PRIu64, r->at, id,
			    p->key);
		s->next++;
	} else if (s->index.exists) {
		note_fault(&s->index, "lacks the record at %" PRIu64 ", id %" PRIu64, r->at, id);
	}
	if (s->has > 0 && s->ahead.at == r->at) {
		same = s->ahead.bytes == r->bytes && s->ahead.sum == r->sum;
		read_sum(s);
	} else if (s->has >= 0 && s->sums.exists) {
		note_fault(&s->sums, "lacks the record at %" PRIu64 ", id %" PRIu64, r->at, id);
	}
	return same ? 0 : err_fail(ERR_ITEM, "its checksum differs: the bytes changed after they were written");
}

void
check_sides_lost(struct check_sides *s, uint64_t to)
{
	skip_lines(s, to, false);
}

static int
report_side(const struct side *s, const struct check_sink *sink, enum check_beside *how)
{
	int e = 0;

	*how = !s->exists ? CHECK_NONE : s->faults == 0 ? CHECK_AGREES : CHECK_DIFFERS;
	for (uint64_t i = 0; e == 0 && i < s->faults && i < REPORTED; i++)
		e = sink->bad(sink->ctx, err_fail(ERR_FORMAT, "%s: %s", s->path, s->line[i]));
	if (e == 0 && s->faults > REPORTED)
		e = sink->bad(sink->ctx, err_fail(ERR_FORMAT, "%s: %" PRIu64 " more errors", s->path,
		    s->faults - REPORTED));
	return e;
}

int
check_sides_end(struct check_sides *s, const struct check_sink *sink, struct check_found *found)
{
	int e;

	skip_lines(s, UINT64_MAX, true);
	e = report_side(&s->index, sink, &found->index);
	return e == 0 ? report_side(&s->sums, sink, &found->sums) : e;
}
