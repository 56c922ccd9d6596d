/* mem_test - available memory by the machine, by control groups and by RLIMIT_AS. */
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

	ok(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0, "%s is written", path);
}

/* A tree of control groups: the least of what a group and its ancestors leave counts. */
static void
test_cgroups(void)
{
	char folder[] = "/tmp/mem_test.XXXXXX";

	ok(mkdtemp(folder) != NULL && chdir(folder) == 0 && mkdir("a", 0700) == 0 && mkdir("a/b", 0700) == 0 &&
	    mkdir("memory", 0700) == 0, "folders are made");
	put("v2", "1:cpu:/a\n0::/a/b\n");
	put("v1", "4:memory:/gone/away\n");
	put("a/memory.max", "1000\n");
	put("a/memory.stat", "file 900\nanon 100\nanon_thp 1\nshmem 50\nshmem_thp 1\n");
	put("a/b/memory.max", "max\n");
	put("memory/memory.limit_in_bytes", "500\n");
	put("memory/memory.stat", "rss 1\ntotal_rss 600\n");
	is(mem_cgroup_left("v2", "."), 850, "an ancestor's limit counts, and shared memory, but no cached files");
	is(mem_cgroup_left("v1", "."), 0,
	    "a group whose folder is not mounted counts as the root group");
	put("memory/memory.stat", "shmem 9\nrss 1\ntotal_rss 100\ntotal_shmem 150\n");
	is(mem_cgroup_left("v1", "."), 250, "the first version's groups count their shared memory too");
	put("a/b/memory.max", "300\n");
	is(mem_cgroup_left("v2", "."), 300, "the smaller of two limits counts");
	ok(mem_cgroup_left("none", ".") == UINT64_MAX, "without groups there is no limit");
	for (const char *const *p = (const char *const[]){ "a/b/memory.max", "a/memory.max", "a/memory.stat", "memory/memory.stat",
	    "memory/memory.limit_in_bytes", "v1", "v2", "a/b", "a", "memory", NULL }; *p != NULL; p++)
		remove(*p);
	ok(chdir("/") == 0 && rmdir(folder) == 0, "the folders are removed");
}

/* RLIMIT_AS counts mapped memory, touched or not. */
static void
test_address_space(void)
{
	struct rlimit r = { 0 }, kept = { 0 };
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long long pages = 0;

	ok(f != NULL && fscanf(f, "%llu", &pages) == 1 && fclose(f) == 0,
	    "/proc/self/statm gives the mapped pages");
	getrlimit(RLIMIT_AS, &r);
	r.rlim_cur = (uint64_t)1 << 32;
	/* Sanitizers map more memory than the machine has. */
	if (pages > 1u << 18 || mem_available() <= r.rlim_cur || setrlimit(RLIMIT_AS, &r) < 0 ||
	    getrlimit(RLIMIT_AS, &kept) < 0 || kept.rlim_cur != r.rlim_cur) {
		skip("RLIMIT_AS", "this machine has less memory, this process maps more, or an emulator sets no limit");
		return;
	}
	ok(mem_available() < r.rlim_cur,
	    "RLIMIT_AS bounds mem_available: %llu MB of 4096", (unsigned long long)mem_available() >> 20);
	is(mem_fits((uint64_t)1 << 32), ERR_NOMEM,
	    "mem_fits refuses more than RLIMIT_AS: %s", err_line());
	ok(strstr(err_line(), "ulimit -v") != NULL, "the error names the limit");
	ok(mem_available() + pages * (uint64_t)sysconf(_SC_PAGESIZE) + (64 << 20) < r.rlim_cur,
	    "mem_available keeps a reserve for what libraries map");
}

int
main(void)
{
	uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE), left = mem_available();

	if (left == UINT64_MAX) {
		skip("memory", "the system does not say how much memory is left");
		return done();
	}
	ok(left > 0 && left <= machine,
	    "mem_available is at most the machine's memory: %llu MB of %llu", (unsigned long long)left >> 20,
	    (unsigned long long)machine >> 20);
	is(mem_fits(left / 2), 0, "mem_fits accepts half of what is available");
	is(mem_fits(machine + (1u << 30)), ERR_NOMEM,
	    "mem_fits refuses more than the machine has: %s", err_line());
	ok(mem_resident() > 0 && mem_resident() < machine,
	    "mem_resident gives %llu MB", (unsigned long long)mem_resident() >> 20);
	test_cgroups();
	test_address_space();
	return done();
}
