/* clk - the monotonic clock and the date. */
#ifndef BASE_CLK_H
#define BASE_CLK_H

#include <stdint.h>

/* Monotonic time since an unspecified start: setting the date does not change it. */
uint64_t clk_ns(void);
double	 clk_s(void);

/* Nanoseconds since 1970, UTC.  Setting the date changes it. */
uint64_t clk_wall_ns(void);

#endif
