/* lister - writes .lst files of a directory of images, as MXNet's im2rec.py --list does. */
#include "source/lister.h"
#include "base/err.h"
#include "base/grow.h"
#include "base/io.h"
#include "base/num.h"
#include "base/rng.h"
#include "source/suffix.h"
#include "source/walk.h"

#include <stdio.h>
#include <stdlib.h>

#define WRITE_STEP	(1u << 20)	/* bytes */

struct lister {
	const struct lister_opt	*opt;
	struct buf		 names;		/* paths from root, each with a zero */
	size_t			*at;		/* [n] their offsets, in the order of the walk */
	uint32_t		*class;		/* [n] class of each path */
	uint32_t		*order;		/* [n] order in the lists */
	size_t			 n, cap;
	struct io_new		 file[3 * LISTER_CHUNKS + 1];
	unsigned		 files;
};

static bool
is_listed(const struct lister_opt *opt, const char *name)
{
	static const char *const exts[] = { ".jpeg", ".jpg", ".png" };
	const char *const *list = opt->n_exts > 0 ? opt->exts : exts;
	size_t n = opt->n_exts > 0 ? opt->n_exts : sizeof(exts) / sizeof(*exts), len = strlen(name);

	if (!opt->recursive && strchr(name, '/') != NULL)
		return false;
	for (size_t i = 0; i < n; i++)
		if (suffix_is(name, len, list[i]))
			return true;
	return false;
}

static int
add_image(struct lister *l, const char *name)
{
	size_t *at = grow_by_one(l->at, l->n, &l->cap, sizeof(*at));

	if (at == NULL)
		return ERR_NOMEM;
	l->at = at;
	if (l->n == UINT32_MAX)
		return err_fail(ERR_LIMIT, "%s: more than %u images", l->opt->root, UINT32_MAX);
	l->at[l->n++] = l->names.n;
	return buf_put(&l->names, name, strlen(name) + 1);
}

static int
find_images(struct lister *l)
{
	size_t root = strlen(l->opt->root) + 1;
	const char *path;
	struct walk *w;
	int e;

	ERR_TRY(err_wrap(walk_open(l->opt->root, false, &w), "%s", l->opt->root));
	while ((e = walk_next(w, &path)) > 0 || e == ERR_ITEM) {
		if (e > 0 && !is_listed(l->opt, path + root))
			continue;
		/* Readers of the list would split such a name. */
		if (e > 0 && (path[root] == ' ' || strpbrk(path + root, "\t\r\n") != NULL))
			e = err_fail(ERR_ITEM, "%s: a name with a tab, a line end or a leading blank fits no list",
			    path);
		if (e < 0)
			l->opt->bad(l->opt->ctx, e);
		else if ((e = add_image(l, path + root)) < 0)
			break;
	}
	walk_close(w);
	return e;
}

/* Orders paths as a walk does: a folder's files first, then its folders. */
static int
compare_paths(const void *x, const void *y, void *names)
{
	const char *a = (const char *)names + *(const size_t *)x, *b = (const char *)names + *(const size_t *)y;
	size_t i = 0, from = 0;
	bool a_deeper, b_deeper;

	for (; a[i] == b[i] && a[i] != 0; i++)
		if (a[i] == '/')
			from = i + 1;
	a_deeper = strchr(a + from, '/') != NULL;
	b_deeper = strchr(b + from, '/') != NULL;
	if (a_deeper != b_deeper)
		return a_deeper ? 1 : -1;
	return (a[i] == '/' ? 0 : (unsigned char)a[i]) - (b[i] == '/' ? 0 : (unsigned char)b[i]);
}

static const char *
get_image_name(const struct lister *l, size_t i)
{
	return (const char *)l->names.p + l->at[i];
}

/* Numbers the classes: a folder's files are adjacent, so each new folder is a new class. */
static int
number_classes(struct lister *l, struct names *classes)
{
	const char *last = NULL;
	uint32_t class = 0;
	int e = 0;

	for (size_t i = 0; e == 0 && i < l->n; i++) {
		const char *name = get_image_name(l, i);
		size_t n = io_folder_length(name);

		if (l->opt->recursive && (last == NULL || n != io_folder_length(last) || memcmp(last, name, n) != 0)) {
			class += last != NULL;
			e = names_append(classes, n > 0 ? name : ".", n > 0 ? n : 1);
		}
		last = name;
		l->class[i] = class;
		l->order[i] = (uint32_t)i;
	}
	return e;
}

static int
prepare_lists(struct lister *l, struct names *classes)
{
	size_t size;
	int e;

	ERR_TRY(find_images(l));
	if (l->n == 0)
		return err_fail(ERR_ARG, "%s: no images%s", l->opt->root,
		    l->opt->recursive ? "" : "; --recursive searches its folders");
	qsort_r(l->at, l->n, sizeof(*l->at), compare_paths, l->names.p);
	ERR_TRY(num_mul(l->n, sizeof(uint32_t), &size));
	if ((l->class = malloc(size)) == NULL || (l->order = malloc(size)) == NULL)
		return err_nomem();
	if ((e = number_classes(l, classes)) == 0 && l->opt->shuffle) {
		struct rng r = rng_start(l->opt->seed, 0, 0);

		rng_shuffle_u32(&r, l->order, l->n);
	}
	return e;
}

