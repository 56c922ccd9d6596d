/* load - processor load of this process and of its host. */
#include "watch/load.h"

#include "base/clk.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

static double
convert_timeval(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

/* user, nice, system, idle, iowait, irq, softirq, steal; user includes guests. */
static void
read_host_load(struct load *l)
{
	uint64_t v[8];
	FILE *f = fopen("/proc/stat", "re");
	int n;

	if (f == NULL)
		return;
	n = fscanf(f,
	    "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
	    &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]);
	fclose(f);
	if (n != 8)
		return;
	l->busy = v[0] + v[1] + v[2] + v[5] + v[6] + v[7];
	l->all = l->busy + v[3] + v[4];
}

struct load
load_now(void)
{
	struct load l = { .at = clk_s() };
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u) == 0)
		l.cpu_s = convert_timeval(&u.ru_utime) + convert_timeval(&u.ru_stime);
	read_host_load(&l);
	return l;
}

double
load_process(const struct load *a, const struct load *b)
{
	return b->at > a->at && b->cpu_s > a->cpu_s ? (b->cpu_s - a->cpu_s) / (b->at - a->at) : 0;
}

double
load_host(const struct load *a, const struct load *b)
{
	if (a->all == 0 || b->all <= a->all || b->busy < a->busy)
		return -1;
	return (double)(b->busy - a->busy) / (double)(b->all - a->all);
}
