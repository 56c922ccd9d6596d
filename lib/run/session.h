/*
 * session - kills all processes of a session, whatever process groups they made.
 *
 * Each process of a job begins a session.  Shells with job control, timeout(1) and others make
 * process groups within it, which a signal to the first group does not reach.  The session's
 * processes are found by getsid(2) among all processes of /proc.  Processes that began another
 * session are not found; run/family.h finds those, below a process that called family_adopt.
 * Threads: no state.
 */
#ifndef RUN_SESSION_H
#define RUN_SESSION_H

#include <sys/types.h>

/* Sends SIGKILL to all processes of a session, also to those that they start meanwhile. */
void	 session_kill(pid_t session);

#endif
