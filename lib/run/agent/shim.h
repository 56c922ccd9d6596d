/*
 * shim - the parent of one process of a job, which ends all that the process started.
 *
 * The agent starts the shim.  The shim starts the command, and adopts the processes that the command
 * leaves behind (run/family.h).  When the command has ended, the shim kills the rest and ends with
 * the command's status.  After SIGTERM it first waits for the rest.
 *
 * If the agent ends, prctl(2) signals the shim, which then kills all.  If the shim is killed,
 * prctl(2) kills the command and the agent kills the rest, for which it must have called
 * family_adopt.  If both are killed at once, the command ends but what it started is left.
 *
 * The shim leads a session of its own, so that a signal to the agent's session does not reach it.
 * It holds no descriptor, and so keeps no pipe open.
 */
#ifndef RUN_AGENT_SHIM_H
#define RUN_AGENT_SHIM_H

#include <sys/types.h>

/*
 * Call it in a process that was just forked, has one thread and no child, before it forks the
 * command.  Ends the process if its parent is gone.
 */
void	 shim_begin(pid_t parent);
/* Supervises the command until it and all that it started have ended. */
_Noreturn void shim_supervise(pid_t command);
/* In the agent: signals all processes below a shim.  SIGKILL is repeated until none is left. */
void	 shim_signal(pid_t shim, int signo);

#endif
