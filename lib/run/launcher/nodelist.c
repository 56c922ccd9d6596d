/* nodelist - expands Slurm's short form of a list of hosts. */
#include "run/launcher/nodelist.h"

#include "base/err.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MOST	255	/* bytes of a name */
#define DIGITS_MOST	9

/* A position in the list of task counts. */
struct tasks {
	const char	*at;	/* NULL: no counts */
	unsigned long	 count, left;	/* the current count, and for how many more names it holds */
};

struct list {
	struct buf	*out;
	struct tasks	 tasks;
	uint32_t	 n;	/* names so far */
};

static int
parse_list_number(const char **p, unsigned long *v)
{
	size_t digits = strspn(*p, "0123456789");
	char *end;

	if (digits == 0 || digits > DIGITS_MOST)
		return err_fail(ERR_FORMAT, "'%.32s' is not a number", *p);
	*v = strtoul(*p, &end, 10);
	*p = end;
	return 0;
}

/* Parses "2(x3)" or "1" and the comma after it, unless the current count still holds. */
static int
parse_tasks(struct tasks *t)
{
	if (t->at == NULL || t->left > 0) {
		t->left -= t->left > 0;
		return 0;
	}
	ERR_TRY(parse_list_number(&t->at, &t->count));
	t->left = 1;
	if (strncmp(t->at, "(x", 2) == 0) {
		t->at += 2;
		ERR_TRY(parse_list_number(&t->at, &t->left));
		if (*t->at++ != ')')
			return err_fail(ERR_FORMAT, "SLURM_TASKS_PER_NODE: '(' without ')'");
	}
	if (t->count == 0 || t->left == 0 || (*t->at != 0 && *t->at++ != ','))
		return err_fail(ERR_FORMAT, "SLURM_TASKS_PER_NODE: malformed counts");
	t->left--;
	return 0;
}

static int
put_host(struct list *l, const char *name)
{
	if (++l->n > NODELIST_MOST)
		return err_fail(ERR_LIMIT, "more than %u hosts", NODELIST_MOST);
	ERR_TRY(parse_tasks(&l->tasks));
	return l->tasks.at != NULL ? buf_put_fmt(l->out, "%s slots=%lu\n", name, l->tasks.count) :
	    buf_put_fmt(l->out, "%s\n", name);
}

static int	 expand_name(struct list *l, const char *text, size_t n, char name[NAME_MOST + 1], size_t at);

/* Expands "3" or "01-12" at *p: a name for each number, followed by `rest`. */
static int
expand_range(struct list *l, const char **p, const char *rest, size_t nrest, char name[NAME_MOST + 1], size_t at)
{
	size_t width = strspn(*p, "0123456789");
	unsigned long from, to;
	int e = 0;

	ERR_TRY(parse_list_number(p, &from));
	to = from;
	if (**p == '-') {
		++*p;
		ERR_TRY(parse_list_number(p, &to));
	}
	if (to < from)
		return err_fail(ERR_FORMAT, "%lu-%lu is not a range", from, to);
	for (unsigned long i = from; i <= to && e == 0; i++) {
		int k = at <= NAME_MOST ? snprintf(name + at, NAME_MOST + 1 - at, "%0*lu", (int)width, i) : NAME_MOST;

		if (at + (size_t)k > NAME_MOST)
			return err_fail(ERR_LIMIT, "a name longer than %d", NAME_MOST);
		e = expand_name(l, rest, nrest, name, at + (size_t)k);
	}
	return e;
}

/* Expands all brackets of text [n]; name [at] is what precedes it. */
static int
expand_name(struct list *l, const char *text, size_t n, char name[NAME_MOST + 1], size_t at)
{
	const char *open = memchr(text, '[', n);
	const char *shut = open != NULL ? memchr(open, ']', n - (size_t)(open - text)) : NULL;
	size_t plain = open != NULL ? (size_t)(open - text) : n;
	const char *p;

	if (at + plain > NAME_MOST)
		return err_fail(ERR_LIMIT, "a name longer than %d", NAME_MOST);
	for (size_t i = 0; i < plain; i++)
		if (!isalnum((unsigned char)text[i]) && strchr("._-", text[i]) == NULL)
			return err_fail(ERR_FORMAT, "'%.*s' is not a host name", (int)(plain < 64 ? plain : 64), text);
	memcpy(name + at, text, plain);
	at += plain;
	if (open == NULL) {
		name[at] = 0;
		return at > 0 ? put_host(l, name) : err_fail(ERR_FORMAT, "an empty name");
	}
	if (shut == NULL)
		return err_fail(ERR_FORMAT, "'[' without ']'");
	p = open + 1;
	do {
		ERR_TRY(expand_range(l, &p, shut + 1, n - (size_t)(shut + 1 - text), name, at));
	} while (p < shut && *p++ == ',');
	return p == shut ? 0 : err_fail(ERR_FORMAT, "'%.32s' is not a list of numbers", open);
}

/* Finds the end of the name at p: a comma outside brackets, or the end of the text. */
static const char *
find_name_end(const char *p)
{
	for (bool in = false; *p != 0 && (in || *p != ','); p++)
		in = *p == '[' || (in && *p != ']');
	return p;
}

int
nodelist_hosts(const char *list, const char *tasks, struct buf *out)
{
	struct list l = { .out = out, .tasks = { .at = tasks } };
	char name[NAME_MOST + 1];
	const char *end;

	for (;; list = end + 1) {
		end = find_name_end(list);
		ERR_TRY(expand_name(&l, list, (size_t)(end - list), name, 0));
		if (*end == 0)
			return 0;
	}
}
