/* lister - a directory of pictures in, .lst files out: what MXNet's im2rec.py --list does. */
#include "source/lister.h"
#include "base/err.h"
#include "base/grow.h"
#include "base/io.h"
#include "base/num.h"
#include "base/rng.h"
#include "source/suffix.h"
#include "source/walk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define WRITE_STEP	(1u << 20)	/* bytes */

struct lister {
	const struct lister_opt	*opt;
	struct buf		 names;		/* paths from root, each with its zero */
	size_t			*at;		/* where they begin, in the order of the walk */
	uint32_t		*class;		/* of each */
	uint32_t		*order;		/* of the lists */
	size_t			 n, cap;
	struct io_new		 file[3 * LISTER_CHUNKS];
	unsigned		 files;
};

static bool
is_wanted(const struct lister_opt *opt, const char *name)
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
add(struct lister *l, const char *name)
{
	size_t *at = grow_by_one(l->at, l->n, &l->cap, sizeof(*at));

	if (at == NULL)
		return ERR_NOMEM;
	l->at = at;
	if (l->n == UINT32_MAX)
		return err_fail(ERR_LIMIT, "%s: more than %u pictures", l->opt->root, UINT32_MAX);
	l->at[l->n++] = l->names.n;
	return buf_put(&l->names, name, strlen(name) + 1);
}

static int
find_pictures(struct lister *l)
{
	size_t root = strlen(l->opt->root) + 1;
	const char *path;
	struct walk *w;
	int e = walk_open(&w, l->opt->root, false);

	if (e < 0)
		return err_within("%s", l->opt->root), e;
	while ((e = walk_next(w, &path)) > 0 || e == ERR_ITEM) {
		if (e > 0 && !is_wanted(l->opt, path + root))
			continue;
		/* Readers would cut the line elsewhere. */
		if (e > 0 && (path[root] == ' ' || strpbrk(path + root, "\t\r\n") != NULL))
			e = err_fail(ERR_ITEM, "%s: its name holds what ends a name in a list", path);
		if (e < 0)
			l->opt->bad(l->opt->ctx, e);
		else if ((e = add(l, path + root)) < 0)
			break;
	}
	walk_close(w);
	return e;
}

/* As a walk comes to them: a folder's own files first, then its folders. */
static int
in_walk(const void *x, const void *y, void *names)
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
name_of(const struct lister *l, size_t i)
{
	return (const char *)l->names.p + l->at[i];
}

static size_t
folder_length(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash != NULL ? (size_t)(slash - name) : 0;
}

/* A folder's files stand together: each new folder is a new class. */
static int
number(struct lister *l, struct names *classes)
{
	const char *last = NULL;
	uint32_t class = 0;
	int e = 0;

	for (size_t i = 0; e == 0 && i < l->n; i++) {
		const char *name = name_of(l, i);
		size_t n = folder_length(name);

		if (l->opt->recursive && (last == NULL || n != folder_length(last) || memcmp(last, name, n) != 0)) {
			class += last != NULL;
			e = classes != NULL ? names_append(classes, n > 0 ? name : ".", n > 0 ? n : 1) : 0;
		}
		last = name;
		l->class[i] = class;
		l->order[i] = (uint32_t)i;
	}
	return e;
}

static int
prepare(struct lister *l, struct names *classes)
{
	size_t size;
	int e;

	if ((e = find_pictures(l)) < 0)
		return e;
	if (l->n == 0)
		return err_fail(ERR_ARG, "%s: no pictures in it", l->opt->root);
	qsort_r(l->at, l->n, sizeof(*l->at), in_walk, l->names.p);
	if ((e = num_mul(l->n, sizeof(uint32_t), &size)) < 0)
		return e;
	if ((l->class = malloc(size)) == NULL || (l->order = malloc(size)) == NULL)
		return err_nomem();
	if ((e = number(l, classes)) == 0 && l->opt->shuffle) {
		struct rng r = rng_start(l->opt->seed, 0, 0);

		rng_shuffle_u32(&r, l->order, l->n);
	}
	return e;
}

static int
flush(const struct io_new *f, struct buf *text)
{
	int e = io_write(f->fd, text->p, text->n);

	text->n = 0;
	return e;
}

/* A list of n of them, written but not yet under its name. */
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

		e = buf_put_fmt(&text, "%u\t%f\t%s\n", k, (double)l->class[k], name_of(l, k));
		if (e == 0 && (text.n >= WRITE_STEP))
			e = flush(f, &text);
	}
	if (e == 0)
		e = flush(f, &text);
	buf_free(&text);
	return e;
}

static int
write_part(struct lister *l, int chunk, const char *part, size_t first, size_t n)
{
	struct buf path = { 0 };
	char number[16] = "";
	int e;

	if (l->opt->chunks > 1)
		snprintf(number, sizeof(number), "_%d", chunk);
	if ((e = buf_put_fmt(&path, "%s%s%s.lst", l->opt->prefix, number, part)) == 0 && (e = buf_terminate(&path)) == 0 &&
	    (e = write_list(l, (const char *)path.p, first, n)) < 0)
		err_within("%s", (const char *)path.p);
	buf_free(&path);
	return e;
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Chunk i: its first share is for the test, the next for training, the rest for validation. */
static int
write_chunk(struct lister *l, size_t i, size_t size)
{
	double train = l->opt->train, test = l->opt->test;
	size_t first = least(i * size, l->n), n = least(size, l->n - first);
	size_t tests = least((size_t)((double)size * test), n), trains = least((size_t)((double)size * train), n - tests);
	int e = 0;

	if (train == 1 || (train == 0 && test == 0))
		return write_part(l, (int)i, "", first, n);
	if (test > 0)
		e = write_part(l, (int)i, "_test", first, tests);
	if (e == 0 && train + test < 1)
		e = write_part(l, (int)i, "_val", first + tests + trains, n - tests - trains);
	return e < 0 ? e : write_part(l, (int)i, "_train", first + tests, trains);
}

static int
write_all(struct lister *l)
{
	size_t chunks = l->opt->chunks > 0 ? l->opt->chunks : 1;
	int e = 0;

	for (size_t i = 0; e == 0 && i < chunks; i++)
		e = write_chunk(l, i, (l->n + chunks - 1) / chunks);
	for (unsigned i = 0; i < l->files; i++)
		if (e < 0)
			io_abandon(&l->file[i]);
		else if ((e = io_commit(&l->file[i])) < 0)
			err_within("%s*.lst", l->opt->prefix);
	return e;
}

int
lister_run(const struct lister_opt *opt, struct names *classes, uint64_t *n)
{
	struct lister *l;
	int e;

	*n = 0;
	if (!(opt->train >= 0 && opt->test >= 0 && opt->train + opt->test <= 1))
		return err_fail(ERR_ARG, "shares of %g and %g for training and test are more than all", opt->train, opt->test);
	if (opt->chunks > LISTER_CHUNKS)
		return err_fail(ERR_ARG, "more than %u chunks", LISTER_CHUNKS);
	if ((l = calloc(1, sizeof(*l))) == NULL)
		return err_nomem();
	l->opt = opt;
	if ((e = prepare(l, classes)) == 0 && (e = write_all(l)) == 0)
		*n = l->n;
	buf_free(&l->names);
	free(l->at);
	free(l->class);
	free(l->order);
	free(l);
	return e;
}
