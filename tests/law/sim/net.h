/*
 * net - the descriptors of simulated processes: sockets, listeners, events and epoll: serves sim.
 *
 * Calls return a result, or a negative errno.
 */
#ifndef TESTS_LAW_SIM_NET_H
#define TESTS_LAW_SIM_NET_H

#include "law/sim/wire.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#define NET_FD	1000	/* the first descriptor */

/* For sim_reserve(). */
void	 net_reserve(unsigned procs, unsigned wires);
void	 net_begin(void);
/* For a process: a descriptor of the listener of its host. */
int	 net_listener(void);
unsigned net_count(unsigned proc);	/* descriptors that a process has */
void	 net_close_all(unsigned proc);
/* The events of POLLIN, POLLOUT and so on that a descriptor has, as poll(2) reports them; none below 0. */
short	 net_ready(int fd, short events);

/* For sys.c. */
bool	 net_has(int fd);
int	 net_socket(int family);
int	 net_bind(int fd, const struct sockaddr *name, socklen_t n);
int	 net_listen(int fd);
int	 net_connect(int fd, const struct sockaddr *to, socklen_t n);
int	 net_name(int fd, struct sockaddr_in *here);
int	 net_accept(int fd);
int	 net_peer(int fd, struct sockaddr_in *peer);
int	 net_tcp_info(int fd, struct tcp_info *t);
int	 net_set_option(int fd, int level, int option, int v);
int	 net_receive(int fd, void *p, size_t n);
int	 net_send(int fd, const struct msghdr *m);
int	 net_receive_msg(int fd, struct msghdr *m);
int	 net_shutdown(int fd);
int	 net_close(int fd);
int	 net_epoll(void);
int	 net_watch(int epoll, int fd, const struct epoll_event *e);
int	 net_watched(int epoll, struct epoll_event *e, int n);
int	 net_event(void);
int	 net_take_event(int fd, uint64_t *count);
int	 net_put_event(int fd, const uint64_t *count);

#endif
