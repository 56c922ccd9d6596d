/* source_folder - the pictures of class folders, in a directory or an archive: serves source. */
#include "data/source_kind.h"
#include "data/img.h"
#include "base/err.h"

#include <stdlib.h>
#include <strings.h>

/*
 * The place is walked twice: for the folders that there are, then for the
 * pictures.  A class folder is component `depth` of a picture's name; with a
 * split, the component before it must be `wanted`.
 */
#define DEEPEST	64	/* folders that a picture stands in, one within the other */

struct state {
	struct files	*files;
	struct names	 folders;	/* that hold pictures, whole paths */
	struct names	*classes;
	bool		 split;
	const char	*wanted;
	size_t		 depth;
	float		 label;
	struct buf	 name, data;
};

static const char *const train_names[] = { "train", "training" };
static const char *const test_names[] = { "test", "testing" };
static const char *const val_names[] = { "val", "valid", "validation" };

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* Formats that im2rec does not read are pictures all the same: what is left out must be said. */
bool
source_folder_knows(const char *name)
{
	static const char *const ends[] = { ".jpg", ".jpeg", ".png", ".bmp", ".gif", ".heic", ".tif", ".tiff", ".webp" };
	size_t n = strlen(name);

	for (size_t i = 0; i < COUNT(ends); i++) {
		size_t k = strlen(ends[i]);

		if (n > k && strcasecmp(name + n - k, ends[i]) == 0)
			return true;
	}
	return false;
}

static size_t
folder_length(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash != NULL ? (size_t)(slash - name) : 0;
}

/* Component i of a folder's path of n bytes; NULL when it has fewer. */
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

static bool
is_among(const char *p, size_t n, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(list[i]) == n && memcmp(list[i], p, n) == 0)
			return true;
	return false;
}

static bool
is_split(const char *p, size_t n)
{
	return is_among(p, n, train_names, COUNT(train_names)) || is_among(p, n, test_names, COUNT(test_names)) ||
	    is_among(p, n, val_names, COUNT(val_names));
}

/* Notes the folder of a picture.  Its components are gone through one by one for each depth: their number is bounded. */
static int
list_folder(struct state *s, const char *name)
{
	size_t n;

	if (component(name, folder_length(name), DEEPEST, &n) != NULL)
		return err_fail(ERR_LIMIT, "%.64s...: stands in more than %d folders", name, DEEPEST);
	return names_insert(&s->folders, name, folder_length(name));
}

