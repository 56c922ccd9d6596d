/* levels - the same work under each instruction set of isa.h, each in a process of its own: are its bytes the same? */
#ifndef TESTS_LEVELS_H
#define TESTS_LEVELS_H

#include "base/hash.h"
#include "base/isa.h"
#include "tap.h"

#include <stdlib.h>

#include <sys/wait.h>
#include <unistd.h>

/* Adds the bytes of what it computes to *hash. */
typedef void levels_work(uint64_t *hash);

struct levels_result {
	int	 level;		/* that ran; 0: the process failed */
	uint64_t hash;
};

/* A process decides on its set once: the parent of these must not have, and have no threads. */
__attribute__((unused)) static struct levels_result
levels_run(const char *limit, levels_work *work)
{
	struct levels_result r = { 0, HASH_START };
	int fd[2], status = 0;
	pid_t pid;

	fflush(stdout);
	if (pipe(fd) < 0 || (pid = fork()) < 0)
		abort();
	if (pid == 0) {
		setenv("TALLY_MAX_ISA", limit, 1);
		work(&r.hash);
		r.level = (int)isa_level();
		_exit(write(fd[1], &r, sizeof(r)) != sizeof(r));
	}
	close(fd[1]);
	if (read(fd[0], &r, sizeof(r)) != sizeof(r))
		r.level = 0;
	close(fd[0]);
	waitpid(pid, &status, 0);
	return status == 0 ? r : (struct levels_result){ 0, 0 };
}

/* The work gives something, and the same under every limit. */
__attribute__((unused)) static void
levels_same(const char *what, levels_work *work)
{
	static const char *const limits[] = { "sse41", "avx2", "avx512_core", "avx512_core_bf16" };
	struct levels_result first = levels_run(limits[0], work);

	ok(first.level != 0 && first.hash != HASH_START, "%s", what);
	for (size_t i = 1; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct levels_result r = levels_run(limits[i], work);

		ok(r.level >= first.level && r.hash == first.hash, "%s: the same bytes under %s", what, limits[i]);
	}
}

#endif
