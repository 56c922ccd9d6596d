/* mem - how much memory this process can still use, and how much it uses. */
#include "base/mem.h"
#include "base/err.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define ARENA_MAX	(-8)	/* M_ARENA_MAX of glibc, whose malloc.h other C libraries lack */
#define GROUPS	"/sys/fs/cgroup"
#define STACK	(UINT64_C(8) << 20)	/* stack of a thread: the usual ulimit -s */
#define KERNELS	(UINT64_C(64) << 20)	/* reserve for compiled kernels */

/* The number in the first line that matches format, or UINT64_MAX. */
static uint64_t
read_number(const char *path, const char *format)
{
	FILE *f = fopen(path, "re");
	uint64_t v = UINT64_MAX;
	char line[256];

	if (f == NULL)
		return v;
	while (fgets(line, sizeof(line), f) != NULL && sscanf(line, format, &v) != 1)
		;
	fclose(f);
	return v;
}

static uint64_t
read_number_in(const char *folder, const char *name, const char *format)
{
	char file[PATH_MAX];

	if (snprintf(file, sizeof(file), "%s/%s", folder, name) >= (int)sizeof(file))
		return UINT64_MAX;
	return read_number(file, format);
}

static uint64_t
subtract_bytes(uint64_t all, uint64_t part)
{
	return all == UINT64_MAX || part == UINT64_MAX ? all : all > part ? all - part : 0;
}

/*
 * The group's limit less its anonymous and its shared memory, which includes that of memfd_create(2).  The kernel drops
 * other cached files on demand.
 */
static uint64_t
read_group_left(const char *folder, bool v2)
{
	uint64_t limit = v2 ? read_number_in(folder, "memory.max", "%" SCNu64) :	/* "max" does not match */
	    read_number_in(folder, "memory.limit_in_bytes", "%" SCNu64);

	limit = subtract_bytes(limit, v2 ? read_number_in(folder, "memory.stat", "anon %" SCNu64) :
	    read_number_in(folder, "memory.stat", "total_rss %" SCNu64));
	return subtract_bytes(limit, v2 ? read_number_in(folder, "memory.stat", "shmem %" SCNu64) :
	    read_number_in(folder, "memory.stat", "total_shmem %" SCNu64));
}

/* The least that a group and its ancestors leave.  line is one of /proc/self/cgroup: number:controllers:path. */
static uint64_t
find_least_group_left(char *line, const char *root)
{
	char *kind = strchr(line, ':'), *path = kind != NULL ? strchr(kind + 1, ':') : NULL, folder[PATH_MAX], *end;
	uint64_t least = UINT64_MAX, left;
	size_t top;
	bool v2;

	if (path == NULL)
		return UINT64_MAX;
	path[strcspn(path, "\n")] = 0;
	*path++ = 0;
	v2 = strcmp(kind, ":") == 0;
	if (!v2 && strcmp(kind, ":memory") != 0)
		return UINT64_MAX;
	top = strlen(root) + (v2 ? 0 : strlen("/memory"));
	if (snprintf(folder, sizeof(folder), "%s%s%s", root, v2 ? "" : "/memory", path) >= (int)sizeof(folder))
		return UINT64_MAX;
	for (;;) {
		if ((left = read_group_left(folder, v2)) < least)
			least = left;
		if ((end = strrchr(folder + top, '/')) == NULL)
			return least;
		*end = 0;
	}
}

uint64_t
mem_cgroup_left(const char *groups, const char *root)
{
	uint64_t least = UINT64_MAX, left;
	FILE *f = fopen(groups, "re");
	char line[PATH_MAX];

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if ((left = find_least_group_left(line, root)) < least)
			least = left;
	if (f != NULL)
		fclose(f);
	return least;
}

/*
 * What RLIMIT_AS leaves.  It counts mapped memory, touched or not, so a reserve is kept: stacks of two threads for each
 * processor, and the memory that a library maps for kernels at first use without checking that it got it.
 */
static uint64_t
count_address_space_left(void)
{
	uint64_t pages = read_number("/proc/self/statm", "%" SCNu64), room;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct rlimit r;

	if (getrlimit(RLIMIT_AS, &r) < 0 || r.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	room = 2 * STACK * (uint64_t)(processors > 0 ? processors : 1) + KERNELS;
	if (pages == UINT64_MAX)
		return r.rlim_cur;
	return subtract_bytes(r.rlim_cur, pages * (uint64_t)sysconf(_SC_PAGESIZE) + room);
}

/* glibc's alone; other C libraries have no heaps by thread. */
extern int mallopt(int parameter, int value) __attribute__((weak));

void
mem_limit_heaps(void)
{
	struct rlimit r;

	if (mallopt != NULL && getrlimit(RLIMIT_AS, &r) == 0 && r.rlim_cur != RLIM_INFINITY)
		mallopt(ARENA_MAX, 1);
}

/* *who: the subject and verb of a message on the limit that binds. */
static uint64_t
find_available(const char **who)
{
	uint64_t kb = read_number("/proc/meminfo", "MemAvailable: %" SCNu64);
	uint64_t least = kb < UINT64_MAX / 1024 ? kb * 1024 : UINT64_MAX;
	uint64_t group = mem_cgroup_left("/proc/self/cgroup", GROUPS), limit = count_address_space_left();

	*who = "this machine has";
	if (group < least) {
		least = group;
		*who = "its control group has";
	}
	if (limit < least) {
		least = limit;
		*who = "its limit of address space (ulimit -v) has";
	}
	return least;
}

uint64_t
mem_available(void)
{
	const char *who;

	return find_available(&who);
}

uint64_t
mem_resident(void)
{
	uint64_t pages = read_number("/proc/self/statm", "%*u %" SCNu64);

	return pages < UINT64_MAX ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

int
mem_fits(uint64_t bytes)
{
	const char *who;
	uint64_t left = find_available(&who);

	if (bytes <= left)
		return 0;
	return err_fail(ERR_NOMEM, "takes %" PRIu64 " MB, and %s %" PRIu64 " MB left", bytes >> 20, who,
	    left >> 20);
}