static int
list_folders(struct state *s, const char *path)
{
	struct files *f;
	const char *name;
	int e = files_open(&f, path);

	if (e < 0)
		return e;
	while ((e = files_next(f, &name)) > 0 || e == ERR_ITEM)
		if (e > 0 && source_folder_knows(name) && (e = list_folder(s, name)) < 0)
			break;
	files_close(f);
	return e;
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
first_present(const struct state *s, size_t depth, const char *const *list, size_t count)
{
	for (size_t k = 0; k < count; k++)
		for (size_t i = 0; i < s->folders.n; i++) {
			const char *path = s->folders.p[i], *p;
			size_t n;

			if ((p = component(path, strlen(path), depth, &n)) != NULL && is_among(p, n, &list[k], 1))
				return list[k];
		}
	return NULL;
}

static int
choose_split(struct state *s, enum source_split split)
{
	for (size_t depth = 0; depth <= s->depth; depth++) {
		const char *train = first_present(s, depth, train_names, COUNT(train_names));
		const char *test = first_present(s, depth, test_names, COUNT(test_names));

		if (test == NULL)
			test = first_present(s, depth, val_names, COUNT(val_names));
		s->wanted = split == SOURCE_TRAIN ? train : test;
		if (s->wanted != NULL) {
			s->split = true;
			s->depth = depth + 1;
			return 0;
		}
	}
	return err_fail(ERR_ARG, "%s: has no folder %s", files_path(s->files),
	    split == SOURCE_TRAIN ? "train" : "test or val");
}

/* Folders train and val are no classes. */
static int
refuse_splits(const struct state *s)
{
	const struct names *l = &s->folders;
	const char *p = NULL;
	size_t n, found = 0;

	for (size_t i = 0; i < l->n; i++)
		if ((p = component(l->p[i], strlen(l->p[i]), s->depth, &n)) != NULL && !is_split(p, n))
			return 0;
		else if (p != NULL)
			found++;
	if (found == 0)
		return err_fail(ERR_FORMAT, "%s: its pictures stand in no class folders", files_path(s->files));
	return err_fail(ERR_ARG, "%s: has folders like train and val: say which, with --split", files_path(s->files));
}

static int
choose_classes(struct state *s, enum source_split split)
{
	const struct names *l = &s->folders;
	int e;

	s->depth = files_is_dir(s->files) ? 0 : common_depth(l);
	e = split != SOURCE_ALL ? choose_split(s, split) : refuse_splits(s);
	/* Of all splits together, so that a class has one number in all of them. */
	for (size_t i = 0; e == 0 && i < l->n; i++) {
		size_t n;
		const char *p = component(l->p[i], strlen(l->p[i]), s->depth, &n);

		if (p != NULL)
			e = names_insert(s->classes, p, n);
	}
	return e;
}

static void
folder_close(void *p)
{
	struct state *s = p;

	files_close(s->files);
	names_free(&s->folders);
	buf_free(&s->name);
	buf_free(&s->data);
	free(s);
}

static int
folder_open(void **out, const struct source_opt *opt, struct names *classes)
{
	struct state *s = calloc(1, sizeof(*s));
	int e;

	if (s == NULL)
		return err_nomem();
	s->classes = classes;
	if ((e = files_open(&s->files, opt->path)) < 0 || (e = list_folders(s, opt->path)) < 0 ||
	    (e = choose_classes(s, opt->split)) < 0) {
		folder_close(s);
		return e;
	}
	*out = s;
	return 0;
}

/* The next picture's name, in the split wanted.  Returns 1, 0 at the end, or an error. */
static int
next_name(struct state *s, const char **name)
{
	int e;

	while ((e = files_next(s->files, name)) > 0) {
		const char *p;
		size_t n;

		if (!source_folder_knows(*name))
			continue;
		if (!s->split)
			return 1;
		p = component(*name, folder_length(*name), s->depth - 1, &n);
		if (p != NULL && is_among(p, n, &s->wanted, 1))
			return 1;
	}
	return e;
}

static int
set_name(struct state *s, const char *name, struct source_item *item)
{
	int e;

	s->name.n = 0;
	if ((e = buf_put_fmt(&s->name, "%s%s%s", files_path(s->files), files_is_dir(s->files) ? "/" : ": ", name)) < 0 ||
	    (e = buf_terminate(&s->name)) < 0)
		return e;
	item->name = (const char *)s->name.p;
	return 0;
}

static int
folder_next(void *state, struct source_item *item)
{
	struct state *s = state;
	const char *name, *p;
	size_t n;
	int e, class;

	if ((e = next_name(s, &name)) <= 0)
		return e;
	if (set_name(s, name, item) < 0)
		return ERR_NOMEM;
	p = component(name, folder_length(name), s->depth, &n);
	if (p == NULL || (class = (int)names_find(s->classes, p, n)) < 0)
		return err_fail(ERR_ITEM, "stands in no class folder");
	s->label = (float)class;
	s->data.n = 0;
	if ((e = files_slurp(s->files, IMG_BYTES, &s->data)) < 0) {
		if (e == ERR_FORMAT)
			err_within("%s", item->name);
		return e;
	}
	item->labels = 1;
	item->label = &s->label;
	item->data = s->data.p;
	item->n = s->data.n;
	return 1;
}

const struct source_kind source_folder_kind = { folder_open, folder_next, NULL, folder_close, false };
