/* cut - cuts of a run: checkpoints within an epoch, from which a job that lost all its processes goes on. */
#include "train/cut.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/num.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define VERSION	1
#define SUFFIX	".manifest"
#define BLOCK	(1u << 20)	/* bytes that are read at once */

char *
cut_prefix(const char *prefix, const char *dir)
{
	const char *slash = strrchr(prefix, '/'), *base = slash != NULL ? slash + 1 : prefix;
	char *folder = slash != NULL ? strndup(prefix, (size_t)(base - prefix)) : strdup("."), *real, *path = NULL;
	const char *whole;
	uint64_t hash;

	if (folder == NULL)
		return NULL;
	/* A directory that is not there is reported when the run begins. */
	real = realpath(folder, NULL);
	whole = real != NULL ? real : folder;
	hash = hash_update(hash_update(hash_update(HASH_START, whole, strlen(whole)), "/", 1), base, strlen(base));
	if (asprintf(&path, "%s%s%s" CUT_INFIX "%08" PRIx32, dir != NULL ? dir : slash != NULL ? folder : "",
	    dir != NULL ? "/" : "", base, (uint32_t)(hash ^ hash >> 32)) < 0)
		path = NULL;
	free(real);
	free(folder);
	return path;
}

int
cut_parse(const void *text, size_t n, struct cut_manifest *m)
{
	json_error_t error;
	json_t *json = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
	json_int_t epoch, step, bytes;
	const char *run, *sum;
	int version, e;

	if (json == NULL || json_unpack(json, "{s:i, s:s, s:I, s:I, s:I, s:s!}", "tally_cut", &version, "run", &run,
	    "epoch", &epoch, "step", &step, "bytes", &bytes, "xxh3", &sum) < 0 || epoch < 0 || step < 0 || bytes < 0)
		e = err_fail(ERR_FORMAT, "the manifest is malformed");
	else if (version != VERSION)
		e = err_fail(ERR_FORMAT, "the manifest has version %d, not %d", version, VERSION);
	else if ((e = num_hex64(run, &m->run)) == 0 && (e = num_hex64(sum, &m->sum)) == 0) {
		m->epoch = (uint64_t)epoch;
		m->step = (uint64_t)step;
		m->bytes = (uint64_t)bytes;
	}
	json_decref(json);
	return e;
}

/* Reads a whole file for its size and checksum. */
static int
sum_file(const char *path, uint64_t *bytes, uint64_t *sum)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), e = 0;
	uint8_t *block = malloc(BLOCK);
	XXH3_state_t *x = XXH3_createState();
	size_t n = 1;

	*bytes = 0;
	if (fd < 0)
		e = err_sys("open");
	else if (block == NULL || x == NULL)
		e = err_nomem();
	else
		XXH3_64bits_reset(x);
	while (e == 0 && n > 0)
		if ((e = io_read(fd, block, BLOCK, &n)) == 0) {
			XXH3_64bits_update(x, block, n);
			*bytes += n;
		}
	if (e == 0)
		*sum = XXH3_64bits_digest(x);
	if (fd >= 0)
		close(fd);
	XXH3_freeState(x);
	free(block);
	return e;
}

int
cut_seal(const char *path, const struct cut_manifest *m)
{
	char to[PATH_MAX], text[CUT_MANIFEST];
	uint64_t bytes, sum;
	int e, n;

	if (snprintf(to, sizeof(to), "%s" SUFFIX, path) >= (int)sizeof(to))
		return err_fail(ERR_SYS, "%s: the path is too long", path);
	ERR_TRY(err_wrap(sum_file(path, &bytes, &sum), "%s", path));
	/* Hexadecimal strings, as integers of jansson have 63 bits. */
	n = snprintf(text, sizeof(text), "{\"tally_cut\": %d, \"run\": \"%016" PRIx64 "\", \"epoch\": %" PRIu64
	    ", \"step\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"xxh3\": \"%016" PRIx64 "\"}\n", VERSION, m->run,
	    m->epoch, m->step, bytes, sum);
	e = io_replace(to, text, (size_t)n);
	return err_wrap(e == ERR_SYS && (errno == ENOSPC || errno == EDQUOT) ? ERR_LIMIT : e, "%s", to);
}

/* Reads the manifest of a cut. */
static int
read_manifest(const char *path, struct cut_manifest *m)
{
	struct buf text = { 0 };
	char manifest[PATH_MAX];
	int e;

	if (snprintf(manifest, sizeof(manifest), "%s" SUFFIX, path) >= (int)sizeof(manifest))
		return err_fail(ERR_ARG, "the path is too long");
	if (access(manifest, F_OK) < 0)
		return errno == ENOENT ? err_fail(ERR_FORMAT, "was not completed") : err_sys("manifest");
	if ((e = io_slurp(manifest, CUT_MANIFEST, &text)) == 0)
		e = cut_parse(text.p, text.n, m);
	buf_free(&text);
	return e;
}

/*
 * Whether the cut may be used: 0, or an error whose line says why not.  ERR_SYS and ERR_NOMEM leave it open.  reads: it
 * is compared with its checksum.
 */
