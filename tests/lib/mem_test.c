/* mem_test - is what is said to be left about what the machine has? */
#include "tap.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void
put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	ok(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0, "%s", path);
}

/* A tree as the kernel's: the least of what a group and those above it leave counts. */
static void
groups(void)
{
	char folder[] = "/tmp/mem_test.XXXXXX";

	ok(mkdtemp(folder) != NULL && chdir(folder) == 0 && mkdir("a", 0700) == 0 && mkdir("a/b", 0700) == 0 &&
	    mkdir("memory", 0700) == 0, "folders");
	put("v2", "1:cpu:/a\n0::/a/b\n");
	put("v1", "4:memory:/gone/away\n");
	put("a/memory.max", "1000\n");
	put("a/memory.stat", "file 900\nanon 100\n");
	put("a/b/memory.max", "max\n");
	put("memory/memory.limit_in_bytes", "500\n");
	put("memory/memory.stat", "rss 1\ntotal_rss 600\n");
	is(mem_cgroup_left("v2", "."), 900, "the group above has the limit, and files make room");
	is(mem_cgroup_left("v1", "."), 0, "a group whose folder is not mounted here is that of the top");
	put("a/b/memory.max", "300\n");
	is(mem_cgroup_left("v2", "."), 300, "the least of both");
	ok(mem_cgroup_left("none", ".") == UINT64_MAX, "no groups, no limit");
	for (const char *const *p = (const char *const[]){ "a/b/memory.max", "a/memory.max", "a/memory.stat", "memory/memory.stat",
	    "memory/memory.limit_in_bytes", "v1", "v2", "a/b", "a", "memory", NULL }; *p != NULL; p++)
		remove(*p);
	ok(chdir("/") == 0 && rmdir(folder) == 0, "removed");
}

/* What is mapped counts, though nothing touched it. */
static void
limits(void)
{
	struct rlimit r = { 0 };
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long long pages = 0;

	ok(f != NULL && fscanf(f, "%llu", &pages) == 1 && fclose(f) == 0, "what is mapped is known");
	getrlimit(RLIMIT_AS, &r);
	r.rlim_cur = (uint64_t)1 << 32;
	/* Who watches over memory maps more than there is. */
	if (pages > 1u << 18 || mem_available() <= r.rlim_cur || setrlimit(RLIMIT_AS, &r) < 0) {
		skip("RLIMIT_AS", "this machine has less, or this process maps more");
		return;
	}
	ok(mem_available() < r.rlim_cur, "%llu MB of 4096", (unsigned long long)mem_available() >> 20);
	is(mem_fits((uint64_t)1 << 32), ERR_NOMEM, "%s", err_line());
	ok(strstr(err_line(), "ulimit -v") != NULL, "... says whose limit it is");
	ok(mem_available() + pages * (uint64_t)sysconf(_SC_PAGESIZE) + (64 << 20) < r.rlim_cur,
	    "... and keeps room for what libraries map without looking");
}

int
main(void)
{
	uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE), left = mem_available();

	if (left == UINT64_MAX) {
		skip("memory", "nothing here says how much is left");
		return done();
	}
	ok(left > 0 && left <= machine, "%llu MB of %llu", (unsigned long long)left >> 20, (unsigned long long)machine >> 20);
	is(mem_fits(left / 2), 0, "half of it fits");
	is(mem_fits(machine + (1u << 30)), ERR_NOMEM, "more than the machine has: %s", err_line());
	ok(mem_resident() > 0 && mem_resident() < machine, "%llu MB are taken", (unsigned long long)mem_resident() >> 20);
	groups();
	limits();
	return done();
}
