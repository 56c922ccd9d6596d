/* folders - finds an image's class by the folders on its path. */
#include "source/folders.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"

#include <stdlib.h>

struct folders {
	struct names		*classes;
	enum source_split	 split;
	char			*place;
	bool			 given, resolved;
	struct names		 seen;		/* folders of the collected names */
	const char		*wanted;	/* the split's folder, once resolved */
	/* depth of the class component; in a stream, counted from after the split's folder */
	size_t			 depth;
	bool			 started;	/* whether a stream's first image has set depth and around */
	struct buf		 around;	/* the path before the class component */
	const char		*part;		/* the first folder of a split found, if no split was asked for */
	bool			 found;		/* an image of the split */
	struct buf		 known;		/* the given classes as text, once a folder was none of them */
	struct buf		 last;		/* the path looked up last */
	size_t			 last_class;	/* class of `last` */
};

static const char *const train_names[] = { "train", "training" };
static const char *const test_names[] = { "test", "testing" };
static const char *const val_names[] = { "val", "valid", "validation" };

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

int
folders_new(struct names *classes, enum source_split split, const char *place, struct folders **out)
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
	buf_free(&f->known);
	buf_free(&f->last);
	free(f->place);
	free(f);
}

/* Component i of a path of n bytes, or NULL if it has fewer. */
static const char *
find_component(const char *path, size_t n, size_t i, size_t *len)
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

/* The entry of the list that equals the n bytes, or NULL. */
static const char *
find_in_list(const char *p, size_t n, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(list[i]) == n && memcmp(list[i], p, n) == 0)
			return list[i];
	return NULL;
}

/* The name in the lists of splits that equals the n bytes, and its split; NULL if there is none. */
static const char *
match_split(const char *p, size_t n, enum source_split *split)
{
	const char *s = find_in_list(p, n, train_names, COUNT(train_names));

	*split = s != NULL ? SOURCE_TRAIN : SOURCE_TEST;
	if (s == NULL)
		s = find_in_list(p, n, test_names, COUNT(test_names));
	return s != NULL ? s : find_in_list(p, n, val_names, COUNT(val_names));
}

bool
folders_is_split(const char *path)
{
	enum source_split split;
	size_t n;
	const char *p = find_component(path, strlen(path), 0, &n);

	return p != NULL && match_split(p, n, &split) != NULL;
}

int
folders_add(struct folders *f, const char *name)
{
	size_t n = io_folder_length(name), len;

	if (f->last.n == n && n > 0 && memcmp(f->last.p, name, n) == 0)
		return 0;
	/* Finding a component takes time by its depth, so the depth is bounded. */
	if (find_component(name, n, FOLDERS_DEEPEST, &len) != NULL)
		return err_fail(ERR_LIMIT, "%s: %.64s...: folders are nested more than %d deep", f->place, name,
		    FOLDERS_DEEPEST);
	f->last.n = 0;
	if (buf_put(&f->last, name, n) < 0)
		return ERR_NOMEM;
	return names_insert(&f->seen, name, n);
}

/*
 * The number of components that all folders have in common, less one if they are equal: images in the outer folders
 * themselves have no class.
 */
static size_t
find_common_depth(const struct names *l)
{
	for (size_t depth = 0;; depth++) {
		const char *first = NULL, *p;
		size_t first_n = 0, n;
		bool deeper = false;

		for (size_t i = 0; i < l->n; i++) {
			size_t whole = strlen(l->p[i]), next;

			if ((p = find_component(l->p[i], whole, depth, &n)) == NULL)
				continue;
			if (first == NULL) {
				first = p;
				first_n = n;
			}
			if (n != first_n || memcmp(first, p, n) != 0)
				return depth;
			deeper |= find_component(l->p[i], whole, depth + 1, &next) != NULL;
		}
		if (!deeper)
			return depth;
	}
}

/* The first name of the list that is a component at that depth. */
static const char *
find_first_present(const struct folders *f, size_t depth, const char *const *list, size_t count)
{
	for (size_t k = 0; k < count; k++)
		for (size_t i = 0; i < f->seen.n; i++) {
			const char *path = f->seen.p[i], *p;
			size_t n;

			if ((p = find_component(path, strlen(path), depth, &n)) != NULL &&
			    find_in_list(p, n, &list[k], 1) != NULL)
				return list[k];
		}
	return NULL;
}

static int
fail_no_split(const struct folders *f)
{
	return err_fail(ERR_ARG, "%s: no folder %s for --split", f->place,
	    f->split == SOURCE_TRAIN ? "train" : "test or val");
}

