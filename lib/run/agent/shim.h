/*
 * shim - the process between an agent and a process of its job, that ends what that one started.
 *
 * It is started by the agent, starts the command and takes over what this leaves behind (run/family.h).  When the command has
 * ended it kills the rest, and ends with the command's status; after a signal that asks the family to end it waits for the rest,
 * too.  When the agent is gone, prctl(2) tells it to kill all; when it is killed itself, prctl(2) kills the command, and
 * the rest is the agent's, which must be the head of a family.  Where both are killed at once the command ends, and what it
 * started is left.
 * It leads a session and holds no descriptor, so that what kills the agent's session does not reach it, and
 * nobody's pipe is held open by it.
 */
#ifndef RUN_AGENT_SHIM_H
#define RUN_AGENT_SHIM_H

#include <sys/types.h>

/* In a process that was just forked, of one thread and with no child: before the command is forked.  Ends it when parent is gone. */
void	 shim_begin(pid_t parent);
/* Then: stays until the command's process and all that it started have ended, and never returns. */
_Noreturn void shim_stay(pid_t command);
/* In the agent: a signal for all that a warden keeps; for SIGKILL it kills them until none is left. */
void	 shim_signal(pid_t warden, int signo);

#endif
