/*
 * mem - how much memory this process can still take, so that what does not fit is refused before it is touched.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdint.h>

/*
 * Bytes that the machine has to give without swapping (MemAvailable of proc(5)), and no more than the control groups of
 * this process (mem_cgroup_left) and its RLIMIT_AS leave, the latter with room kept for stacks and compiled kernels.
 * UINT64_MAX where nothing says.
 */
uint64_t mem_available(void);

/*
 * What control groups leave: the limit of each and of those above it (memory.max of cgroups(7), version 2;
 * memory.limit_in_bytes, version 1), but for what their processes have of their own (memory.stat).  groups has the form of
 * /proc/self/cgroup, root that of /sys/fs/cgroup.
 */
uint64_t mem_cgroup_left(const char *groups, const char *root);

/* Under an RLIMIT_AS all threads share one heap from now on: glibc would map 64 MB for each.  Before there are threads. */
void	 mem_limit_heaps(void);

/* Bytes of memory that this process has now, what it shares with others counted; 0 where nothing says. */
uint64_t mem_resident(void);

/* Are so many bytes available?  Returns 0, or ERR_NOMEM with both numbers, and who has no more. */
int	 mem_fits(uint64_t bytes);

#endif
