/* names - a list of names: the classes of a data set, in the order of their numbers. */
#include "source/names.h"
#include "base/err.h"
#include "base/grow.h"
#include "base/io.h"
#include "tensor/tensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
insert_at(struct names *l, size_t at, const char *name, size_t n)
{
	char *copy, **p;

	if (l->n == NAMES_MOST || l->bytes + n + 1 > NAMES_BYTES)
		return err_fail(ERR_LIMIT, "more than %u names, or %u bytes of them", NAMES_MOST, NAMES_BYTES);
	if ((p = grow_by_one(l->p, l->n, &l->cap, sizeof(*p))) == NULL)
		return ERR_NOMEM;
	l->p = p;
	if ((copy = strndup(name, n)) == NULL)
		return err_nomem();
	memmove(l->p + at + 1, l->p + at, (l->n - at) * sizeof(*l->p));
	l->p[at] = copy;
	l->n++;
	l->bytes += n + 1;
	return 0;
}

static int
compare_name(const char *a, const char *b, size_t n)
{
	int c = strncmp(a, b, n);

	return c != 0 ? c : a[n] != 0;
}

static const char *
get_sorted(const struct names *l, size_t i)
{
	return l->p[l->sorted != NULL ? l->sorted[i] : i];
}

/* The index of the name in the order of bytes, or where to insert it; *there says which. */
static size_t
search_names(const struct names *l, const char *name, size_t n, bool *there)
{
	size_t lo = 0, hi = l->n;

	*there = false;
	while (lo < hi && !*there) {
		size_t mid = lo + (hi - lo) / 2;
		int c = compare_name(get_sorted(l, mid), name, n);

		if (c == 0)
			*there = true;
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return *there ? hi : lo;
}

int
names_append(struct names *l, const char *name, size_t n)
{
	return insert_at(l, l->n, name, n);
}

int
names_insert(struct names *l, const char *name, size_t n)
{
	bool there;
	size_t at = search_names(l, name, n, &there);

	return there ? 0 : insert_at(l, at, name, n);
}

long
names_find(const struct names *l, const char *name, size_t n)
{
	bool there;
	size_t at = search_names(l, name, n, &there);

	return !there ? -1 : (long)(l->sorted != NULL ? l->sorted[at] : at);
}

static int
compare_numbers(const void *a, const void *b, void *l)
{
	return strcmp(((const struct names *)l)->p[*(const size_t *)a],
	    ((const struct names *)l)->p[*(const size_t *)b]);
}

static int
sort_names(struct names *l)
{
	if ((l->sorted = malloc(l->n * sizeof(*l->sorted))) == NULL)
		return err_nomem();
	for (size_t i = 0; i < l->n; i++)
		l->sorted[i] = i;
	qsort_r(l->sorted, l->n, sizeof(*l->sorted), compare_numbers, l);
	for (size_t i = 1; i < l->n; i++)
		if (strcmp(get_sorted(l, i - 1), get_sorted(l, i)) == 0)
			return err_fail(ERR_FORMAT, "%.64s: listed twice", get_sorted(l, i));
	return 0;
}

int
names_parse(struct names *l, const char *text)
{
	static const char mark[] = "\xef\xbb\xbf";	/* begins UTF-8 of some editors */
	int e = 0;

	if (strncmp(text, mark, strlen(mark)) == 0)
		text += strlen(mark);
	for (const char *next; *text != 0 && e == 0; text = next) {
		size_t n = strcspn(text, "\n");

		next = text + n + (text[n] != 0);
		n -= n > 0 && text[n - 1] == '\r';
		if (n > 0)
			e = names_append(l, text, n);
	}
	if (e == 0)
		e = l->n > 0 ? sort_names(l) : err_fail(ERR_FORMAT, "no names");
	return e;
}

int
names_end_text(struct buf *text)
{
	if (text->n > 0 && memchr(text->p, 0, text->n) != NULL)
		return err_fail(ERR_FORMAT, "a zero byte; save the names as UTF-8, not as UTF-16");
	return buf_terminate(text);
}

int
names_read(struct names *l, const char *path)
{
	struct buf b = { 0 };
	int e = io_slurp(path, NAMES_BYTES, &b);

	if (e == 0 && (e = names_end_text(&b)) == 0)
		e = names_parse(l, (char *)b.p);
	buf_free(&b);
	return err_wrap(e, "%s", path);
}

bool
names_equal(const struct names *a, const struct names *b)
{
	for (size_t i = 0; a->n == b->n && i < a->n; i++)
		if (strcmp(a->p[i], b->p[i]) != 0)
			return false;
	return a->n == b->n;
}

bool
names_are_numbers(const struct names *l)
{
	char text[24];

	for (size_t i = 0; i < l->n; i++) {
		snprintf(text, sizeof(text), "%zu", i);
		if (strcmp(l->p[i], text) != 0)
			return false;
	}
	return true;
}

bool
names_are_printable(const char *lines)
{
	for (const char *c = lines; *c != 0; c++)
		if (((unsigned char)*c < ' ' && *c != '\n') || *c == 0x7f)
			return false;
	return tensors_is_utf8(lines);
}

int
names_put(const struct names *l, struct buf *text)
{
	for (size_t i = 0; i < l->n && i < NAMES_SHOWN; i++)
		ERR_TRY(buf_put_fmt(text, "%s%.40s", i > 0 ? ", " : "", l->p[i]));
	return l->n > NAMES_SHOWN ? buf_put(text, ", ...", 5) : 0;
}

int
names_put_lines(const struct names *l, struct buf *text)
{
	for (size_t i = 0; i < l->n; i++)
		ERR_TRY(buf_put_fmt(text, "%s\n", l->p[i]));
	return 0;
}

void
names_free(struct names *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->p[i]);
	free(l->p);
	free(l->sorted);
	*l = (struct names){ 0 };
}
