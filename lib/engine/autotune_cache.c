/* autotune_cache - which kernel won for what, kept in a text file from run to run. */
#include "engine/autotune_cache.h"

#include "base/err.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#define CELLS	8
#define DIGITS	"0123456789"

struct row {
	char	*key, *name;
};

struct autotune_cache {
	char	*path;
	pthread_mutex_t lock;
	struct row *row;	/* [AUTOTUNE_CACHE_MOST], the oldest first */
	uint32_t n;
	int	 err;		/* of the first write that failed, and its line */
	char	 why[512];
};

/* ------ a line ------ */

/* "57 2=1 10=-3" */
static bool
is_name(const char *s)
{
	size_t n = strspn(s, DIGITS);

	for (s += n; n > 0 && *s != 0; s += n) {
		n = *s == ' ' ? strspn(s + 1, DIGITS) : 0;
		if (n == 0 || s[n + 1] != '=')
			return false;
		s += n + 2;
		s += *s == '-';
		n = strspn(s, DIGITS);
	}
	return n > 0;
}

static bool
is_precision(const char *s)
{
	enum engine_precision p;

	return engine_precision_find(s, &p) && strcmp(s, engine_precision_name(p)) == 0;
}

static bool
is_version(const char *s)
{
	return *s != 0 && s[strspn(s, DIGITS ".")] == 0;
}