static int
flush_text(const struct io_new *f, struct buf *text)
{
	int e = io_write(f->fd, text->p, text->n);

	text->n = 0;
	return e;
}

/* Writes a list of n images to a temporary file. */
static int
write_list(struct lister *l, const char *path, size_t first, size_t n)
{
	struct io_new *f = &l->file[l->files];
	struct buf text = { 0 };
	int e = io_create(f, path);

	if (e < 0)
		return e;
	l->files++;
	for (size_t i = first; e == 0 && i < first + n; i++) {
		uint32_t k = l->order[i];

		e = buf_put_fmt(&text, "%u\t%f\t%s\n", k, (double)l->class[k], get_image_name(l, k));
		if (e == 0 && (text.n >= WRITE_STEP))
			e = flush_text(f, &text);
	}
	if (e == 0)
		e = flush_text(f, &text);
	buf_free(&text);
	return e;
}

static int
write_one_list(struct lister *l, int chunk, const char *part, size_t first, size_t n)
{
	struct buf path = { 0 };
	char number[16] = "";
	int e;

	if (l->opt->chunks > 1)
		snprintf(number, sizeof(number), "_%d", chunk);
	if ((e = buf_put_fmt(&path, "%s%s%s.lst", l->opt->prefix, number, part)) == 0 &&
	    (e = buf_terminate(&path)) == 0 &&
	    (e = write_list(l, (const char *)path.p, first, n)) < 0)
		err_within("%s", (const char *)path.p);
	buf_free(&path);
	return e;
}

static size_t
get_smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Writes chunk i: the first fraction is for the test, the next for training, the rest for validation. */
static int
write_chunk(struct lister *l, size_t i, size_t size)
{
	double train = l->opt->train, test = l->opt->test;
	size_t first = get_smaller(i * size, l->n), n = get_smaller(size, l->n - first);
	size_t tests = get_smaller((size_t)((double)size * test), n),
	    trains = get_smaller((size_t)((double)size * train), n - tests);

	if (train == 1 || (train == 0 && test == 0))
		return write_one_list(l, (int)i, "", first, n);
	if (test > 0)
		ERR_TRY(write_one_list(l, (int)i, "_test", first, tests));
	if (train + test < 1)
		ERR_TRY(write_one_list(l, (int)i, "_val", first + tests + trains, n - tests - trains));
	return write_one_list(l, (int)i, "_train", first + tests, trains);
}

/* Writes the names of the classes, a line each, to a temporary file. */
static int
write_names(struct lister *l, const struct names *classes)
{
	struct buf path = { 0 }, text = { 0 };
	int e = buf_put_fmt(&path, "%s.names", l->opt->prefix);

	for (size_t i = 0; e == 0 && i < classes->n; i++)
		e = buf_put_fmt(&text, "%s\n", classes->p[i]);
	if (e == 0 && (e = buf_terminate(&path)) == 0 && (e = io_create(&l->file[l->files], (const char *)path.p)) == 0)
		e = flush_text(&l->file[l->files++], &text);
	if (e < 0)
		err_within("%s", (const char *)path.p);
	buf_free(&path);
	buf_free(&text);
	return e;
}

static int
write_lists(struct lister *l, const struct names *classes)
{
	size_t chunks = l->opt->chunks > 0 ? l->opt->chunks : 1;
	int e = 0;

	for (size_t i = 0; e == 0 && i < chunks; i++)
		e = write_chunk(l, i, (l->n + chunks - 1) / chunks);
	if (e == 0 && classes->n > 0)
		e = write_names(l, classes);
	for (unsigned i = 0; i < l->files; i++)
		if (e < 0)
			io_abandon(&l->file[i]);
		else if ((e = io_commit(&l->file[i])) < 0)
			err_within("%s*.lst and .names", l->opt->prefix);
	return e;
}

int
lister_run(const struct lister_opt *opt, struct names *classes, uint64_t *n)
{
	struct names own = { 0 };
	struct lister *l;
	int e;

	*n = 0;
	if (classes == NULL)
		classes = &own;
	if (!(opt->train >= 0 && opt->test >= 0 && opt->train + opt->test <= 1))
		return err_fail(ERR_ARG, "--train-ratio %g and --test-ratio %g: their sum exceeds 1", opt->train,
		    opt->test);
	if (opt->chunks > LISTER_CHUNKS)
		return err_fail(ERR_ARG, "more than %u chunks", LISTER_CHUNKS);
	if ((l = calloc(1, sizeof(*l))) == NULL)
		return err_nomem();
	l->opt = opt;
	if ((e = prepare_lists(l, classes)) == 0 && (e = write_lists(l, classes)) == 0)
		*n = l->n;
	buf_free(&l->names);
	free(l->at);
	free(l->class);
	free(l->order);
	free(l);
	names_free(&own);
	return e;
}
