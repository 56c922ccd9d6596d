/* list - a .lst file: one picture a line, with its number and labels. */
#include "data/list.h"
#include "base/err.h"
#include "base/num.h"

#include <errno.h>
#include <float.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
	FILE			*f;
	uint64_t		 n;	/* lines read */
	struct list_entry	 entry;
	char			 line[LIST_LINE + 2];
};

int
list_open(struct list **out, const char *path)
{
	struct list *l = malloc(sizeof(*l));
	bool in = strcmp(path, "-") == 0;

	*out = NULL;
	if (l == NULL)
		return err_nomem();
	l->n = 0;
	if ((l->f = in ? stdin : fopen(path, "re")) == NULL) {
		free(l);
		return err_sys("open");
	}
	*out = l;
	return 0;
}

void
list_close(struct list *l)
{
	if (l == NULL)
		return;
	if (l->f != stdin)
		fclose(l->f);
	free(l);
}

uint64_t
list_line(const struct list *l)
{
	return l->n;
}

static int
add_label(struct list_entry *entry, const char *text)
{
	double v;

	if (entry->labels == LIST_LABELS)
		return err_fail(ERR_ITEM, "more than %u labels", LIST_LABELS);
	if (num_f64(text, -FLT_MAX, FLT_MAX, &v) < 0)
		return err_within("label"), ERR_ITEM;
	entry->label[entry->labels++] = (float)v;
	return 0;
}

int
list_parse(char *line, struct list_entry *entry)
{
	bool tabs = strchr(line, '\t') != NULL;
	const char *cut = tabs ? "\t" : " ";
	char *end = line + strlen(line), *field, *path;
	int e = 0;

	while (end > line && strchr("\r\n ", end[-1]) != NULL)
		*--end = 0;
	line += strspn(line, " ");
	if (*line == 0)
		return 0;
	entry->labels = 0;
	if ((field = strsep(&line, cut)) == NULL || line == NULL)
		return err_fail(ERR_ITEM, "no label and no path");
	if (num_u64(field, 0, UINT64_MAX, &entry->id) < 0)
		return err_within("index"), ERR_ITEM;
	path = tabs ? strrchr(line, '\t') : strchr(line, ' ');
	if (path == NULL || path[1] == 0)
		return err_fail(ERR_ITEM, "no path");
	*path = 0;
	entry->path = path + 1 + strspn(path + 1, " ");
	while (e == 0 && (field = strsep(&line, "\t")) != NULL)
		e = add_label(entry, field);
	return e < 0 ? e : 1;
}

/* Passes over what is left of a line that is too long. */
static void
skip_line(FILE *f)
{
	int c;

	do
		c = getc(f);
	while (c != '\n' && c != EOF);
}

int
list_next(struct list *l, const struct list_entry **entry)
{
	int e = 0;

	while (e == 0 && fgets(l->line, sizeof(l->line), l->f) != NULL) {
		size_t n = strlen(l->line);

		l->n++;
		if (n == sizeof(l->line) - 1 && l->line[n - 1] != '\n') {
			skip_line(l->f);
			return err_fail(ERR_ITEM, "longer than %u bytes", LIST_LINE);
		}
		e = list_parse(l->line, &l->entry);
	}
	if (e == 0 && ferror(l->f))
		return err_sys("read");
	*entry = &l->entry;
	return e;
}
