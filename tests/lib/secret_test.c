/* secret_test - memory for a key: locked where that is allowed, left out of core dumps, and zeros at first. */
#include "tap.h"

#include "base/secret.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Copies the flags of the mapping at p, " rd wr ... ", of this process. */
static void
read_flags(const void *p, char flags[200])
{
	FILE *f = fopen("/proc/self/smaps", "r");
	char line[512];
	uintmax_t from, to;
	bool found = false;

	snprintf(flags, 200, "none");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%jx-%jx ", &from, &to) == 2)
			found = from <= (uintptr_t)p && (uintptr_t)p < to;
		else if (found && sscanf(line, "VmFlags:%199[^\n]", flags) == 1)
			break;
	if (f != NULL)
		fclose(f);
}

static bool
may_lock(void)
{
	static char page[4096];
	char flags[200];

	/* A sanitizer's mlock() does nothing and returns 0. */
	if (mlock(page, sizeof(page)) < 0)
		return false;
	read_flags(page, flags);
	munlock(page, sizeof(page));
	return strstr(flags, " lo") != NULL;
}

int
main(void)
{
	static const uint8_t zeros[65];
	char flags[200];
	bool may = may_lock();
	void *p;
	int how = 1;

	is(secret_new(sizeof(zeros), &p), 0, "a secret is allocated");
	ok(memcmp(p, zeros, sizeof(zeros)) == 0, "a secret is zeros at first");
	read_flags(p, flags);
	ok(strstr(flags, " dd") != NULL, "a secret is left out of core dumps:%s", flags);
	ok(!may || strstr(flags, " lo") != NULL, "a secret is locked where that is allowed:%s", flags);
	if (fork() == 0) {
		secret_keep(p, sizeof(zeros));
		read_flags(p, flags);
		_exit(strstr(flags, " dd") != NULL && (!may || strstr(flags, " lo") != NULL) ? 0 : 2);
	}
	wait(&how);
	is(how, 0, "a secret is locked again in a child, and left out of its core dumps");
	secret_free(p, sizeof(zeros));
	secret_free(NULL, 1);
	return done();
}
