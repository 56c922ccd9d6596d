/*
 * family - signals all descendants of this process, whatever process groups and sessions they made.
 *
 * After family_adopt an orphaned descendant becomes a child of this process
 * (PR_SET_CHILD_SUBREAPER, prctl(2)), so that none escapes by a new group, a new session or a
 * second fork.  Descendants are found by their parents in /proc.
 * Threads: no state.  The caller has one thread, and meanwhile waits for no other child.
 */
#ifndef RUN_FAMILY_H
#define RUN_FAMILY_H

#include <stddef.h>
#include <sys/types.h>

#define FAMILY_KILL_S	2.0	/* family_kill leaves processes that survive SIGKILL for so long */

/* Makes this process the parent of all its orphaned descendants from now on. */
void	 family_adopt(void);
/* Sends a signal once to each process group of the descendants. */
void	 family_signal(int signo);
/*
 * Kills all descendants and reaps those that are children, until none is left.  The n children in
 * `spare` and their descendants are left alone.
 */
void	 family_kill(const pid_t *spare, size_t n);

#endif
