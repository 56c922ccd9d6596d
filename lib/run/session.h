/*
 * session - kills a session, whatever groups its processes made.
 *
 * A process of a job begins a session, in which shells that control jobs, timeout(1) and others make groups of their own: a
 * signal to the first group does not reach those.  It is looked for among all processes of /proc by
 * getsid(2); those that begin another session are not found, which run/family.h does below a process that asked for it.
 * Threads: no state.
 */
#ifndef RUN_SESSION_H
#define RUN_SESSION_H

#include <sys/types.h>

/* SIGKILL for the group of its leader, and for all others of the session, those that they start meanwhile too. */
void	 session_kill(pid_t session);

#endif