static int
choose_split(struct folders *f)
{
	for (size_t depth = 0; depth <= f->depth; depth++) {
		const char *train = find_first_present(f, depth, train_names, COUNT(train_names));
		const char *test = find_first_present(f, depth, test_names, COUNT(test_names));

		if (test == NULL)
			test = find_first_present(f, depth, val_names, COUNT(val_names));
		f->wanted = f->split == SOURCE_TRAIN ? train : test;
		if (f->wanted != NULL) {
			f->depth = depth + 1;
			return 0;
		}
	}
	return fail_no_split(f);
}

static int
fail_need_split(const struct folders *f)
{
	return err_fail(ERR_ARG, "%s: has folders such as train and val; name one of them, or give im2rec --split "
	    "train or --split test", f->place);
}

/* Whether all folders at that depth are of splits. */
static bool
are_splits(const struct names *l, size_t depth)
{
	enum source_split split;
	size_t n, found = 0;

	for (size_t i = 0; i < l->n; i++) {
		const char *p = find_component(l->p[i], strlen(l->p[i]), depth, &n);

		if (p != NULL && match_split(p, n, &split) == NULL)
			return false;
		found += p != NULL;
	}
	return found > 0;
}

/* Refuses to use folders train and val as classes. */
static int
refuse_splits(const struct folders *f)
{
	const struct names *l = &f->seen;
	size_t n;
	bool any = false;

	if (are_splits(l, f->depth))
		return fail_need_split(f);
	for (size_t i = 0; i < l->n && !any; i++)
		any = find_component(l->p[i], strlen(l->p[i]), f->depth, &n) != NULL;
	if (!any)
		return err_fail(ERR_NOTSUP, "%s: its images are in no class folders, and have no labels beside them "
		    "(KEY.cls, or KEY.json with 3 or {\"labels\": [3]}); put each class into a folder of its own, or "
		    "list images and labels in a .lst", f->place);
	return 0;
}

/* Refuses a name that is no line of a .labels file. */
static int
check_class_name(const struct folders *f, const char *name, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((uint8_t)name[i] < ' ')
			return err_fail(ERR_FORMAT, "%s: folder %.*s: a class with a control character in its name; "
			    "rename the folder", f->place, (int)n, name);
	return 0;
}

int
folders_resolve(struct folders *f, bool dir)
{
	const struct names *l = &f->seen;
	int e;

	f->last.n = 0;
	f->resolved = true;
	f->depth = find_common_depth(l);
	/* The first folder of a directory is a class, even if it is the only one, unless it holds splits. */
	if (dir && f->split == SOURCE_ALL && !are_splits(l, f->depth))
		f->depth = 0;
	e = f->split != SOURCE_ALL ? choose_split(f) : refuse_splits(f);
	/* Numbers the classes of all splits together, so that a class has the same number in each. */
	for (size_t i = 0; e == 0 && !f->given && i < l->n; i++) {
		size_t n;
		const char *p = find_component(l->p[i], strlen(l->p[i]), f->depth, &n);

		if (p != NULL && (e = check_class_name(f, p, n)) == 0)
			e = names_insert(f->classes, p, n);
	}
	return e;
}

/* *from is the index of the component after the split's folder.  Returns 1, or 0 if the path is not of the split. */
static int
skip_split(const struct folders *f, const char *path, size_t n, size_t *from)
{
	enum source_split split;
	const char *p;
	size_t len;

	*from = 0;
	if (f->split == SOURCE_ALL)
		return 1;
	if (f->resolved) {
		*from = f->depth;
		return (p = find_component(path, n, f->depth - 1, &len)) != NULL &&
		    find_in_list(p, len, &f->wanted, 1) != NULL;
	}
	for (; (p = find_component(path, n, *from, &len)) != NULL; ++*from)
		if (match_split(p, len, &split) != NULL) {
			++*from;
			return f->split == split;
		}
	return 0;
}

/* The split's folder in the first n bytes of a path, or NULL. */
static const char *
find_split(const char *path, size_t n)
{
	enum source_split split;
	const char *p, *s = NULL;
	size_t len;

	for (size_t i = 0; s == NULL && (p = find_component(path, n, i, &len)) != NULL; i++)
		s = match_split(p, len, &split);
	return s;
}

/* Refuses an image whose folder is no class.  The line is the same for all images of a folder. */
static int
refuse_folder(struct folders *f, const char *path, size_t n)
{
	if (f->known.n == 0) {
		ERR_TRY(names_put(f->classes, &f->known));
		ERR_TRY(buf_terminate(&f->known));
	}
	return err_fail(ERR_CLASS, "its folder %.*s is none of the classes %s", (int)n, path, (char *)f->known.p);
}

