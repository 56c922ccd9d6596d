/* clk - time since some fixed moment, which no change of the date touches. */
#include "base/clk.h"

#include <time.h>

uint64_t
clk_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double
clk_s(void)
{
	return (double)clk_ns() * 1e-9;
}
