/*
 * here - what a process finds out about its own host: address, free port, the space of process ids.
 */
#ifndef RUN_HERE_H
#define RUN_HERE_H

#include <stddef.h>

#define HERE_ADDR	280	/* bytes of an address, "[v6]" or "name", with its zero */

/*
 * Finds the address at which other hosts reach this one, to which ":port" can be appended.  It is
 * the first of these that is given: `addr`; the address of interface `iface`; the address that the
 * remote shell connected to (SSH_CONNECTION, ssh(1)); `name`, by which the user calls this host.
 * "" means not given.  Returns 0, ERR_ARG (no such interface, or it has no address), ERR_LIMIT or
 * ERR_SYS.
 */
int	 here_addr(const char *addr, const char *iface, const char *name, char text[HERE_ADDR]);

/*
 * Finds a free port and binds *fd to it.  The caller closes *fd just before it starts a program
 * that cannot choose its port itself.  Returns 0 or ERR_SYS.
 */
int	 here_port(int *fd, unsigned *port);

/*
 * Where a process id means this process: the boot of a machine, "/", and a name space of process ids
 * (pid_namespaces(7)).  What cannot be read is "".
 */
void	 here_pid_space(char *text, size_t size);

#endif
