/*
 * local - sockets between processes of one machine (AF_UNIX), and memory that they share: serves sim.
 *
 * Sockets deliver at once.  Memory is the system's own, memfd_create() and mmap(); what a process has of it ends with
 * the process.  Calls return a result, or a negative errno.
 */
#ifndef TESTS_LAW_SIM_LOCAL_H
#define TESTS_LAW_SIM_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

struct local;

struct local *local_new(void);
void	 local_close(struct local *l);
int	 local_bind(struct local *l, const struct sockaddr_un *name, socklen_t n);
void	 local_listen(struct local *l);
int	 local_connect(struct local *l, const struct sockaddr_un *name, socklen_t n);
struct local *local_accept(struct local *l);	/* NULL: none waits */
int	 local_send(struct local *l, const struct msghdr *m);
int	 local_receive(struct local *l, struct msghdr *m);
short	 local_ready(const struct local *l, short events);

/* A descriptor of the system that the running process has from now on, or has no more. */
void	 local_own(int fd);
void	 local_disown(int fd);
/* The running process has mapped n bytes of a descriptor, or unmaps them. */
void	 local_map(int fd, void *p, size_t n);
void	 local_unmap(const void *p);
/* Ends what a process has, and counts it. */
void	 local_free_all(unsigned proc);
unsigned local_count(unsigned proc);

#endif
