/*
 * pidstat - what /proc shows of a process of this host.
 *
 * Threads: no state.
 */
#ifndef RUN_PIDSTAT_H
#define RUN_PIDSTAT_H

#include <stdbool.h>
#include <sys/types.h>

struct pidstat {
	pid_t	parent;
	bool	stopped;	/* by a signal, or by a debugger */
};

/* Returns false if there is no such process, or /proc does not show it. */
bool	 pidstat_read(pid_t pid, struct pidstat *p);

#endif
