/*
 * sys - the system calls of simulated processes: serves sim.
 *
 * The linker names each call __wrap_NAME, and the system's own __real_NAME.  Outside of processes, and for descriptors
 * below NET_FD, the system is called.  conn_next() is none, but the place where a trace sees all messages.
 */
#ifndef TESTS_LAW_SIM_SYS_H
#define TESTS_LAW_SIM_SYS_H

#include "wire/conn.h"

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

/* The list of calls, for each of which the Makefile has a --wrap: type, name, parameters. */
#define SIM_CALLS(X) \
	X(void *, malloc, (size_t n)) \
	X(void *, calloc, (size_t n, size_t size)) \
	X(void *, realloc, (void *p, size_t n)) \
	X(void, free, (void *p)) \
	X(char *, strdup, (const char *s)) \
	X(char *, strndup, (const char *s, size_t n)) \
	X(int, clock_gettime, (clockid_t clock, struct timespec *t)) \
	X(time_t, time, (time_t *t)) \
	X(int, poll, (struct pollfd *p, nfds_t n, int timeout_ms)) \
	X(int, socket, (int family, int type, int protocol)) \
	X(int, connect, (int fd, const struct sockaddr *to, socklen_t n)) \
	X(int, accept4, (int fd, struct sockaddr *from, socklen_t *n, int flags)) \
	X(int, bind, (int fd, const struct sockaddr *name, socklen_t n)) \
	X(int, listen, (int fd, int backlog)) \
	X(int, getsockname, (int fd, struct sockaddr *to, socklen_t *n)) \
	X(int, getpeername, (int fd, struct sockaddr *to, socklen_t *n)) \
	X(int, getsockopt, (int fd, int level, int option, void *v, socklen_t *n)) \
	X(int, setsockopt, (int fd, int level, int option, const void *v, socklen_t n)) \
	X(ssize_t, recv, (int fd, void *p, size_t n, int flags)) \
	X(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags)) \
	X(ssize_t, send, (int fd, const void *p, size_t n, int flags)) \
	X(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags)) \
	X(int, shutdown, (int fd, int how)) \
	X(int, eventfd, (unsigned count, int flags)) \
	X(int, epoll_create1, (int flags)) \
	X(int, epoll_ctl, (int epoll, int op, int fd, struct epoll_event *e)) \
	X(int, epoll_wait, (int epoll, struct epoll_event *e, int n, int timeout_ms)) \
	X(int, memfd_create, (const char *name, unsigned flags)) \
	X(int, posix_fallocate, (int fd, off_t from, off_t n)) \
	X(int, open, (const char *path, int flags, ...)) \
	X(int, fsync, (int fd)) \
	X(int, rename, (const char *from, const char *to)) \
	X(int, asprintf, (char **to, const char *fmt, ...)) \
	X(char *, realpath, (const char *path, char *to)) \
	X(void *, mmap, (void *at, size_t n, int access, int flags, int fd, off_t from)) \
	X(int, munmap, (void *p, size_t n)) \
	X(ssize_t, read, (int fd, void *p, size_t n)) \
	X(ssize_t, write, (int fd, const void *p, size_t n)) \
	X(int, close, (int fd)) \
	X(int, pthread_create, (pthread_t *t, const pthread_attr_t *a, void *(*main)(void *), void *arg)) \
	X(int, pthread_join, (pthread_t t, void **result)) \
	X(int, pthread_mutex_init, (pthread_mutex_t *m, const pthread_mutexattr_t *a)) \
	X(int, pthread_mutex_destroy, (pthread_mutex_t *m)) \
	X(int, pthread_mutex_lock, (pthread_mutex_t *m)) \
	X(int, pthread_mutex_unlock, (pthread_mutex_t *m)) \
	X(int, pthread_cond_init, (pthread_cond_t *c, const pthread_condattr_t *a)) \
	X(int, pthread_cond_destroy, (pthread_cond_t *c)) \
	X(int, pthread_cond_broadcast, (pthread_cond_t *c)) \
	X(int, pthread_cond_wait, (pthread_cond_t *c, pthread_mutex_t *m)) \
	X(int, pthread_cond_timedwait, (pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t)) \
	X(int, conn_next, (struct conn *c, struct msg *m))

/* How often processes of all worlds have asked for a date. */
uint64_t sys_dates(void);

#define SIM_DECLARE(type, name, parameters) \
	type __real_##name parameters; \
	type __wrap_##name parameters;
SIM_CALLS(SIM_DECLARE)
#undef SIM_DECLARE

#endif
