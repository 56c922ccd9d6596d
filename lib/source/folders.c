/* folders - which class a picture is of, told by the folders that it stands in. */
#include "source/folders.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdlib.h>

struct folders {
	struct names		*classes;
	enum source_split	 split;
	char			*place;
	bool			 given, settled;
	struct names		 seen;		/* whole paths, noted */
	const char		*wanted;	/* the split's folder, when settled */
	size_t			 depth;		/* of the class; counted from behind the split's folder when it is not settled */
	bool			 started;	/* a stream's first picture has told the depth, and ... */
	struct buf		 around;	/* ... what its class stands in */
	const char		*part;		/* the split's folder met first, for want of a choice */
	bool			 found;
	struct buf		 last;		/* the path that was asked for last, and what was said of it */
	size_t			 last_class;
};

static const char *const train_names[] = { "train", "training" };
static const char *const test_names[] = { "test", "testing" };
static const char *const val_names[] = { "val", "valid", "validation" };

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

int
folders_new(struct folders **out, struct names *classes, enum source_split split, const char *place)
{
	struct folders *f = calloc(1, sizeof(*f));

	*out = NULL;
	if (f == NULL || (f->place = strdup(place)) == NULL) {
		free(f);
		return err_nomem();
	}
	f->classes = classes;
	f->split = split;
	f->given = classes->n > 0;
	*out = f;
	return 0;
}

void
folders_free(struct folders *f)
{
	if (f == NULL)
		return;
	names_free(&f->seen);
	buf_free(&f->around);
	buf_free(&f->last);
	free(f->place);
	free(f);
}

static size_t
path_length(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash != NULL ? (size_t)(slash - name) : 0;
}

/* Component i of a path of n bytes; NULL when it has fewer. */
static const char *
component(const char *path, size_t n, size_t i, size_t *len)
{
	const char *end = path + n, *slash;

	for (;; i--, path = slash + 1) {
		if (path >= end)
			return NULL;
		if ((slash = memchr(path, '/', (size_t)(end - path))) == NULL)
			slash = end;
		if (i == 0) {
			*len = (size_t)(slash - path);
			return path;
		}
	}
}

/* The list's name that the n bytes are, or NULL. */
static const char *
among(const char *p, size_t n, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(list[i]) == n && memcmp(list[i], p, n) == 0)
			return list[i];
	return NULL;
}

/* The split's folder that they are, and of which split; NULL: none. */
static const char *
split_name(const char *p, size_t n, enum source_split *split)
{
	const char *s = among(p, n, train_names, COUNT(train_names));

	*split = s != NULL ? SOURCE_TRAIN : SOURCE_TEST;
	if (s == NULL)
		s = among(p, n, test_names, COUNT(test_names));
	return s != NULL ? s : among(p, n, val_names, COUNT(val_names));
}

int
folders_add(struct folders *f, const char *name)
{
	size_t n = path_length(name), len;

	if (f->last.n == n && n > 0 && memcmp(f->last.p, name, n) == 0)
		return 0;
	/* Components are gone through one by one for each depth: their number is bounded. */
	if (component(name, n, FOLDERS_DEEPEST, &len) != NULL)
		return err_fail(ERR_LIMIT, "%.64s...: stands in more than %d folders", name, FOLDERS_DEEPEST);
	f->last.n = 0;
	if (buf_put(&f->last, name, n) < 0)
		return ERR_NOMEM;
	return names_insert(&f->seen, name, n);
}

/*
 * How many components all folders begin with, one being left to those that
 * have most: pictures that stand in the outer folders themselves are in no class.
 */
static size_t
common_depth(const struct names *l)
{
	for (size_t depth = 0;; depth++) {
		const char *first = NULL, *p;
		size_t first_n = 0, n;
		bool deeper = false;

		for (size_t i = 0; i < l->n; i++) {
			size_t whole = strlen(l->p[i]), next;

			if ((p = component(l->p[i], whole, depth, &n)) == NULL)
				continue;
			if (first == NULL) {
				first = p;
				first_n = n;
			}
			if (n != first_n || memcmp(first, p, n) != 0)
				return depth;
			deeper |= component(l->p[i], whole, depth + 1, &next) != NULL;
		}
		if (!deeper)
			return depth;
	}
}

