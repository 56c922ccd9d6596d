/* mem - how much memory this process can still take, and how much it has. */
#include "base/mem.h"
#include "base/err.h"

#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define GROUPS	"/sys/fs/cgroup"
#define STACK	(UINT64_C(8) << 20)	/* of a thread: ulimit -s, as it is nearly everywhere */
#define KERNELS	(UINT64_C(64) << 20)

/* The first line of a file that `format` takes a number from. */
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
read_of(const char *folder, const char *name, const char *format)
{
	char file[PATH_MAX];

	return snprintf(file, sizeof(file), "%s/%s", folder, name) < (int)sizeof(file) ? read_number(file, format) : UINT64_MAX;
}

static uint64_t
less(uint64_t all, uint64_t part)
{
	return all == UINT64_MAX || part == UINT64_MAX ? all : all > part ? all - part : 0;
}

/* What a group may hold but for what its processes have of their own: files in memory make room when there is need. */
static uint64_t
left_of(const char *folder, bool v2)
{
	uint64_t limit = v2 ? read_of(folder, "memory.max", "%" SCNu64) :	/* "max" is no number */
	    read_of(folder, "memory.limit_in_bytes", "%" SCNu64);

	return less(limit, v2 ? read_of(folder, "memory.stat", "anon %" SCNu64) :
	    read_of(folder, "memory.stat", "total_rss %" SCNu64));
}

/* The least that a group and those above it leave; line is one of /proc/self/cgroup: number:controllers:path. */
static uint64_t
group_left(char *line, const char *root)
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
		if ((left = left_of(folder, v2)) < least)
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
		if ((left = group_left(line, root)) < least)
			least = left;
	if (f != NULL)
		fclose(f);
	return least;
}

/*
 * By RLIMIT_AS, which counts what is mapped, touched or not: two threads a processor have stacks to come, and a library
 * that compiles kernels at their first use maps room for them, and does not look whether it got it.
 */
static uint64_t
limit_left(void)
{
	uint64_t pages = read_number("/proc/self/statm", "%" SCNu64), room;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct rlimit r;

	if (getrlimit(RLIMIT_AS, &r) < 0 || r.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	room = 2 * STACK * (uint64_t)(processors > 0 ? processors : 1) + KERNELS;
	return less(r.rlim_cur, pages < UINT64_MAX ? pages * (uint64_t)sysconf(_SC_PAGESIZE) + room : UINT64_MAX);
}

void
mem_limit_heaps(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_AS, &r) == 0 && r.rlim_cur != RLIM_INFINITY)
		mallopt(M_ARENA_MAX, 1);
}

/* *who: who has no more. */
static uint64_t
available(const char **who)
{
	uint64_t kb = read_number("/proc/meminfo", "MemAvailable: %" SCNu64), least = kb < UINT64_MAX / 1024 ? kb * 1024 : UINT64_MAX;
	uint64_t group = mem_cgroup_left("/proc/self/cgroup", GROUPS), limit = limit_left();

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

	return available(&who);
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
	uint64_t left = available(&who);

	return bytes <= left ? 0 : err_fail(ERR_NOMEM, "takes %" PRIu64 " MB, and %s %" PRIu64 " MB left", bytes >> 20, who, left >> 20);
}
