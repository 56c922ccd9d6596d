/* list - reads .lst files: each line is an image with its number and labels. */
#include "source/list.h"
#include "base/err.h"
#include "base/num.h"
#include "source/label.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <string.h>

struct list {
	FILE			*f;
	uint64_t		 n;	/* lines read */
	uint32_t		 width;
	struct list_entry	 entry;
	char			 line[LIST_LINE + 1];
};

int
list_open(const char *path, uint32_t width, struct list **out)
{
	struct list *l = malloc(sizeof(*l));
	bool in = strcmp(path, "-") == 0;

	*out = NULL;
	if (l == NULL)
		return err_nomem();
	l->n = 0;
	l->width = width;
	if ((l->f = in ? stdin : fopen(path, "re")) == NULL) {
		free(l);
		return err_sys("open");
	}
	*out = l;
	return 0;
}

double
list_progress(const struct list *l)
{
	struct stat st;
	off_t at = ftello(l->f);

	return at >= 0 && fstat(fileno(l->f), &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 ?
	    (double)at / (double)st.st_size : -1;
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
add_list_label(struct list_entry *entry, const char *text)
{
	if (entry->labels == LIST_LABELS)
		return err_fail(ERR_ITEM, "more than %u labels", LIST_LABELS);
	if (label_parse(text, &entry->label[entry->labels]) < 0)
		return err_wrap(ERR_ITEM, "label");
	entry->labels++;
	return 0;
}

static void
trim_end(char *text)
{
	char *end = text + strlen(text);

	while (end > text && strchr("\r\n ", end[-1]) != NULL)
		*--end = 0;
}

/* Splits off the first field of *rest, and sets *rest to the text after it, or to NULL if it was the last. */
static char *
next_field(char **rest, const char *cut)
{
	char *field = *rest + strspn(*rest, " ");

	*rest = field;
	strsep(rest, cut);
	if (*rest != NULL && *cut == ' ')
		*rest += strspn(*rest, " ");
	trim_end(field);
	return field;
}

int
list_parse(char *line, uint32_t width, struct list_entry *entry)
{
	bool tabs = strchr(line, '\t') != NULL;
	const char *cut = tabs ? "\t" : " ";
	char *field;
	int e = 0;

	trim_end(line);
	line += strspn(line, " ");
	if (*line == 0)
		return 0;
	entry->labels = 0;
	field = next_field(&line, cut);
	if (num_u64(field, 0, UINT64_MAX, &entry->id) < 0)
		return err_wrap(ERR_ITEM, "index");
	/* The path is the last field; without tabs it is all the text after the labels. */
	while (e == 0 && line != NULL && (tabs ? strchr(line, '\t') != NULL : entry->labels < (width > 0 ? width : 1)))
		e = add_list_label(entry, next_field(&line, cut));
	if (e < 0)
		return e;
	if (line == NULL || entry->labels == 0)
		return err_fail(ERR_ITEM, "no label and no path");
	entry->path = line + strspn(line, " ");
	return *entry->path != 0 ? 1 : err_fail(ERR_ITEM, "no path");
}

/* Reads a line without its end.  Returns 1, 0 at the end of the list, ERR_ITEM (too long), ERR_FORMAT or ERR_SYS. */
static int
read_line(struct list *l)
{
	static const char mark[] = "\xef\xbb\xbf";	/* begins UTF-8 of some editors */
	size_t n = 0;
	int c;

	while ((c = getc_unlocked(l->f)) != '\n' && c != EOF) {
		if (c == 0)
			return err_fail(ERR_FORMAT, "line %llu: a zero byte; save the list as UTF-8, not as UTF-16",
			    (unsigned long long)l->n + 1);
		if (n < LIST_LINE)
			l->line[n] = (char)c;
		n++;
		if (l->n == 0 && n == strlen(mark) && memcmp(l->line, mark, n) == 0)
			n = 0;
	}
	if (ferror(l->f))
		return err_sys("read");
	if (n == 0 && c == EOF)
		return 0;
	l->n++;
	if (n > LIST_LINE)
		return err_fail(ERR_ITEM, "longer than %u bytes", LIST_LINE);
	l->line[n] = 0;
	return 1;
}

int
list_next(struct list *l, const struct list_entry **entry)
{
	int e;

	*entry = &l->entry;
	do
		if ((e = read_line(l)) <= 0)
			return e;
	while ((e = list_parse(l->line, l->width, &l->entry)) == 0);
	return e;
}
