/* walk - finds all files below a directory. */
#include "source/walk.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/grow.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

struct level {
	struct buf	 names;		/* three parts for each name: a type, the name, a zero */
	size_t		*at;		/* offsets of the names */
	size_t		 n, cap, next;
	size_t		 path;		/* length of the directory's path */
	dev_t		 dev;
	ino_t		 ino;
	unsigned	 links;		/* links on its path */
};

struct walk {
	bool		 sorted;
	struct buf	 path;		/* path of the current file or directory */
	unsigned	 deep;		/* levels in use; unused ones keep their memory */
	struct level	 level[1 + WALK_DEEPEST];
};

static const char *
get_current_path(const struct walk *w)
{
	return (const char *)w->path.p;
}

static int
compare_entries(const void *a, const void *b, void *names)
{
	return strcmp((const char *)names + *(const size_t *)a, (const char *)names + *(const size_t *)b);
}

static int
add_entry(struct level *l, const struct dirent *d)
{
	uint8_t type = d->d_type;
	size_t *at = grow_by_one(l->at, l->n, &l->cap, sizeof(*at));

	if (at == NULL)
		return ERR_NOMEM;
	l->at = at;
	if (buf_put(&l->names, &type, 1) < 0)
		return ERR_NOMEM;
	l->at[l->n++] = l->names.n;
	return buf_put(&l->names, d->d_name, strlen(d->d_name) + 1);
}

static int
read_entries(const struct walk *w, struct level *l, DIR *dir)
{
	struct dirent *d;

	l->n = l->next = l->names.n = 0;
	while ((errno = 0, d = readdir(dir)) != NULL)
		if (d->d_name[0] != '.')
			ERR_TRY(add_entry(l, d));
	if (errno != 0)
		return err_sys("%s", get_current_path(w));
	if (w->sorted && l->n > 0)
		qsort_r(l->at, l->n, sizeof(*l->at), compare_entries, l->names.p);
	return 0;
}

/* Refuses a directory that contains itself through a link. */
static int
check_circle(const struct walk *w, const struct level *l)
{
	if (l->links > WALK_LINKS)
		return err_fail(ERR_ITEM, "%s: more than %u links on its path", get_current_path(w), WALK_LINKS);
	for (unsigned i = 0; i < w->deep; i++)
		if (w->level[i].dev == l->dev && w->level[i].ino == l->ino)
			return err_fail(ERR_ITEM, "%s: this link leads back to a directory above it",
			    get_current_path(w));
	return 0;
}

/* Enters the directory at w->path. */
static int
enter_directory(struct walk *w, unsigned links)
{
	struct level *l = &w->level[w->deep];
	struct stat st;
	DIR *dir;
	int e;

	if (w->deep > WALK_DEEPEST)
		return err_fail(ERR_ITEM, "%.64s...: folders are nested more than %u deep", get_current_path(w),
		    WALK_DEEPEST);
	if ((dir = opendir(get_current_path(w))) == NULL || fstat(dirfd(dir), &st) < 0) {
		e = err_sys("%s", get_current_path(w));
	} else {
		l->path = w->path.n;
		l->dev = st.st_dev;
		l->ino = st.st_ino;
		l->links = links;
		if ((e = check_circle(w, l)) == 0 && (e = read_entries(w, l, dir)) == 0)
			w->deep++;
	}
	if (dir != NULL)
		closedir(dir);
	return e;
}

int
walk_open(const char *path, bool sorted, struct walk **out)
{
	struct walk *w = calloc(1, sizeof(*w));
	int e;

	*out = NULL;
	if (w == NULL)
		return err_nomem();
	w->sorted = sorted;
	if ((e = buf_put(&w->path, path, strlen(path))) < 0 || (e = buf_terminate(&w->path)) < 0 ||
	    (e = enter_directory(w, 0)) < 0) {
		walk_close(w);
		return e == ERR_SYS ? err_sys("open") : e;
	}
	*out = w;
	return 0;
}

void
walk_close(struct walk *w)
{
	if (w == NULL)
		return;
	for (unsigned i = 0; i <= WALK_DEEPEST; i++) {
		buf_free(&w->level[i].names);
		free(w->level[i].at);
	}
	buf_free(&w->path);
	free(w);
}

/* Finds the type of a link's target, or a type that the directory does not tell.  Returns 0 or ERR_ITEM. */
static int
read_type(const struct walk *w, uint8_t *type)
{
	struct stat st;

	if (stat(get_current_path(w), &st) < 0)
		return err_note(errno, "%s", get_current_path(w)), ERR_ITEM;
	*type = S_ISDIR(st.st_mode) ? DT_DIR : S_ISREG(st.st_mode) ? DT_REG : DT_UNKNOWN;
	return 0;
}

int
walk_next(struct walk *w, const char **path)
{
	while (w->deep > 0) {
		struct level *l = &w->level[w->deep - 1];
		const char *name;
		uint8_t type;
		bool link;
		int e = 0;

		if (l->next == l->n) {
			w->deep--;
			continue;
		}
		name = (const char *)l->names.p + l->at[l->next++];
		type = (uint8_t)name[-1];
		link = type == DT_LNK;
		w->path.n = l->path;
		if (buf_put(&w->path, "/", 1) < 0 || buf_put(&w->path, name, strlen(name)) < 0 ||
		    buf_terminate(&w->path) < 0)
			return ERR_NOMEM;
		if (link || type == DT_UNKNOWN)
			e = read_type(w, &type);
		if (e == 0 && type == DT_DIR)
			e = enter_directory(w, l->links + link);
		if (e < 0)
			return e == ERR_SYS ? ERR_ITEM : e;
		*path = get_current_path(w);
		if (type == DT_REG)
			return 1;
	}
	return 0;
}
