/* clk - time since some fixed moment, which no change of the date touches. */
#include "base/clk.h"

#include <time.h>

static uint64_t
now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t
clk_ns(void)
{
	return now(CLOCK_MONOTONIC);
}

uint64_t
clk_wall_ns(void)
{
	return now(CLOCK_REALTIME);
}

double
clk_s(void)
{
	return (double)clk_ns() * 1e-9;
}