static int
find_given_class(struct folders *f, const char *path, size_t n, size_t from, size_t *class)
{
	const char *p, *part;
	size_t len;
	long at = -1;

	for (size_t i = from; at < 0 && (p = find_component(path, n, i, &len)) != NULL; i++)
		at = names_find(f->classes, p, len);
	*class = (size_t)at;
	if (at < 0 && n == 0)
		return err_fail(ERR_CLASS, "is in no folder of a class; name the folder that holds those of the "
		    "classes");
	if (at < 0)
		return refuse_folder(f, path, n);
	if (f->split != SOURCE_ALL || (part = find_split(path, (size_t)(p - path))) == NULL)
		return 1;
	if (f->part != NULL && f->part != part)
		return fail_need_split(f);
	f->part = part;
	return 1;
}

/* Ends a stream whose classes, guessed from its first image, may be wrong. */
static int
fail_need_classes(const struct folders *f, const char *path, size_t n, const char *why)
{
	return err_fail(ERR_FORMAT, "%s: folder %.*s %s; give the names of a stream's classes, "
	    "in im2rec with --labels", f->place, (int)n, path, why);
}

/* Sets the depth of the class component, and the path before it, by the stream's first image. */
static int
start_stream(struct folders *f, const char *path, size_t n, size_t from)
{
	size_t len;
	const char *p = find_component(path, n, from, &len), *next;

	for (f->depth = 0; (next = find_component(path, n, from + f->depth + 1, &len)) != NULL; f->depth++)
		p = next;
	f->started = true;
	return buf_put(&f->around, path, (size_t)(p - path));
}

static int
find_streamed_class(struct folders *f, const char *path, size_t n, size_t from, size_t *class)
{
	struct names *l = f->classes;
	size_t len, more;
	const char *p = find_component(path, n, from, &len);
	long at;
	int e;

	if (p == NULL)
		return err_fail(ERR_ITEM, "is in no class folder");
	if (!f->started)
		ERR_TRY(start_stream(f, path, n, from));
	if ((p = find_component(path, n, from + f->depth, &len)) == NULL)
		return fail_need_classes(f, path, n, "is less deep than earlier ones");
	if ((size_t)(p - path) != f->around.n || (p > path && memcmp(path, f->around.p, f->around.n) != 0))
		return f->split == SOURCE_ALL && find_split(path, (size_t)(p - path)) != NULL ? fail_need_split(f)
		    : fail_need_classes(f, path, n, "is not next to earlier ones");
	if ((at = names_find(l, p, len)) < 0) {
		if (l->n > 0 && strncmp(l->p[l->n - 1], p, len) >= 0)
			return fail_need_classes(f, p, len, "comes after one that sorts after it");
		*class = l->n;
		ERR_TRY(check_class_name(f, p, len));
		return (e = names_append(l, p, len)) < 0 ? e : 1;
	}
	/* With a single class so far, a deeper folder might be a class too. */
	if (l->n == 1 && find_component(path, n, from + f->depth + 1, &more) != NULL)
		return fail_need_classes(f, path, n, "is deeper than earlier ones");
	*class = (size_t)at;
	return 1;
}

static int
find_resolved_class(const struct folders *f, const char *path, size_t n, size_t *class)
{
	size_t len;
	const char *p = find_component(path, n, f->depth, &len);
	long at = p != NULL ? names_find(f->classes, p, len) : -1;

	*class = (size_t)at;
	return at >= 0 ? 1 : err_fail(ERR_ITEM, "is in no class folder");
}

int
folders_class(struct folders *f, const char *name, size_t *class)
{
	size_t n = io_folder_length(name), from;
	int e;

	if (f->last.n == n && n > 0 && memcmp(f->last.p, name, n) == 0) {
		*class = f->last_class;
		return 1;
	}
	if ((e = skip_split(f, name, n, &from)) <= 0)
		return e;
	f->found = true;
	if (f->given)
		e = find_given_class(f, name, n, from, class);
	else
		e = f->resolved ? find_resolved_class(f, name, n, class) : find_streamed_class(f, name, n, from, class);
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
		return f->found ? 0 : fail_no_split(f);
	for (size_t i = 0; f->started && i < f->classes->n; i++)
		splits += match_split(f->classes->p[i], strlen(f->classes->p[i]), &split) != NULL;
	return splits == 0 || splits < f->classes->n ? 0 : fail_need_split(f);
}
