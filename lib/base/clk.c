/* clk - the monotonic clock and the date. */
#include "base/clk.h"

#include <time.h>

#define LATE_S	1.0	/* a wait that ends so late is no accident */

static uint64_t
read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t
clk_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t
clk_wall_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

double
clk_s(void)
{
	return (double)clk_ns() * 1e-9;
}

bool
clk_stopped(double until)
{
	return clk_s() - until > LATE_S;
}
