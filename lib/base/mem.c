/* mem - how much memory this process can still take. */
#include "base/mem.h"
#include "base/err.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

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

/* The limit of the group that a line of /proc/self/cgroup names: number:controllers:path. */
static uint64_t
limit_of(char *line)
{
	char *kind = strchr(line, ':'), *path = kind != NULL ? strchr(kind + 1, ':') : NULL, file[PATH_MAX];

	if (path == NULL)
		return UINT64_MAX;
	path[strcspn(path, "\n")] = 0;
	*path++ = 0;
	if (strcmp(kind, ":") == 0)
		snprintf(file, sizeof(file), "/sys/fs/cgroup%s/memory.max", path);
	else if (strcmp(kind, ":memory") == 0)
		snprintf(file, sizeof(file), "/sys/fs/cgroup/memory%s/memory.limit_in_bytes", path);
	else
		return UINT64_MAX;
	return read_number(file, "%" SCNu64);	/* "max" is no number */
}

uint64_t
mem_available(void)
{
	uint64_t least = read_number("/proc/meminfo", "MemAvailable: %" SCNu64), limit;
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX];

	least = least < UINT64_MAX / 1024 ? least * 1024 : UINT64_MAX;
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if ((limit = limit_of(line)) < least)
			least = limit;
	if (f != NULL)
		fclose(f);
	return least;
}

int
mem_fits(uint64_t bytes)
{
	uint64_t left = mem_available();

	return bytes <= left ? 0 : err_fail(ERR_NOMEM, "takes %" PRIu64 " MB, and this machine has %" PRIu64 " MB left",
	    bytes >> 20, left >> 20);
}