static int
check_cut(const char *path, uint64_t run, const struct checkpoint_name *at, bool reads)
{
	struct cut_manifest m;
	uint64_t bytes, sum;

	ERR_TRY(read_manifest(path, &m));
	if (m.run != run)
		return err_fail(ERR_ARG,
		    "is of a run with another net, optimizer, seed, batch, number of records or --drop-last");
	if (m.epoch != at->epoch || m.step != at->step)
		return err_fail(ERR_FORMAT, "has the manifest of another");
	if (access(path, F_OK) < 0 && errno == ENOENT)
		return err_fail(ERR_FORMAT, "is gone, and left its manifest");
	if (!reads)
		return 0;
	ERR_TRY(sum_file(path, &bytes, &sum));
	return bytes == m.bytes && sum == m.sum ? 0 : err_fail(ERR_FORMAT, "is damaged: it does not fit its manifest");
}

static bool
is_later(const struct checkpoint_name *a, const struct checkpoint_name *b)
{
	return a->epoch != b->epoch ? a->epoch > b->epoch : a->step > b->step;
}

int
cut_find(const char *prefix, const char *cuts, uint64_t run, void (*refused)(const char *why),
    struct checkpoint_name *at, char **path)
{
	struct checkpoint_name *save = NULL, *cut = NULL;
	size_t nsave = 0, ncut = 0;
	char why[ERR_LINE];
	int e = checkpoint_list(prefix, UINT64_MAX, UINT64_MAX, &save, &nsave), bad;

	*path = NULL;
	if (e == 0 && cuts != NULL)
		e = checkpoint_list(cuts, UINT64_MAX, UINT64_MAX, &cut, &ncut);
	for (size_t i = 0; e == 0 && i < ncut && (nsave == 0 || is_later(&cut[i], &save[0])); i++) {
		if ((*path = checkpoint_path(cuts, &cut[i])) == NULL) {
			e = err_nomem();
		} else if ((bad = check_cut(*path, run, &cut[i], refused != NULL)) == 0) {
			*at = cut[i];
			e = 2;
		} else {
			snprintf(why, sizeof(why), "%s: %s", *path, err_line());
			if (bad == ERR_SYS || bad == ERR_NOMEM)
				e = err_fail(bad, "%s", why);
			else if (refused != NULL)
				refused(why);
			free(*path);
			*path = NULL;
		}
	}
	if (e == 0 && nsave > 0) {
		*at = save[0];
		e = (*path = checkpoint_path(prefix, at)) != NULL ? 1 : err_nomem();
	}
	free(save);
	free(cut);
	return e;
}

/* Without its manifest first, so that what is left after a crash is not used. */
static int
remove_cut(const char *path)
{
	char manifest[PATH_MAX];

	snprintf(manifest, sizeof(manifest), "%s" SUFFIX, path);
	if (unlink(manifest) < 0 && errno != ENOENT)
		return err_sys("%s", manifest);
	return unlink(path) < 0 && errno != ENOENT ? err_sys("%s", path) : 0;
}

/* The path of a cut without a valid manifest or of this run, NULL if another run made it; *e: an error. */
static char *
get_own_path(const char *cuts, const struct checkpoint_name *name, uint64_t run, int *e)
{
	struct cut_manifest m;
	char *path = checkpoint_path(cuts, name);
	int read = path != NULL ? read_manifest(path, &m) : err_nomem();

	if (read == ERR_SYS || read == ERR_NOMEM)
		*e = err_wrap(read, "%s", path != NULL ? path : cuts);
	else if (read < 0 || m.run == run)
		return path;
	free(path);
	return NULL;
}

int
cut_prune(const char *cuts, uint64_t run, uint64_t epoch, uint64_t step, uint32_t most)
{
	const struct checkpoint_name now = { epoch, step };
	struct checkpoint_name *p;
	uint32_t kept = 0;
	char why[ERR_LINE], *path;
	size_t n;
	int e = checkpoint_list(cuts, UINT64_MAX, UINT64_MAX, &p, &n), failed = 0, one;

	for (size_t i = 0; i < n && e == 0; i++) {
		one = 0;
		if ((path = get_own_path(cuts, &p[i], run, &one)) != NULL && (is_later(&p[i], &now) || kept++ >= most))
			one = remove_cut(path);
		if (failed == 0 && (failed = one) < 0)
			snprintf(why, sizeof(why), "%s", err_line());
		free(path);
	}
	free(p);
	return failed < 0 ? err_fail(failed, "%s", why) : e;
}

uint64_t
cut_bytes(const char *cuts, uint64_t run)
{
	struct checkpoint_name *p;
	uint64_t bytes = 0;
	struct stat st;
	char *path;
	size_t n;
	int e = checkpoint_list(cuts, UINT64_MAX, UINT64_MAX, &p, &n);

	for (size_t i = 0; i < n && e == 0; i++) {
		if ((path = get_own_path(cuts, &p[i], run, &e)) != NULL && stat(path, &st) == 0)
			bytes += (uint64_t)st.st_blocks * 512;
		free(path);
	}
	free(p);
	return bytes;
}
