/* source_list - reads the images that a .lst file names.  For source. */
#include "base/err.h"
#include "source/list.h"
#include "source/source_kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK	100u	/* first entries of a list of which one must exist */

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
format_name(struct state *s, const char *a, const char *between, const char *b)
{
	s->name.n = 0;
	if (buf_put_fmt(&s->name, "%s%s%s", a, between, b) < 0)
		return ERR_NOMEM;
	return buf_terminate(&s->name);
}

/* Formats the path of an entry.  An absolute one that is not below the root is taken as it is. */
static int
format_path(struct state *s, const char *path)
{
	ERR_TRY(format_name(s, s->root, "/", path));
	return *path == '/' && access((const char *)s->name.p, F_OK) < 0 ? format_name(s, "", "", path) : 0;
}

/* Refuses a list if none of its first files exists: its paths start elsewhere. */
static int
find_files(struct state *s, const struct source_opt *opt)
{
	const struct list_entry *entry;
	char first[256];
	struct list *l;
	struct stat st;
	unsigned n = 0;
	int e;

	if (stat(opt->path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	ERR_TRY(list_open(opt->path, opt->label_width, &l));
	while (n < LOOK && ((e = list_next(l, &entry)) > 0 || e == ERR_ITEM)) {
		if (e < 0)
			continue;
		if (n++ == 0)
			snprintf(first, sizeof(first), "%s", entry->path);
		if ((e = format_path(s, entry->path)) < 0)
			break;
		if (access((const char *)s->name.p, F_OK) == 0) {
			n = 0;
			break;
		}
	}
	list_close(l);
	if (e == ERR_NOMEM)
		return e;
	if (n > 0 && *first == '/')
		return err_fail(ERR_FORMAT, "%s: %s does not exist; correct the absolute paths of the list", opt->path,
		    first);
	return n == 0 ? 0 : err_fail(ERR_FORMAT, "%s: %s is not in %s; after the list, name the folder in which its "
	    "paths start", opt->path, first, opt->root != NULL ? opt->root : "the current folder");
}

static int
list_state_open(const struct source_opt *opt, struct files *files, struct names *classes, void **out)
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
	s->root = opt->root != NULL ? opt->root : ".";
	if (e == 0)
		e = find_files(s, opt);
	if (e < 0) {
		list_state_free(s);
		return e;
	}
	*out = s;
	return 0;
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
	if (format_path(s, entry->path) < 0)
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
