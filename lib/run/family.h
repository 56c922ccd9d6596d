/*
 * family - signals all that descends from this process, whatever groups and sessions it made.
 *
 * With PR_SET_CHILD_SUBREAPER (prctl(2)) a process whose parent has ended becomes the child of the nearest ancestor that asked
 * for it, so that no descendant gets away by a new group, a new session or a second fork.
 * Descendants are found by the parents that /proc tells.
 * Threads: no state; the caller has one thread, and waits for no other child of it meanwhile.
 */
#ifndef RUN_FAMILY_H
#define RUN_FAMILY_H

#include <stddef.h>
#include <sys/types.h>

#define FAMILY_KILL_S	2.0	/* then what cannot be killed is left: of another user, or within a driver */

/* What loses its parent below this process becomes its child from now on. */
void	 family_begin(void);
/* Sends a signal to all groups of the descendants, once to each. */
void	 family_signal(int signo);
/* Kills all descendants, and waits for those of them that are children, until none is left; but for the n children in spare and
 * what is below them. */
void	 family_kill(const pid_t *spare, size_t n);

#endif
