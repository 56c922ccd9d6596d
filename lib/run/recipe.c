/* recipe - a file of options turned into the words of a tool's command line. */
#include "run/recipe.h"

#include "base/err.h"
#include "base/io.h"
#include "base/datadir.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\r";

/* Ends the line where a word begins with '#', but for one within quotes. */
static void
cut_comment(char *line)
{
	char quote = 0, before = ' ';

	for (char *p = line; *p != 0; before = *p++) {
		if (quote == 0 && *p == '#' && strchr(blanks, before) != NULL) {
			*p = 0;
			return;
		}
		if (quote == 0 && (*p == '\'' || *p == '"'))
			quote = *p;
		else if (*p == quote)
			quote = 0;
	}
}

/* Is the line for this tool?  *line is moved behind the name in front.  1, 0 or ERR_FORMAT. */
static int
is_for(char **line, const char *tool)
{
	static const char *const tools[] = { "dlaunch", "pworker" };
	size_t n = strcspn(*line, blanks);

	if (**line == '-')
		return 1;
	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (strncmp(*line, tools[i], n) == 0 && tools[i][n] == 0) {
			*line += n;
			return strcmp(tool, tools[i]) == 0;
		}
	return err_fail(ERR_FORMAT, "'%.*s' is neither an option nor dlaunch or pworker", n < 64 ? (int)n : 64, *line);
}

static int
take_line(struct recipe *r, char *line, uint32_t at, const char *tool)
{
	size_t had = r->words.n;
	int e;

	line[strcspn(line, "\r")] = 0;
	cut_comment(line);
	line += strspn(line, blanks);
	if (*line == 0 || (e = is_for(&line, tool)) == 0)
		return 0;
	if (e < 0 || (e = words_split(&r->words, line)) < 0)
		return e;
	if (r->words.n > RECIPE_WORDS)
		return err_fail(ERR_LIMIT, "more than %u words", RECIPE_WORDS);
	for (; had < r->words.n; had++) {
		if (r->words.v[had][0] == '@')
			return err_fail(ERR_FORMAT, "%.64s: a recipe names no other", r->words.v[had]);
		r->line[had] = at;
	}
	return 0;
}

int
recipe_parse(struct recipe *r, const char *path, const void *text, size_t n, const char *tool)
{
	char *copy, *line, *end;
	int e = 0;

	*r = (struct recipe){ 0 };
	snprintf(r->path, sizeof(r->path), "%s", path);
	if (n > RECIPE_FILE)
		return err_fail(ERR_LIMIT, "%s: is longer than %u bytes", path, RECIPE_FILE);
	if ((copy = malloc(n + 1)) == NULL)
		return err_nomem();
	if (n > 0)
		memcpy(copy, text, n);
	copy[n] = 0;
	line = copy;
	for (uint32_t at = 1; e == 0 && line <= copy + n; at++) {
		if ((end = memchr(line, '\n', (size_t)(copy + n - line))) == NULL)
			end = copy + n;
		*end = 0;
		e = strlen(line) == (size_t)(end - line) ? take_line(r, line, at, tool) : err_fail(ERR_FORMAT, "a zero byte");
		if (e < 0)
			err_within("%s:%u", path, at);
		line = end + 1;
	}
	free(copy);
	if (e < 0)
		recipe_free(r);
	return e;
}

/* The place of a name: share/recipes has it, or it is a path. */
static void
find(const char *name, char path[PATH_MAX])
{
	char rel[PATH_MAX];
	int n = snprintf(rel, sizeof(rel), "recipes/%s", name);

	if (*name == 0 || strchr(name, '/') != NULL || n >= (int)sizeof(rel) || datadir_find(rel, path) < 0)
		snprintf(path, PATH_MAX, "%s", name);
}

int
recipe_read(struct recipe *r, const char *name, const char *tool)
{
	char path[PATH_MAX];
	struct buf b = { 0 };
	int e;

	*r = (struct recipe){ 0 };
	find(name, path);
	if ((e = io_slurp(path, RECIPE_FILE, &b)) < 0)
		err_within("recipe %s", name);
	else
		e = recipe_parse(r, path, b.p, b.n, tool);
	buf_free(&b);
	return e;
}

void
recipe_free(struct recipe *r)
{
	words_free(&r->words);
	*r = (struct recipe){ 0 };
}

/* A name of letters, digits and -_. that no editor left behind. */
static int
is_name(const struct dirent *d)
{
	return strspn(d->d_name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == strlen(d->d_name) &&
	    d->d_name[0] != '.' && d->d_name[0] != '-';
}

int
recipe_names(struct words *names)
{
	char path[PATH_MAX];
	struct dirent **d;
	int n, e = datadir_find("recipes", path);

	if (e < 0)
		return e;
	if ((n = scandir(path, &d, is_name, versionsort)) < 0)
		return err_sys("%s", path);
	for (int i = 0; i < n; i++) {
		if (e == 0)
			e = words_add(names, "%s", d[i]->d_name);
		free(d[i]);
	}
	free(d);
	return e;
}

int
recipe_about(const char *name, char about[RECIPE_ABOUT])
{
	char path[PATH_MAX], *text;
	struct buf b = { 0 };
	size_t skip = strlen(name) + strlen("#  - ");
	int e;

	find(name, path);
	if ((e = io_slurp(path, RECIPE_FILE, &b)) == 0 && (e = buf_terminate(&b)) == 0) {
		text = (char *)b.p;
		text[strcspn(text, "\n")] = 0;
		snprintf(about, RECIPE_ABOUT, "%s", text[0] == '#' && strlen(text) > skip ? text + skip : "");
	}
	buf_free(&b);
	return e;
}
