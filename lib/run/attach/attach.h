/*
 * attach - where the agent of a detached job is found again on its host: a socket that only its own user gets through.
 *
 * A unix socket with a name in Linux's abstract space (unix(7)), "tally/NAME": it has no file that could be left behind or
 * cleaned away, and is gone with the agent however that ends.  Who comes in and who is found must be of this
 * process's user (SO_PEERCRED): a stranger gets nothing, and cannot stand in for an agent that has ended.
 *
 * Threads: no state.
 */
#ifndef RUN_ATTACH_ATTACH_H
#define RUN_ATTACH_ATTACH_H

#define ATTACH_NAME	80u	/* bytes of a name, its zero counted */
#define ATTACH_EVICT_S	10.0	/* that another agent of this name may take to end */
#define ATTACH_ENTER_S	10	/* that an agent may take to let somebody in, when others stand before its door */

/*
 * The door of a name.  An agent that has it is of an attempt that its launcher gave up: it is sent SIGTERM, and
 * waited for.  *fd: the socket.  Returns 0, ERR_ARG (no name), ERR_AGAIN (it does not end, or let us in),
 * ERR_AUTH (it is another user's) or ERR_SYS.
 */
int	 attach_open(const char *name, int *fd);
/*
 * Accepts the next connection, without waiting.  *fd: both ways.  Returns 0, ERR_AGAIN (nobody), ERR_AUTH (a stranger, who was sent
 * away) or ERR_SYS.
 */
int	 attach_accept(int door, int *fd);
/* Goes in.  Returns 0, ERR_ARG (no name), ERR_PEER (nobody has this door), ERR_AGAIN (too many stand before it), ERR_AUTH (another
 * user has it) or ERR_SYS. */
int	 attach_enter(const char *name, int *fd);
/* Moves bytes from in to fd and from fd to out, up to the end of fd; the end of in is handed on.  Returns 0, or ERR_PEER or ERR_SYS. */
int	 attach_pass(int in, int out, int fd);

#endif
