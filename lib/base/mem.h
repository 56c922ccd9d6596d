/*
 * mem - how much memory this process can still use, so that what does not fit is refused before it is touched.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdint.h>

/*
 * Bytes that this process can still use: the least of what the machine can give without swapping (MemAvailable of
 * proc(5)), what its control groups leave (mem_cgroup_left) and what its RLIMIT_AS leaves.  The last keeps a reserve
 * for stacks and compiled kernels.  UINT64_MAX if the system does not say.
 */
uint64_t mem_available(void);

/*
 * Bytes that control groups leave: for each group and its ancestors, the limit less the anonymous and shared memory of
 * its processes (memory.stat).  The limit is memory.max in version 2 of cgroups(7), memory.limit_in_bytes in version 1.
 * groups has the form of /proc/self/cgroup, root that of /sys/fs/cgroup.
 */
uint64_t mem_cgroup_left(const char *groups, const char *root);

/*
 * If RLIMIT_AS is set, makes all threads share one malloc(3) heap, because glibc would map 64 MB for each.  Call it
 * before the first thread starts.
 */
void	 mem_limit_heaps(void);

/* Bytes of this process's resident memory, shared pages included; 0 if the system does not say. */
uint64_t mem_resident(void);

/* Returns 0 if so many bytes are available, or ERR_NOMEM with both numbers and the limit that is too small. */
int	 mem_fits(uint64_t bytes);

#endif
