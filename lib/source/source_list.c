/* source_list - reads the images that a .lst file names.  For source. */
#include "base/err.h"
#include "source/list.h"
#include "source/source_kind.h"

#include <stdio.h>
#include <stdlib.h>

struct state {
	struct list	*list;
	char		*path;	/* path of the list */
	const char	*root;	/* lent by the options */
	struct buf	 name;
};

static void
list_state_free(void *p)
{
	struct state *s = p;

	list_close(s->list);
	free(s->path);
	buf_free(&s->name);
	free(s);
}

static int
list_state_open(void **out, const struct source_opt *opt, struct files *files, struct names *classes)
{
	struct state *s = calloc(1, sizeof(*s));
	int e;

	(void)files;
	(void)classes;
	if (s == NULL)
		return err_nomem();
	if (opt->split != SOURCE_ALL) {
		e = err_fail(ERR_ARG, "%s: a list has no splits", opt->path);
	} else if ((s->path = strdup(opt->path)) == NULL) {
		e = err_nomem();
	} else if ((e = list_open(opt->path, opt->label_width, &s->list)) < 0) {
		err_within("%s", opt->path);
	}
	if (e < 0) {
		list_state_free(s);
		return e;
	}
	s->root = opt->root != NULL ? opt->root : ".";
	*out = s;
	return 0;
}

static int
format_name(struct state *s, const char *a, const char *between, const char *b)
{
	s->name.n = 0;
	if (buf_put_fmt(&s->name, "%s%s%s", a, between, b) < 0)
		return ERR_NOMEM;
	return buf_terminate(&s->name);
}

static int
list_state_next(void *p, bool wanted, struct source_item *item)
{
	struct state *s = p;
	const struct list_entry *entry;
	char number[24];
	int e = list_next(s->list, &entry);

	(void)wanted;
	if (e <= 0) {
		if (e == ERR_ITEM) {
			snprintf(number, sizeof(number), "%llu", (unsigned long long)list_line(s->list));
			if (format_name(s, s->path, ":", number) < 0)
				return ERR_NOMEM;
			item->name = (const char *)s->name.p;
		} else if (e < 0) {
			err_within("%s", s->path);
		}
		return e;
	}
	if (format_name(s, s->root, "/", entry->path) < 0)
		return ERR_NOMEM;
	*item = (struct source_item){ .id = entry->id, .labels = entry->labels, .label = entry->label,
		.name = (const char *)s->name.p, .later = true };
	return 1;
}

static double
list_state_progress(const void *p)
{
	const struct state *s = p;

	return list_progress(s->list);
}

const struct source_kind source_list_kind = { list_state_open, list_state_next, list_state_free, list_state_progress,
	true };
