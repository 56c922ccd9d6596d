/* confine - limits a forked process that runs a library on hostile bytes. */
#include "base/confine.h"
#include "base/err.h"
#include "base/io.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Lowers a limit; never raises one. */
static void
lower_limit(int what, rlim_t soft, rlim_t hard)
{
	struct rlimit now;

	if (getrlimit(what, &now) < 0)
		return;
	hard = now.rlim_max < hard ? now.rlim_max : hard;
	setrlimit(what, &(struct rlimit){ soft < hard ? soft : hard, hard });
}

/* Bytes of memory that this process has mapped, or 0. */
static uint64_t
count_mapped_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages;
	int n = f != NULL ? fscanf(f, "%lu", &pages) : 0;

	if (f != NULL)
		fclose(f);
	return n == 1 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

void
confine_process(int a, int b, uint64_t memory)
{
	static const int from_outside[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	unsigned low = (unsigned)(a < b ? a : b), high = (unsigned)(a < b ? b : a);
	uint64_t now = count_mapped_bytes();
	sigset_t blocked;

	sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(from_outside) / sizeof(*from_outside); i++)
		sigaddset(&blocked, from_outside[i]);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	if (low > 0)
		io_close_range(0, low - 1);
	if (high > low + 1)
		io_close_range(low + 1, high - 1);
	io_close_range(high + 1, UINT_MAX);
	lower_limit(RLIMIT_CORE, 0, 0);
	lower_limit(RLIMIT_FSIZE, 0, 0);
	lower_limit(RLIMIT_NOFILE, 0, 0);
	if (now > 0) {
		lower_limit(RLIMIT_AS, now + memory, now + memory);
		err_own_memory_limit();
	}
}

void
confine_cpu(unsigned seconds)
{
	struct rusage used;

	if (getrusage(RUSAGE_SELF, &used) == 0)
		lower_limit(RLIMIT_CPU, (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + seconds,
		    RLIM_INFINITY);
}
