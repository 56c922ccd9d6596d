/* alias - a table that maps another program's array names to a net's, and back. */
#include "net/alias.h"
#include "base/err.h"
#include "base/io.h"
#include "base/datadir.h"
#include "base/nearest.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r"

struct line {
	const char	*from, *to;
};

struct alias {
	struct buf	 text;
	struct line	 line[ALIAS_LINES];
	unsigned	 n;
};

static bool
has_one_star(const char *s)
{
	const char *star = strchr(s, '*');

	return star != NULL && strchr(star + 1, '*') == NULL;
}

/* Parses one line, a string, which it cuts into names. */
static int
parse_alias_line(struct alias *a, char *text, bool back)
{
	char *theirs, *ours, *rest;

	text[strcspn(text, "#")] = 0;
	if ((theirs = strtok_r(text, BLANKS, &rest)) == NULL)
		return 0;
	if ((ours = strtok_r(NULL, BLANKS, &rest)) == NULL || strtok_r(NULL, BLANKS, &rest) != NULL)
		return err_fail(ERR_FORMAT, "is not two names");
	if ((strchr(theirs, '*') != NULL || strchr(ours, '*') != NULL) &&
	    (!has_one_star(theirs) || !has_one_star(ours)))
		return err_fail(ERR_FORMAT, "'%.64s' and '%.64s' must have one * each, or none", theirs, ours);
	if (a->n == ALIAS_LINES)
		return err_fail(ERR_LIMIT, "more than %d lines", ALIAS_LINES);
	a->line[a->n++] = back ? (struct line){ ours, theirs } : (struct line){ theirs, ours };
	return 0;
}

static int
parse_alias_text(struct alias *a, bool back)
{
	unsigned number = 1;
	char *rest = (char *)a->text.p, *one;

	if (strlen(rest) != a->text.n)
		return err_fail(ERR_FORMAT, "holds a zero byte");
	for (; (one = strsep(&rest, "\n")) != NULL; number++)
		ERR_TRY(err_wrap(parse_alias_line(a, one, back), "line %u", number));
	return 0;
}

/* The error if there is no table of this name: the nearest name, or all. */
static int
fail_unknown_table(const char *name, int e)
{
	struct nearest near = { .word = name };
	struct buf all = { 0 };
	char path[PATH_MAX];
	struct dirent **d;
	int n, listed = 0;

	if (datadir_find("names", path) < 0 || (n = scandir(path, &d, NULL, alphasort)) < 0)
		return e;
	for (int i = 0; i < n; i++) {
		nearest_try(&near, d[i]->d_name);
		if (listed == 0 && d[i]->d_name[0] != '.')
			listed = buf_put_fmt(&all, "%s%s", all.n > 0 ? ", " : "", d[i]->d_name);
	}
	if (near.best != NULL)
		e = err_fail(e, "there is no table '%.64s'; did you mean %s?", name, near.best);
	else if (listed == 0 && buf_terminate(&all) == 0)
		e = err_fail(e, "there is no table '%.64s'; there are %s", name, (char *)all.p);
	for (int i = 0; i < n; i++)
		free(d[i]);
	free(d);
	buf_free(&all);
	return e;
}

int
alias_load(const char *name, bool back, struct alias **alias)
{
	struct alias *a = calloc(1, sizeof(*a));
	char rel[PATH_MAX], path[PATH_MAX];
	int e;

	*alias = NULL;
	if (a == NULL)
		return err_nomem();
	snprintf(path, sizeof(path), "%s", name);
	if (strchr(name, '/') == NULL) {
		snprintf(rel, sizeof(rel), "names/%s", name);
		if ((e = *name != 0 ? datadir_find(rel, path) : ERR_ARG) < 0) {
			alias_free(a);
			return fail_unknown_table(name, e);
		}
	}
	if ((e = io_slurp(path, ALIAS_BYTES, &a->text)) < 0 || (e = buf_terminate(&a->text)) < 0 ||
	    (e = parse_alias_text(a, back)) < 0) {
		err_within("%s", path);
		alias_free(a);
		return e;
	}
	*alias = a;
	return 0;
}

void
alias_free(struct alias *a)
{
	if (a == NULL)
		return;
	buf_free(&a->text);
	free(a);
}

/* Returns the text that the star matches, *n bytes of name, or NULL if the name does not match. */
static const char *
match_alias_pattern(const char *pattern, const char *name, size_t *n)
{
	const char *star = strchr(pattern, '*');
	size_t before, after, all = strlen(name);

	*n = 0;
	if (star == NULL)
		return strcmp(pattern, name) == 0 ? name : NULL;
	before = (size_t)(star - pattern);
	after = strlen(star + 1);
	if (all < before + after || strncmp(pattern, name, before) != 0 || strcmp(star + 1, name + all - after) != 0)
		return NULL;
	*n = all - before - after;
	return name + before;
}

int
alias_apply(const struct alias *a, const char *name, struct buf *out)
{
	for (unsigned i = 0; i < a->n; i++) {
		const char *to = a->line[i].to, *star = strchr(to, '*'), *any;
		size_t n;

		if ((any = match_alias_pattern(a->line[i].from, name, &n)) == NULL)
			continue;
		if (star == NULL)
			return buf_put(out, to, strlen(to));
		ERR_TRY(buf_put(out, to, (size_t)(star - to)));
		ERR_TRY(buf_put(out, any, n));
		return buf_put(out, star + 1, strlen(star + 1));
	}
	return buf_put(out, name, strlen(name));
}
