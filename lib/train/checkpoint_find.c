/* checkpoint_find - the checkpoint finder: the checkpoints of a run, by file name. */
#include "train/checkpoint_find.h"

#include "base/err.h"
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EPOCH_DIGITS	4	/* the least that checkpoint_path() writes */
#define STEP_DIGITS	6

/*
 * Removes "-0012" from the front of the text; fails for fewer digits than `least`, with which "run-7-0001.safetensors"
 * is a file of "run-7" and not of "run", and for more than a file name can have.
 */
static bool
parse_dash_number(const char **p, size_t least, uint64_t *v)
{
	size_t digits = **p == '-' ? strspn(*p + 1, "0123456789") : 0;

	if (digits < least || digits > 19)
		return false;
	*v = strtoull(*p + 1, NULL, 10);
	*p += 1 + digits;
	return true;
}

static bool
parse_checkpoint_name(const char *name, const char *stem, size_t nstem, uint64_t *epoch, uint64_t *step)
{
	const char *p = name + nstem;

	if (strncmp(name, stem, nstem) != 0 || !parse_dash_number(&p, EPOCH_DIGITS, epoch))
		return false;
	*step = 0;
	return (*p != '-' || parse_dash_number(&p, STEP_DIGITS, step)) && strcmp(p, ".safetensors") == 0;
}

/*
 * Opens the directory of a prefix, whose first *ndir bytes are its name, the rest *stem.  1, 0 when there is none, or
 * an error.
 */
static int
open_prefix_dir(const char *prefix, size_t *ndir, const char **stem, DIR **list)
{
	char *dir;

	*stem = io_base_name(prefix);
	*ndir = (size_t)(*stem - prefix);
	if ((dir = *ndir > 0 ? strndup(prefix, *ndir) : strdup(".")) == NULL)
		return err_nomem();
	*list = opendir(dir);
	free(dir);
	if (*list == NULL)
		return errno == ENOENT ? 0 : err_sys("%s", prefix);
	return 1;
}

static int
compare_newest_first(const void *a, const void *b)
{
	const struct checkpoint_name *p = a, *q = b;

	return p->epoch != q->epoch ? (p->epoch < q->epoch ? 1 : -1) : (p->step < q->step) - (p->step > q->step);
}

char *
checkpoint_path(const char *prefix, const struct checkpoint_name *p)
{
	char *path;
	int n = p->step > 0 ? asprintf(&path, "%s-%0*" PRIu64 "-%0*" PRIu64 ".safetensors", prefix,
	    EPOCH_DIGITS, p->epoch, STEP_DIGITS, p->step) :
	    asprintf(&path, "%s-%0*" PRIu64 ".safetensors", prefix, EPOCH_DIGITS, p->epoch);

	return n < 0 ? NULL : path;
}

static int
remove_checkpoint(const char *prefix, const struct checkpoint_name *p)
{
	char *path = checkpoint_path(prefix, p);
	int e = 0;

	if (path == NULL)
		return err_nomem();
	if (unlink(path) < 0 && errno != ENOENT)
		e = err_sys("%s", path);
	free(path);
	return e;
}

int
checkpoint_list(const char *prefix, uint64_t epoch, uint64_t step, struct checkpoint_name **names, size_t *count)
{
	struct checkpoint_name *p = NULL, *more, one;
	const struct dirent *d;
	const char *stem;
	size_t ndir, n = 0;
	DIR *list;
	int e;

	*names = NULL;
	*count = 0;
	if ((e = open_prefix_dir(prefix, &ndir, &stem, &list)) <= 0)
		return e;
	e = 0;
	while (e == 0 && (d = readdir(list)) != NULL) {
		if (!parse_checkpoint_name(d->d_name, stem, strlen(stem), &one.epoch, &one.step) ||
		    one.epoch > epoch || (one.epoch == epoch && one.step > step))
			continue;
		if ((more = realloc(p, (n + 1) * sizeof(*p))) == NULL)
			e = err_nomem();
		else
			(p = more)[n++] = one;
	}
	closedir(list);
	if (n > 0)
		qsort(p, n, sizeof(*p), compare_newest_first);
	*names = p;
	*count = n;
	return e;
}

int
checkpoint_prune(const char *prefix, uint64_t epoch, uint64_t step, uint32_t most)
{
	struct checkpoint_name *p;
	size_t n;
	int e = checkpoint_list(prefix, epoch, step, &p, &n);

	for (size_t i = most; i < n && e == 0; i++)
		e = remove_checkpoint(prefix, &p[i]);
	free(p);
	return e;
}

uint64_t
checkpoint_bytes(const char *prefix, uint64_t epoch, uint64_t step)
{
	struct checkpoint_name *p;
	uint64_t bytes = 0;
	struct stat st;
	size_t n;

	if (checkpoint_list(prefix, epoch, step, &p, &n) < 0)
		n = 0;
	for (size_t i = 0; i < n; i++) {
		char *path = checkpoint_path(prefix, &p[i]);

		if (path != NULL && stat(path, &st) == 0 && st.st_nlink == 1)
			bytes += (uint64_t)st.st_blocks * 512;
		free(path);
	}
	free(p);
	return bytes;
}

/* Whether a name is that of one of these, of the best, or of a manifest, and after it ".XXXXXX.tmp" or ".PID.tmp". */
static bool
is_unfinished(const char *name, const char *stem)
{
	static const char tail[] = ".safetensors", manifest[] = ".manifest", best[] = "-best.safetensors";
	size_t nstem = strlen(stem), n;
	const char *at = strncmp(name, stem, nstem) == 0 ? strstr(name + nstem, tail) : NULL, *rest;
	char file[NAME_MAX + 1];
	uint64_t epoch, step;

	if (at == NULL)
		return false;
	rest = at + sizeof(tail) - 1;
	snprintf(file, sizeof(file), "%.*s", (int)(rest - name), name);
	if (strncmp(rest, manifest, sizeof(manifest) - 1) == 0)
		rest += sizeof(manifest) - 1;
	n = *rest == '.' ? strspn(rest + 1, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") : 0;
	return n > 0 && strcmp(rest + 1 + n, ".tmp") == 0 &&
	    (parse_checkpoint_name(file, stem, nstem, &epoch, &step) || strcmp(file + nstem, best) == 0);
}

void
checkpoint_clean(const char *prefix)
{
	const struct dirent *d;
	const char *stem;
	size_t ndir;
	DIR *list;

	if (open_prefix_dir(prefix, &ndir, &stem, &list) <= 0)
		return;
	while ((d = readdir(list)) != NULL)
		if (is_unfinished(d->d_name, stem))
			unlinkat(dirfd(list), d->d_name, 0);
	closedir(list);
}
