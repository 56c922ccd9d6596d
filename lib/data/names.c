/* names - a list of names: the classes of a data set, in the order of their numbers. */
#include "data/names.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int
put(struct names *l, size_t at, const char *name, size_t n)
{
	char *copy;

	if (l->n == NAMES_MOST || l->bytes + n + 1 > NAMES_BYTES)
		return err_fail(ERR_LIMIT, "more than %u names, or %u bytes of them", NAMES_MOST, NAMES_BYTES);
	if (l->n == l->cap) {
		size_t cap = l->cap > 0 ? l->cap * 2 : 16;
		char **p = realloc(l->p, cap * sizeof(*p));

		if (p == NULL)
			return err_nomem();
		l->p = p;
		l->cap = cap;
	}
	if ((copy = strndup(name, n)) == NULL)
		return err_nomem();
	memmove(l->p + at + 1, l->p + at, (l->n - at) * sizeof(*l->p));
	l->p[at] = copy;
	l->n++;
	l->bytes += n + 1;
	return 0;
}

static int
order(const char *a, const char *b, size_t n)
{
	int c = strncmp(a, b, n);

	return c != 0 ? c : a[n] != 0;
}

/* Where the name stands, or should; there says which. */
static size_t
place(const struct names *l, const char *name, size_t n, bool *there)
{
	size_t lo = 0, hi = l->n;

	*there = false;
	while (lo < hi && !*there) {
		size_t mid = lo + (hi - lo) / 2;
		int c = order(l->p[mid], name, n);

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
names_push(struct names *l, const char *name, size_t n)
{
	return put(l, l->n, name, n);
}

int
names_insert(struct names *l, const char *name, size_t n)
{
	bool there;
	size_t at = place(l, name, n, &there);

	return there ? 0 : put(l, at, name, n);
}

long
names_find(const struct names *l, const char *name, size_t n)
{
	bool there;
	size_t at = place(l, name, n, &there);

	return there ? (long)at : -1;
}

void
names_free(struct names *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->p[i]);
	free(l->p);
	*l = (struct names){ 0 };
}
