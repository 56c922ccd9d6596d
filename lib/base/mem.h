/*
 * mem - how much memory this process can still take, so that what does not fit is refused before it is touched.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdint.h>

/*
 * Bytes that the machine has to give without swapping (MemAvailable of proc(5)), and no more than this process's
 * control group may hold (memory.max of cgroups(7), version 2; memory.limit_in_bytes, version 1).  UINT64_MAX where
 * nothing says.
 */
uint64_t mem_available(void);

/* Are so many bytes available?  Returns 0, or ERR_NOMEM with both numbers. */
int	 mem_fits(uint64_t bytes);

#endif
