/*
 * attach - the socket at which launchers find the agent of a detached job again.
 *
 * lib/run/attach is this module alone, which launcher and agent share.  The socket is a unix socket in Linux's abstract
 * name space (unix(7)), "tally/NAME".  It leaves no file, and disappears with the agent however the agent ends.  Both
 * sides check that the peer has their own user id (SO_PEERCRED): another user can neither connect nor stand in for an
 * agent that has ended.
 *
 * Threads: no state.
 */
#ifndef RUN_ATTACH_ATTACH_H
#define RUN_ATTACH_ATTACH_H

#include <sys/types.h>

#define ATTACH_NAME	80u	/* bytes of a name with its zero */
#define ATTACH_STOP_S	10.0	/* limit for another agent of the same name to end */
#define ATTACH_CONNECT_S	10	/* limit for an agent to accept, when its backlog is full */

/*
 * Listens under a name.  An agent that already has it belongs to an attempt that its launcher gave
 * up: it gets SIGTERM, and this function waits until it has ended.  Returns 0, ERR_ARG (not a valid
 * name), ERR_AGAIN (the other agent does not end or accept), ERR_AUTH (another user's) or ERR_SYS.
 */
int	 attach_listen(const char *name, int *fd);
/* As attach_listen, but asks nobody to end: waits for a name that is about to be free. */
int	 attach_hold(const char *name, int *fd);
/* Accepts a connection without waiting.  Returns 0, ERR_AGAIN (none), ERR_AUTH (another user's) or ERR_SYS. */
int	 attach_accept(int listener, int *fd);
/*
 * Connects to an agent, whose process id is then *pid.  Returns 0, ERR_ARG (not a valid name), ERR_PEER
 * (no such agent), ERR_AGAIN (its backlog is full), ERR_AUTH (another user's) or ERR_SYS.
 */
int	 attach_connect(const char *name, int *fd, pid_t *pid);
/*
 * Copies bytes from `in` to fd and from fd to `out`, until the end of fd.  The end of `in` shuts fd
 * down for writing.  Returns 0, ERR_PEER or ERR_SYS.
 */
int	 attach_relay(int in, int out, int fd);

#endif
