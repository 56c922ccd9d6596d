/*
 * here - what an agent finds out about its own host: address, free port, processors.
 */
#ifndef RUN_HERE_H
#define RUN_HERE_H

#define HERE_ADDR	280	/* bytes of an address, "[v6]" or "name", its zero counted */

/*
 * The address at which other hosts reach this one, ready for ":port" behind it:
 * `addr` when given; else that of the interface; else the one the remote shell
 * came in by (SSH_CONNECTION, ssh(1)); else `name`, which is how the user calls
 * this host.  "" means not given.  Returns 0, ERR_ARG (no such interface, or it
 * has no address), ERR_LIMIT, ERR_SYS.
 */
int	 here_addr(const char *addr, const char *iface, const char *name, char text[HERE_ADDR]);

/*
 * A port that is free, held by a socket until *fd is closed.  A program that
 * cannot tell its port itself is started right after that.  Returns 0 or ERR_SYS.
 */
int	 here_port(int *fd, unsigned *port);

/* Processors this process may use; at least 1. */
unsigned here_processors(void);

#endif
