/* place - a directory of a fuzz target's own, removed when it ends; and a source over it, read to its end. */
#ifndef TESTS_FUZZ_PLACE_H
#define TESTS_FUZZ_PLACE_H

#include "base/err.h"
#include "base/io.h"
#include "source/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PLACE_PIPE	65536u

static char place_dir[] = "/tmp/tally-fuzz.XXXXXX";
static struct {
	char	path[64];
	int	fd;
} place_file[4];
static unsigned place_files;

static void
place_clean(void)
{
	for (unsigned i = 0; i < place_files; i++)
		unlink(place_file[i].path);
	rmdir(place_dir);
}

/* A file of the directory: a link to one in memory, as a disk would take a thousand times as long. */
static int
place_open(const char *name)
{
	char path[64], to[64];
	unsigned i = 0;

	if (place_files == 0 && (mkdtemp(place_dir) == NULL || atexit(place_clean) != 0))
		abort();
	snprintf(path, sizeof(path), "%s/%s", place_dir, name);
	while (i < place_files && strcmp(place_file[i].path, path) != 0)
		i++;
	if (i < place_files)
		return place_file[i].fd;
	place_file[i].fd = memfd_create(name, MFD_CLOEXEC);
	memcpy(place_file[i].path, path, sizeof(path));
	snprintf(to, sizeof(to), "/proc/self/fd/%d", place_file[i].fd);
	if (place_file[i].fd < 0 || symlink(to, path) < 0)
		abort();
	place_files++;
	return place_file[i].fd;
}

/* Writes a file of the directory. */
__attribute__((unused)) static void
place_put(const char *name, const uint8_t *p, size_t n)
{
	int fd = place_open(name);

	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0 || io_write(fd, p, n) < 0)
		abort();
}

/* Reads every picture's bytes; raw ones must be as many as their shape says. */
static void
place_source(const struct source_opt *opt)
{
	struct source_item it;
	volatile uint8_t sum = 0;
	struct source *s;
	int e;

	if (source_open(opt, &s) < 0)
		return;
	while ((e = source_next(s, &it)) > 0 || e == ERR_ITEM) {
		if (e < 0)
			continue;
		if (it.labels < 1 || (it.c > 0 && it.n != (size_t)it.c * it.h * it.w))
			abort();
		for (size_t i = 0; i < it.n; i++)
			sum = sum ^ it.data[i];
	}
	source_close(s);
}

/* name NULL: of the directory. */
__attribute__((unused)) static void
place_read(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%s%s%s", place_dir, name != NULL ? "/" : "", name != NULL ? name : "");
	place_source(&(struct source_opt){ .path = path });
}

/* The same of a pipe, which holds as much without anybody to write. */
__attribute__((unused)) static void
place_pipe(const uint8_t *p, size_t n)
{
	char path[64];
	int fd[2];

	if (pipe(fd) < 0 || io_write(fd[1], p, n < PLACE_PIPE ? n : PLACE_PIPE) < 0)
		abort();
	close(fd[1]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd[0]);
	place_source(&(struct source_opt){ .path = path });
	close(fd[0]);
}

#endif
