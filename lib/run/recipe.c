/* recipe - a file of options, read as the words of a tool's command line. */
#include "run/recipe.h"

#include "base/err.h"
#include "base/io.h"
#include "base/datadir.h"
#include "base/nearest.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char blanks[] = " \t\r";

/* Ends the line where an unquoted word begins with '#'. */
static void
cut_recipe_comment(char *line)
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

/* Returns 1 if the line is for this tool, with *line moved after the name before it; 0; or ERR_FORMAT. */
static int
match_tool(char **line, const char *tool)
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
	return err_fail(ERR_FORMAT, "'%.*s' is neither an option nor dlaunch nor pworker", n < 64 ? (int)n : 64, *line);
}

static int
add_recipe_line(struct recipe *r, char *line, uint32_t at, const char *tool)
{
	size_t had = r->words.n;
	int e;

	line[strcspn(line, "\r")] = 0;
	cut_recipe_comment(line);
	line += strspn(line, blanks);
	if (*line == 0 || (e = match_tool(&line, tool)) == 0)
		return 0;
	if (e < 0 || (e = words_split(&r->words, line)) < 0)
		return e;
	if (r->words.n > RECIPE_WORDS)
		return err_fail(ERR_LIMIT, "more than %u words", RECIPE_WORDS);
	for (; had < r->words.n; had++) {
		if (r->words.v[had][0] == '@')
			return err_fail(ERR_FORMAT, "%.64s: a recipe cannot include another", r->words.v[had]);
		r->line[had] = at;
	}
	return 0;
}

int
recipe_parse(const char *path, const void *text, size_t n, const char *tool, struct recipe *r)
{
	char *copy, *line, *end;
	int e = 0;

	*r = (struct recipe){ 0 };
	snprintf(r->path, sizeof(r->path), "%s", path);
	if (n > RECIPE_FILE)
		return err_fail(ERR_LIMIT, "%s: longer than %u bytes", path, RECIPE_FILE);
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
		if (strlen(line) == (size_t)(end - line))
			e = add_recipe_line(r, line, at, tool);
		else
			e = err_fail(ERR_FORMAT, "a zero byte");
		if (e < 0)
			err_within("%s:%u", path, at);
		line = end + 1;
	}
	free(copy);
	if (e < 0)
		recipe_free(r);
	return e;
}

/* The path of a recipe of share/recipes, else the name as a path. */
static void
find_recipe(const char *name, char path[PATH_MAX])
{
	char rel[PATH_MAX];
	int n = snprintf(rel, sizeof(rel), "recipes/%s", name);

	if (*name == 0 || strchr(name, '/') != NULL || n >= (int)sizeof(rel) || datadir_find(rel, path) < 0)
		snprintf(path, PATH_MAX, "%s", name);
}

/* The error if there is no recipe of this name; the message before it stays if it is a path. */
static void
note_unknown(const char *name)
{
	struct nearest near = { .word = name };
	struct words names = { 0 };

	if (strchr(name, '/') != NULL || recipe_names(&names) < 0)
		return;
	for (size_t i = 0; i < names.n; i++)
		nearest_try(&near, names.v[i]);
	if (near.best != NULL)
		err_note(0, "no such recipe; did you mean @%s?", near.best);
	else
		err_note(0, "no such recipe; --recipes lists them");
	words_free(&names);
}

int
recipe_read(const char *name, const char *tool, struct recipe *r)
{
	char path[PATH_MAX];
	struct buf b = { 0 };
	int e;

	*r = (struct recipe){ 0 };
	find_recipe(name, path);
	if ((e = io_slurp(path, RECIPE_FILE, &b)) < 0) {
		if (access(path, F_OK) < 0)
			note_unknown(name);
		err_within("recipe %s", name);
	} else {
		e = recipe_parse(path, b.p, b.n, tool, r);
	}
	buf_free(&b);
	return e;
}

void
recipe_free(struct recipe *r)
{
	words_free(&r->words);
	*r = (struct recipe){ 0 };
}

/* A name of letters, digits and -_. that is not hidden, such as an editor's temporary file. */
static int
is_recipe_name(const struct dirent *d)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

	return d->d_name[strspn(d->d_name, chars)] == 0 && d->d_name[0] != '.' && d->d_name[0] != '-';
}

int
recipe_names(struct words *names)
{
	char path[PATH_MAX];
	struct dirent **d;
	int n, e = datadir_find("recipes", path);

	if (e < 0)
		return e;
	if ((n = scandir(path, &d, is_recipe_name, versionsort)) < 0)
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

	find_recipe(name, path);
	if ((e = io_slurp(path, RECIPE_FILE, &b)) == 0 && (e = buf_terminate(&b)) == 0) {
		text = (char *)b.p;
		text[strcspn(text, "\n")] = 0;
		snprintf(about, RECIPE_ABOUT, "%s", text[0] == '#' && strlen(text) > skip ? text + skip : "");
	}
	buf_free(&b);
	return e;
}
