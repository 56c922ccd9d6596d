/*
 * confine - limits a forked process that runs a library on hostile bytes.
 */
#ifndef BASE_CONFINE_H
#define BASE_CONFINE_H

#include <stdint.h>

/*
 * Closes all descriptors but two (a and b may be the same) and forbids to open files and to write any.  The process may
 * map at most `memory` bytes more than now.  Blocks signals that may end the parent: the end of the parent's
 * descriptor, or a limit of time, then ends this process.  All other signals end it at once.
 */
void	 confine_process(int a, int b, uint64_t memory);
/* Allows that many seconds of processor time from now on.  The signal after that is SIGXCPU. */
void	 confine_cpu(unsigned seconds);

#endif
