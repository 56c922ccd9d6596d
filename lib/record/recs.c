/* recs - an interface to records by number: of one file, of several, or of another host. */
#include "record/recs.h"
#include "base/err.h"
#include "base/grow.h"
#include "record/recfile.h"

#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>

struct part {
	struct recs	*recs;
	uint64_t	 end;		/* the number after its last record */
};

/* Several files as one. */
struct joined {
	struct recs	 recs;
	char		*path;
	struct part	*part;		/* [n] */
	size_t		 n, cap;
};

/* Finds the part that holds record *i, and changes *i to the record's number in it. */
static const struct recs *
find_part(const struct recs *r, uint64_t *i)
{
	const struct joined *j = (const struct joined *)r;
	size_t lo = 0, hi = j->n - 1;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (*i < j->part[mid].end)
			hi = mid;
		else
			lo = mid + 1;
	}
	*i -= lo > 0 ? j->part[lo - 1].end : 0;
	return j->part[lo].recs;
}

static int
joined_read(const struct recs *r, uint64_t i, struct buf *room, const uint8_t **data, size_t *n)
{
	const struct recs *p = find_part(r, &i);

	return p->read(p, i, room, data, n);
}

static void
joined_name(const struct recs *r, uint64_t i, char *text, size_t size)
{
	const struct recs *p = find_part(r, &i);

	p->name(p, i, text, size);
}

static void
joined_want(const struct recs *r, uint64_t i)
{
	const struct recs *p = find_part(r, &i);

	if (p->want != NULL)
		p->want(p, i);
}

static int
joined_classes(const struct recs *r, struct names *l)
{
	const struct joined *j = (const struct joined *)r;
	const char *first = NULL;
	int e = 0;

	for (size_t i = 0; e == 0 && i < j->n; i++) {
		const struct recs *p = j->part[i].recs;
		struct names more = { 0 };

		if ((e = p->classes(p, &more)) == 0 && l->n > 0 && more.n > 0 && !names_equal(l, &more))
			e = err_fail(ERR_FORMAT, "%s: its classes are not those of %s; pack both with the same classes",
			    p->path, first);
		if (e == 0 && l->n == 0 && more.n > 0) {
			*l = more;
			first = p->path;
		} else {
			names_free(&more);
		}
	}
	return e;
}

static const char *
joined_unnamed(const struct recs *r)
{
	const struct joined *j = (const struct joined *)r;
	const char *path = NULL;

	for (size_t i = 0; path == NULL && i < j->n; i++) {
		struct names names = { 0 };

		if (j->part[i].recs->classes(j->part[i].recs, &names) == 0 && names.n == 0)
			path = j->part[i].recs->path;
		names_free(&names);
	}
	return path;
}

static void
joined_close(struct recs *r)
{
	struct joined *j = (struct joined *)r;

	for (size_t i = 0; i < j->n; i++)
		recs_close(j->part[i].recs);
	free(j->part);
	free(j->path);
	free(j);
}

static int
add_file(struct joined *j, const char *path)
{
	struct part *p = grow_by_one(j->part, j->n, &j->cap, sizeof(*p));
	struct recs *r;

	if (p == NULL)
		return ERR_NOMEM;
	j->part = p;
	ERR_TRY(recfile_open(path, &r));
	j->recs.count += r->count;
	p[j->n++] = (struct part){ r, j->recs.count };
	return 0;
}

static int
add_pattern(struct joined *j, const char *pattern)
{
	glob_t g;
	int e = 0, found = glob(pattern, 0, NULL, &g);

	if (found == GLOB_NOSPACE)
		return err_nomem();
	if (found != 0)
		return err_fail(ERR_ARG, "%s: no file matches", pattern);
	for (size_t i = 0; e == 0 && i < g.gl_pathc; i++)
		e = add_file(j, g.gl_pathv[i]);
	globfree(&g);
	return e;
}

static int
add_folder(struct joined *j, const char *path)
{
	struct buf pattern = { 0 };
	int e = 0;

	/* Escapes what glob() would take for a pattern in the folder's own name. */
	for (const char *p = path; e == 0 && *p != 0; p++)
		e = buf_put_fmt(&pattern, strchr("*?[\\", *p) != NULL ? "\\%c" : "%c", *p);
	if (e == 0 && (e = buf_put_fmt(&pattern, "/*.rec")) == 0 && (e = buf_terminate(&pattern)) == 0)
		e = add_pattern(j, (const char *)pattern.p);
	if (e == ERR_ARG)
		e = err_fail(ERR_ARG, "%s: a folder without .rec files; im2rec packs images into one", path);
	buf_free(&pattern);
	return e;
}

static int
add_path(struct joined *j, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0)
		return S_ISDIR(st.st_mode) ? add_folder(j, path) : add_file(j, path);
	return strpbrk(path, "*?[") != NULL ? add_pattern(j, path) : add_file(j, path);
}

static int
add_path_list(struct joined *j, const char *path)
{
	char *list, *next;
	struct stat st;
	int e = 0;

	if (strchr(path, ',') == NULL || stat(path, &st) == 0)
		return add_path(j, path);
	if ((list = next = strdup(path)) == NULL)
		return err_nomem();
	while (e == 0 && next != NULL) {
		char *name = strsep(&next, ",");

		e = *name != 0 ? add_path(j, name) : err_fail(ERR_ARG, "%s: an empty name", path);
	}
	free(list);
	return e;
}

int
recs_open_several(char *const path[], size_t n, struct recs **out)
{
	struct joined *j = calloc(1, sizeof(*j));
	int e = 0;

	*out = NULL;
	if (j == NULL)
		return err_nomem();
	j->recs = (struct recs){ .read = joined_read, .name = joined_name, .want = joined_want,
	    .classes = joined_classes, .unnamed = joined_unnamed, .close = joined_close };
	if ((j->recs.path = j->path = strdup(path[0])) == NULL)
		e = err_nomem();
	for (size_t i = 0; e == 0 && i < n; i++)
		e = add_path_list(j, path[i]);
	if (e < 0) {
		recs_close(&j->recs);
		return e;
	}
	*out = &j->recs;
	if (j->n == 1) {	/* one file needs no joining */
		*out = j->part[0].recs;
		j->n = 0;
		recs_close(&j->recs);
	}
	return 0;
}

int
recs_open(const char *path, struct recs **out)
{
	char *one[] = { (char *)(uintptr_t)path };

	return recs_open_several(one, 1, out);
}

void
recs_close(struct recs *r)
{
	if (r != NULL)
		r->close(r);
}
