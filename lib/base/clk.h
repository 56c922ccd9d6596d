/* clk - the monotonic clock and the date. */
#ifndef BASE_CLK_H
#define BASE_CLK_H

#include <stdbool.h>
#include <stdint.h>

/* Monotonic time since an unspecified start: setting the date does not change it. */
uint64_t clk_ns(void);
double	 clk_s(void);

/*
 * Whether a wait until this time ended so late that this process did not run meanwhile: it was stopped, or its host was
 * too busy.  Others may have done all that was expected of them by then, unnoticed.
 */
bool	 clk_stopped(double until);

/* Nanoseconds since 1970, UTC.  Setting the date changes it. */
uint64_t clk_wall_ns(void);

#endif
