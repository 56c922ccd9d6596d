/* autotune_cache - the fastest kernels, kept in a text file from run to run. */
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

struct row {
	char	 key[ENGINE_KEY], name[ENGINE_CHOICE];
};

struct autotune_cache {
	char	*path;
	pthread_mutex_t lock;
	struct row *row;	/* [AUTOTUNE_CACHE_MOST], the oldest first */
	uint32_t n;
	int	 err;		/* error of the first write that failed, or 0 */
	char	 why[ERR_LINE];	/* line of that error */
};

static const char *const cells[] = { "device", "compute capability", "cuDNN", "CUDA", "precision", "convolution",
	"order", "kernel" };

#define CELLS	(sizeof(cells) / sizeof(*cells))

static bool
is_text(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
			return false;
	return n > 0;
}

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
	for (size_t i = 0; i < CELLS; i++)
		if ((cell = strsep(&rest, "\t")) == NULL || !is_text(cell))
			return err_fail(ERR_FORMAT, "cell %zu, %s: missing, or not text", i + 1, cells[i]);
	if (rest != NULL)
		return err_fail(ERR_FORMAT, "more than %zu cells", CELLS);
	n = (size_t)(cell - copy) - 1;
	if (n >= ENGINE_KEY || strlen(cell) >= ENGINE_CHOICE)
		return err_fail(ERR_LIMIT, "a cell is too long");
	memcpy(key, line, n);
	key[n] = 0;
	memcpy(name, cell, strlen(cell) + 1);
	return 1;
}

static struct row *
find_row(const struct autotune_cache *c, const char *key)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (strcmp(c->row[i].key, key) == 0)
			return &c->row[i];
	return NULL;
}

/* Makes the choice the newest row, instead of the key's old row or, if the table is full, of the oldest. */
static void
replace_row(struct autotune_cache *c, const char *key, const char *name)
{
	struct row *old = find_row(c, key);

	if (old == NULL && c->n == AUTOTUNE_CACHE_MOST)
		old = c->row;
	if (old != NULL)
		memmove(old, old + 1, (size_t)(c->row + --c->n - old) * sizeof(*old));
	snprintf(c->row[c->n].key, ENGINE_KEY, "%s", key);
	snprintf(c->row[c->n++].name, ENGINE_CHOICE, "%s", name);
}

/* Adds the file's choices for keys that have no row. */
static int
merge_file(struct autotune_cache *c, uint32_t *ignored)
{
	char key[ENGINE_KEY], name[ENGINE_CHOICE], *rest, *line;
	struct buf text = { 0 };
	int e;

	if (access(c->path, F_OK) != 0)
		return errno == ENOENT ? 0 : err_sys("%s", c->path);
	if ((e = io_slurp(c->path, AUTOTUNE_CACHE_BYTES, &text)) == 0)
		e = buf_terminate(&text);
	/* A zero byte ends the text. */
	for (rest = (char *)text.p; e == 0 && (line = strsep(&rest, "\n")) != NULL;) {
		int is = autotune_cache_parse(line, key, name);

		*ignored += is < 0;
		if (is == 1 && find_row(c, key) == NULL)
			replace_row(c, key, name);
	}
	buf_free(&text);
	return e;
}

static int
write_file(const struct autotune_cache *c)
{
	struct buf text = { 0 };
	int e = buf_put_fmt(&text, "# tally: the fastest kernels; remove this file to measure them again\n");

	for (uint32_t i = 0; i < c->n && e == 0; i++)
		e = buf_put_fmt(&text, "%s\t%s\n", c->row[i].key, c->row[i].name);
	if (e == 0)
		e = io_replace(c->path, text.p, text.n);
	buf_free(&text);
	return e;
}

/* Reads what other processes wrote, adds the choice, and writes the file. */
static int
update_file(struct autotune_cache *c, const char *key, const char *name)
{
	char path[PATH_MAX];
	uint32_t ignored = 0;
	int fd, e;

	if (snprintf(path, sizeof(path), "%s.lock", c->path) >= (int)sizeof(path))
		return err_fail(ERR_LIMIT, "%s: the path is too long", c->path);
	if ((fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) < 0)
		return err_sys("%s", path);
	e = flock(fd, LOCK_EX) < 0 ? err_sys("%s", path) : merge_file(c, &ignored);
	/* A file that has become too large is replaced. */
	if (e == 0 || e == ERR_LIMIT) {
		replace_row(c, key, name);
		e = write_file(c);
	}
	close(fd);
	return e;
}

int
autotune_cache_open(const char *path, uint32_t *ignored, struct autotune_cache **to)
{
	struct autotune_cache *c = calloc(1, sizeof(*c));
	int e;

	*to = NULL;
	*ignored = 0;
	if (c == NULL)
		return err_nomem();
	pthread_mutex_init(&c->lock, NULL);
	c->path = strdup(path);
	c->row = calloc(AUTOTUNE_CACHE_MOST, sizeof(*c->row));
	e = c->path == NULL || c->row == NULL ? err_nomem() : merge_file(c, ignored);
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
	if ((r = find_row(c, key)) != NULL)
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
		replace_row(c, key, name);	/* for this run */
	}
	pthread_mutex_unlock(&c->lock);
}