/* Component depth of the folders: the first of the list's names that one of them has. */
static const char *
first_present(const struct folders *f, size_t depth, const char *const *list, size_t count)
{
	for (size_t k = 0; k < count; k++)
		for (size_t i = 0; i < f->seen.n; i++) {
			const char *path = f->seen.p[i], *p;
			size_t n;

			if ((p = component(path, strlen(path), depth, &n)) != NULL && among(p, n, &list[k], 1) != NULL)
				return list[k];
		}
	return NULL;
}

static int
no_split(const struct folders *f)
{
	return err_fail(ERR_ARG, "%s: has no folder %s", f->place, f->split == SOURCE_TRAIN ? "train" : "test or val");
}

static int
choose_split(struct folders *f)
{
	for (size_t depth = 0; depth <= f->depth; depth++) {
		const char *train = first_present(f, depth, train_names, COUNT(train_names));
		const char *test = first_present(f, depth, test_names, COUNT(test_names));

		if (test == NULL)
			test = first_present(f, depth, val_names, COUNT(val_names));
		f->wanted = f->split == SOURCE_TRAIN ? train : test;
		if (f->wanted != NULL) {
			f->depth = depth + 1;
			return 0;
		}
	}
	return no_split(f);
}

static int
say_split(const struct folders *f)
{
	return err_fail(ERR_ARG, "%s: has folders like train and val: say which, with --split", f->place);
}

/* Folders train and val are no classes. */
static int
refuse_splits(const struct folders *f)
{
	const struct names *l = &f->seen;
	enum source_split split;
	size_t n, found = 0;

	for (size_t i = 0; i < l->n; i++) {
		const char *p = component(l->p[i], strlen(l->p[i]), f->depth, &n);

		if (p != NULL && split_name(p, n, &split) == NULL)
			return 0;
		found += p != NULL;
	}
	if (found == 0)
		return err_fail(ERR_FORMAT, "%s: its pictures stand in no class folders", f->place);
	return say_split(f);
}

int
folders_resolve(struct folders *f, bool dir)
{
	const struct names *l = &f->seen;
	int e;

	f->last.n = 0;
	f->settled = true;
	f->depth = dir ? 0 : common_depth(l);
	e = f->split != SOURCE_ALL ? choose_split(f) : refuse_splits(f);
	/* Of all splits together, so that a class has one number in all of them. */
	for (size_t i = 0; e == 0 && !f->given && i < l->n; i++) {
		size_t n;
		const char *p = component(l->p[i], strlen(l->p[i]), f->depth, &n);

		if (p != NULL)
			e = names_insert(f->classes, p, n);
	}
	return e;
}

/* Where the component behind the split's folder is: 1, or 0 when the path is not of the split. */
static int
behind_split(const struct folders *f, const char *path, size_t n, size_t *from)
{
	enum source_split split;
	const char *p;
	size_t len;

	*from = 0;
	if (f->split == SOURCE_ALL)
		return 1;
	if (f->settled) {
		*from = f->depth;
		return (p = component(path, n, f->depth - 1, &len)) != NULL && among(p, len, &f->wanted, 1) != NULL;
	}
	for (; (p = component(path, n, *from, &len)) != NULL; ++*from)
		if (split_name(p, len, &split) != NULL) {
			++*from;
			return f->split == split;
		}
	return 0;
}

/* The split's folder in the first n bytes of a path, or NULL. */
static const char *
split_in(const char *path, size_t n)
{
	enum source_split split;
	const char *p, *s = NULL;
	size_t len;

	for (size_t i = 0; s == NULL && (p = component(path, n, i, &len)) != NULL; i++)
		s = split_name(p, len, &split);
	return s;
}

