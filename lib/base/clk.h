/* clk - time since some fixed moment, which no change of the date touches. */
#ifndef BASE_CLK_H
#define BASE_CLK_H

#include <stdint.h>

uint64_t clk_ns(void);
double	 clk_s(void);

/* The date instead, since 1970: what tells a process from one that started earlier, unless the date is set back. */
uint64_t clk_wall_ns(void);

#endif