static bool
is_text(const char *s)
{
	if (*s == 0)
		return false;
	for (; *s != 0; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

static bool
is_conv(const char *s)
{
	size_t n = strcspn(s, " ");

	return is_text(s) && ((n == 7 && memcmp(s, "forward", n) == 0) || (n == 4 && memcmp(s, "data", n) == 0) ||
	    (n == 6 && memcmp(s, "weight", n) == 0));
}

static bool
is_order(const char *s)
{
	return strcmp(s, "fixed") == 0 || strcmp(s, "any") == 0;
}

static const struct {
	const char *name;
	bool (*is)(const char *s);
} cells[CELLS] = {
	{ "device", is_text }, { "compute capability", is_version }, { "cuDNN", is_version }, { "CUDA", is_version },
	{ "precision", is_precision }, { "convolution", is_conv }, { "order", is_order }, { "kernel", is_name },
};

int
autotune_cache_parse(const char *line, char key[ENGINE_KEY], char name[ENGINE_CHOICE])
{
	char copy[ENGINE_KEY + ENGINE_CHOICE], *rest = copy, *cell = copy;
	size_t n = strlen(line);

	if (n == 0 || *line == '#')
		return 0;
	if (n >= sizeof(copy))
		return err_fail(ERR_LIMIT, "more than %zu bytes in a line", sizeof(copy) - 1);
	memcpy(copy, line, n + 1);
	for (int i = 0; i < CELLS; i++)
		if ((cell = strsep(&rest, "\t")) == NULL || !cells[i].is(cell))
			return err_fail(ERR_FORMAT, "not a cell of this kind: %s", cells[i].name);
	if (rest != NULL)
		return err_fail(ERR_FORMAT, "more than %d cells", CELLS);
	n = (size_t)(cell - copy) - 1;
	if (n >= ENGINE_KEY || strlen(cell) >= ENGINE_CHOICE)
		return err_fail(ERR_LIMIT, "a longer name than is written");
	memcpy(key, line, n);
	key[n] = 0;
	memcpy(name, cell, strlen(cell) + 1);
	return 1;
}

/* ------ what is known ------ */

static const struct row *
row_of(const struct autotune_cache *c, const char *key)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (strcmp(c->row[i].key, key) == 0)
			return &c->row[i];
	return NULL;
}

static void
row_free(struct row *r)
{
	free(r->key);
	free(r->name);
}

static int
add_row(struct autotune_cache *c, const char *key, const char *name)
{
	struct row r = { strdup(key), strdup(name) };

	if (r.key == NULL || r.name == NULL) {
		row_free(&r);
		return err_nomem();
	}
	if (c->n == AUTOTUNE_CACHE_MOST) {
		row_free(&c->row[0]);
		memmove(c->row, c->row + 1, --c->n * sizeof(*c->row));
	}
	c->row[c->n++] = r;
	return 0;
}

/* Takes the lines of the file that say something new. */
static int
merge_rows(struct autotune_cache *c, uint32_t *strange)
{
	char key[ENGINE_KEY], name[ENGINE_CHOICE], *rest, *line;
	struct buf text = { 0 };
	int e = access(c->path, F_OK) == 0 ? io_slurp(c->path, AUTOTUNE_CACHE_BYTES,
	    &text) : errno == ENOENT ? 0 : err_sys("%s", c->path);

	if (e == 0)
		e = buf_terminate(&text);
	/* A zero within ends what is read. */
	for (rest = (char *)text.p; e == 0 && (line = strsep(&rest, "\n")) != NULL;) {
		int is = autotune_cache_parse(line, key, name);

		*strange += is < 0;
		if (is == 1 && row_of(c, key) == NULL)
			e = add_row(c, key, name);
	}
	buf_free(&text);
	return e;
}

/* ------ the file ------ */

static int
write_rows(struct autotune_cache *c)
{
	struct io_new f;
	struct buf text = { 0 };
	int e = buf_put_fmt(&text,
	    "# tally: kernels that were the fastest; to have them raced again remove this file\n");

	for (uint32_t i = 0; i < c->n && e == 0; i++)
		e = buf_put_fmt(&text, "%s\t%s\n", c->row[i].key, c->row[i].name);
	if (e == 0 && (e = io_create(&f, c->path)) == 0) {
		if ((e = io_write(f.fd, text.p, text.n)) == 0)
			e = io_commit(&f);
		else
			io_abandon(&f);
	}
	buf_free(&text);
	return e;
}

/* Replaces what was known of the key, and makes it the newest. */
static int
replace_row(struct autotune_cache *c, const char *key, const char *name)
{
	const struct row *r = row_of(c, key);

	if (r != NULL) {
		uint32_t at = (uint32_t)(r - c->row);

		row_free(&c->row[at]);
		memmove(c->row + at, c->row + at + 1, (--c->n - at) * sizeof(*c->row));
	}
	return add_row(c, key, name);
}

/* What others wrote since, and the choice, into memory, and all of it into the file. */
static int
update_file(struct autotune_cache *c, const char *key, const char *name)
{
	char path[PATH_MAX];
	uint32_t strange = 0;
	int fd, e;

	if (snprintf(path, sizeof(path), "%s.lock", c->path) >= (int)sizeof(path))
		return err_fail(ERR_LIMIT, "%s: the path is too long", c->path);
	if ((fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) < 0)
		return err_sys("%s", path);
	e = flock(fd, LOCK_EX) < 0 ? err_sys("%s", path) : merge_rows(c, &strange);
	/* One that became too large in the meantime is written anew. */
	if ((e == 0 || e == ERR_LIMIT) && (e = replace_row(c, key, name)) == 0)
		e = write_rows(c);
	close(fd);
	return e;
}

int
autotune_cache_open(struct autotune_cache **to, const char *path, uint32_t *strange)
{
	struct autotune_cache *c = calloc(1, sizeof(*c));
	int e;

	*to = NULL;
	*strange = 0;
	if (c == NULL)
		return err_nomem();
	pthread_mutex_init(&c->lock, NULL);
	c->path = strdup(path);
	c->row = calloc(AUTOTUNE_CACHE_MOST, sizeof(*c->row));
	e = c->path == NULL || c->row == NULL ? err_nomem() : merge_rows(c, strange);
	if (e < 0)
		autotune_cache_close(c);
	else
		*to = c;
	return e;
}

int
autotune_cache_close(struct autotune_cache *c)
{
	int e;

	if (c == NULL)
		return 0;
	if ((e = c->err) < 0)
		err_note(0, "%s", c->why);
	for (uint32_t i = 0; i < c->n; i++)
		row_free(&c->row[i]);
	pthread_mutex_destroy(&c->lock);
	free(c->row);
	free(c->path);
	free(c);
	return e;
}

bool
autotune_cache_find(void *arg, const char *key, char name[ENGINE_CHOICE])
{
	struct autotune_cache *c = arg;
	const struct row *r;

	pthread_mutex_lock(&c->lock);
	if ((r = row_of(c, key)) != NULL)
		snprintf(name, ENGINE_CHOICE, "%s", r->name);
	pthread_mutex_unlock(&c->lock);
	return r != NULL;
}

void
autotune_cache_keep(void *arg, const char *key, const char *name)
{
	char line[ENGINE_KEY + ENGINE_CHOICE], k[ENGINE_KEY], v[ENGINE_CHOICE];
	struct autotune_cache *c = arg;
	int e;

	if (snprintf(line, sizeof(line), "%s\t%s", key, name) >= (int)sizeof(line) ||
	    autotune_cache_parse(line, k, v) != 1)
		return;
	pthread_mutex_lock(&c->lock);
	if ((e = update_file(c, key, name)) < 0) {
		if (c->err == 0)
			snprintf(c->why, sizeof(c->why), "%s", err_line());
		c->err = c->err == 0 ? e : c->err;
		if (row_of(c, key) == NULL)
			replace_row(c, key, name);	/* for this run */
	}
	pthread_mutex_unlock(&c->lock);
}