static int
class_given(struct folders *f, const char *path, size_t n, size_t from, size_t *class)
{
	const char *p, *part;
	size_t len;
	long at = -1;

	for (size_t i = from; at < 0 && (p = component(path, n, i, &len)) != NULL; i++)
		at = names_find(f->classes, p, len);
	*class = (size_t)at;
	if (at < 0 && n == 0)
		return err_fail(ERR_ITEM, "stands in no class folder");
	if (at < 0)
		return err_fail(ERR_ITEM, "its folder %.*s is none of the classes given", (int)n, path);
	if (f->split != SOURCE_ALL || (part = split_in(path, (size_t)(p - path))) == NULL)
		return 1;
	if (f->part != NULL && f->part != part)
		return say_split(f);
	f->part = part;
	return 1;
}

/* A stream's classes were guessed from its first picture: where the guess can be wrong, it ends. */
static int
say_classes(const struct folders *f, const char *path, size_t n, const char *why)
{
	return err_fail(ERR_FORMAT, "%s: folder %.*s %s: to number a stream's classes their names are needed, "
	    "as im2rec --labels takes them", f->place, (int)n, path, why);
}

/* The first picture tells how deep its like stand, and in what. */
static int
start(struct folders *f, const char *path, size_t n, size_t from)
{
	size_t len;
	const char *p = component(path, n, from, &len), *next;

	for (f->depth = 0; (next = component(path, n, from + f->depth + 1, &len)) != NULL; f->depth++)
		p = next;
	f->started = true;
	return buf_put(&f->around, path, (size_t)(p - path));
}

static int
class_as_it_comes(struct folders *f, const char *path, size_t n, size_t from, size_t *class)
{
	struct names *l = f->classes;
	size_t len, more;
	const char *p = component(path, n, from, &len);
	long at;
	int e;

	if (p == NULL)
		return err_fail(ERR_ITEM, "stands in no class folder");
	if (!f->started && (e = start(f, path, n, from)) < 0)
		return e;
	if ((p = component(path, n, from + f->depth, &len)) == NULL)
		return say_classes(f, path, n, "stands less deep than those before");
	if ((size_t)(p - path) != f->around.n || (p > path && memcmp(path, f->around.p, f->around.n) != 0))
		return f->split == SOURCE_ALL && split_in(path, (size_t)(p - path)) != NULL ? say_split(f)
		    : say_classes(f, path, n, "does not stand beside those before");
	if ((at = names_find(l, p, len)) < 0) {
		if (l->n > 0 && strncmp(l->p[l->n - 1], p, len) >= 0)
			return say_classes(f, p, len, "comes behind one that sorts after it");
		*class = l->n;
		return (e = names_append(l, p, len)) < 0 ? e : 1;
	}
	/* Only of several classes it is sure that folders in them are none. */
	if (l->n == 1 && component(path, n, from + f->depth + 1, &more) != NULL)
		return say_classes(f, path, n, "stands deeper than those before");
	*class = (size_t)at;
	return 1;
}

static int
class_settled(const struct folders *f, const char *path, size_t n, size_t *class)
{
	size_t len;
	const char *p = component(path, n, f->depth, &len);
	long at = p != NULL ? names_find(f->classes, p, len) : -1;

	*class = (size_t)at;
	return at >= 0 ? 1 : err_fail(ERR_ITEM, "stands in no class folder");
}

int
folders_class(struct folders *f, const char *name, size_t *class)
{
	size_t n = path_length(name), from;
	int e;

	if (f->last.n == n && n > 0 && memcmp(f->last.p, name, n) == 0) {
		*class = f->last_class;
		return 1;
	}
	if ((e = behind_split(f, name, n, &from)) <= 0)
		return e;
	f->found = true;
	if (f->given)
		e = class_given(f, name, n, from, class);
	else
		e = f->settled ? class_settled(f, name, n, class) : class_as_it_comes(f, name, n, from, class);
	if (e <= 0)
		return e;
	f->last.n = 0;
	f->last_class = *class;
	return buf_put(&f->last, name, n) < 0 ? ERR_NOMEM : 1;
}

int
folders_finish(const struct folders *f)
{
	enum source_split split;
	size_t splits = 0;

	if (f->split != SOURCE_ALL)
		return f->found ? 0 : no_split(f);
	for (size_t i = 0; f->started && i < f->classes->n; i++)
		splits += split_name(f->classes->p[i], strlen(f->classes->p[i]), &split) != NULL;
	return splits == 0 || splits < f->classes->n ? 0 : say_split(f);
}
