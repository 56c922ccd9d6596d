/*
 * replay - runs a fuzz target's corpus as a test: every file, its beginnings, the file with each of its bytes changed,
 * and what the target's own mutator makes of it.
 */
#include "base/buf.h"
#include "base/io.h"
#include "fuzz/mutate.h"
#include "tap.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#define MOST	4096	/* bytes of a file that are cut at and changed one by one */

#define MUTANTS	200

/* Most targets have none. */
#pragma weak LLVMFuzzerCustomMutator

/* In place of libFuzzer's: a byte changes. */
size_t
LLVMFuzzerMutate(uint8_t *p, size_t n, size_t room)
{
	if (n < room && n % 3 == 0)
		p[n++] = 0;
	if (n > 0)
		p[n / 2] = (uint8_t)(p[n / 2] * 5 + 1);
	return n;
}

/* A copy of just this size, so that a sanitizer sees a byte read behind it. */
static void
feed(const uint8_t *p, size_t n)
{
	uint8_t *copy = malloc(n > 0 ? n : 1);

	if (copy == NULL)
		return;
	if (n > 0)
		memcpy(copy, p, n);
	LLVMFuzzerTestOneInput(copy, n);
	free(copy);
}

/* What the mutator makes of the file, and then of that. */
static void
replay_mutants(const char *path, const uint8_t *p, size_t n)
{
	uint8_t *room = calloc(1, MOST);
	bool fits = true;

	if (room == NULL || n > MOST) {
		free(room);
		return;
	}
	memcpy(room, p, n);
	for (unsigned i = 0; i < MUTANTS && fits; i++) {
		n = LLVMFuzzerCustomMutator(room, n, MOST, i);
		fits = n <= MOST;
		if (fits)
			feed(room, n);
	}
	ok(fits, "what is made of %s fits", strrchr(path, '/') + 1);
	free(room);
}

static void
replay(const char *path)
{
	struct buf b = { 0 };
	size_t most;

	if (io_slurp(path, 1u << 26, &b) < 0) {
		ok(0, "%s is read", path);
		return;
	}
	most = b.n < MOST ? b.n : MOST;
	feed(b.p, b.n);
	for (size_t n = 0; n < most; n++)
		feed(b.p, n);
	for (size_t i = 0; i < most; i++) {
		uint8_t keep = b.p[i];

		for (unsigned k = 0; k < 3; k++) {
			b.p[i] = (uint8_t[]){ 0, 0xff, keep ^ 1 }[k];
			feed(b.p, b.n);
		}
		b.p[i] = keep;
	}
	ok(1, "%s", strrchr(path, '/') + 1);
	if (LLVMFuzzerCustomMutator != NULL)
		replay_mutants(path, b.p, b.n);
	buf_free(&b);
}

int
main(int argc, char *argv[])
{
	const char *top = getenv("TOP"), *name = strrchr(argv[0], '/');
	char dir[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
	struct dirent *d;
	int files = 0;
	DIR *dp;

	if (argc > 1)
		snprintf(dir, sizeof(dir), "%s", argv[1]);
	else
		snprintf(dir, sizeof(dir), "%s/tests/fuzz/corpus/%s", top != NULL ? top : ".",
		    name != NULL && strncmp(name, "/fuzz_", 6) == 0 ? name + 6 : "");
	if ((dp = opendir(dir)) == NULL) {
		ok(0, "the corpus %s is there", dir);
		return done();
	}
	while ((d = readdir(dp)) != NULL)
		if (d->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/%s", dir, d->d_name);
			replay(path);
			files++;
		}
	closedir(dp);
	ok(files > 0, "the corpus holds %d files", files);
	return done();
}
