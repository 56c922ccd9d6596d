/* sys - the system calls of simulated processes. */
#include "law/sim/sys.h"
#include "law/sim/sim.h"
#include "law/sim/disk.h"
#include "law/sim/heap.h"
#include "law/sim/local.h"
#include "law/sim/net.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Returns a call's result, or -1 with errno if it is negative. */
static int
set_errno(int r)
{
	if (r >= 0)
		return r;
	errno = -r;
	return -1;
}

void *
__wrap_malloc(size_t n)
{
	return heap_malloc(n);
}

void *
__wrap_calloc(size_t n, size_t size)
{
	return heap_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t n)
{
	return heap_realloc(p, n);
}

void
__wrap_free(void *p)
{
	heap_free(p);
}

char *
__wrap_strndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *p = heap_malloc(len + 1);

	if (p == NULL)
		return NULL;
	memcpy(p, s, len);
	p[len] = 0;
	return p;
}

char *
__wrap_strdup(const char *s)
{
	return __wrap_strndup(s, strlen(s));
}

static uint64_t dates;

uint64_t
sys_dates(void)
{
	return dates;
}

/* Any one, as somebody may set it. */
static uint64_t
draw_date(void)
{
	dates++;
	return rng_below(sim_chance(), SIM_S << 30);
}

int
__wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	uint64_t now = sim_now();

	if (!sim_inside())
		return __real_clock_gettime(clock, t);
	if (clock == CLOCK_REALTIME)
		now = draw_date();
	*t = (struct timespec){ (time_t)(now / SIM_S), (long)(now % SIM_S) };
	return 0;
}

time_t
__wrap_time(time_t *t)
{
	return sim_inside() ? (time_t)(draw_date() / SIM_S) : __real_time(t);
}

int
__wrap_poll(struct pollfd *p, nfds_t n, int timeout_ms)
{
	if (!sim_inside())
		return __real_poll(p, n, timeout_ms);
	return sim_poll(p, (unsigned)n, timeout_ms < 0 ? SIM_NEVER : sim_now() + (uint64_t)timeout_ms * SIM_MS);
}

int
__wrap_socket(int family, int type, int protocol)
{
	return sim_inside() ? set_errno(net_socket(family)) : __real_socket(family, type, protocol);
}

int
__wrap_connect(int fd, const struct sockaddr *to, socklen_t n)
{
	return net_has(fd) ? set_errno(net_connect(fd, to, n)) : __real_connect(fd, to, n);
}

int
__wrap_accept4(int fd, struct sockaddr *from, socklen_t *n, int flags)
{
	return net_has(fd) ? set_errno(net_accept(fd)) : __real_accept4(fd, from, n, flags);
}

int
__wrap_bind(int fd, const struct sockaddr *name, socklen_t n)
{
	return net_has(fd) ? set_errno(net_bind(fd, name, n)) : __real_bind(fd, name, n);
}

int
__wrap_listen(int fd, int backlog)
{
	return net_has(fd) ? set_errno(net_listen(fd)) : __real_listen(fd, backlog);
}

int
__wrap_getsockname(int fd, struct sockaddr *to, socklen_t *n)
{
	if (!net_has(fd))
		return __real_getsockname(fd, to, n);
	*n = sizeof(struct sockaddr_in);
	return set_errno(net_name(fd, (struct sockaddr_in *)to));
}

int
__wrap_getpeername(int fd, struct sockaddr *to, socklen_t *n)
{
	if (!net_has(fd))
		return __real_getpeername(fd, to, n);
	*n = sizeof(struct sockaddr_in);
	return set_errno(net_peer(fd, (struct sockaddr_in *)to));
}

int
__wrap_getsockopt(int fd, int level, int option, void *v, socklen_t *n)
{
	if (!net_has(fd))
		return __real_getsockopt(fd, level, option, v, n);
	memset(v, 0, *n);
	if (level == IPPROTO_TCP && option == TCP_INFO)
		net_tcp_info(fd, v);
	if (level == SOL_SOCKET && option == SO_PEERCRED)
		((struct ucred *)v)->uid = geteuid();
	return 0;
}

int
__wrap_setsockopt(int fd, int level, int option, const void *v, socklen_t n)
{
	return net_has(fd) ? set_errno(net_set_option(fd, level, option, *(const int *)v)) :
	    __real_setsockopt(fd, level, option, v, n);
}

ssize_t
__wrap_recv(int fd, void *p, size_t n, int flags)
{
	return net_has(fd) ? set_errno(net_receive(fd, p, n)) : __real_recv(fd, p, n, flags);
}

ssize_t
__wrap_sendmsg(int fd, const struct msghdr *m, int flags)
{
	return net_has(fd) ? set_errno(net_send(fd, m)) : __real_sendmsg(fd, m, flags);
}

ssize_t
__wrap_send(int fd, const void *p, size_t n, int flags)
{
	struct iovec v = { .iov_base = (void *)(uintptr_t)p, .iov_len = n };

	return net_has(fd) ? set_errno(net_send(fd, &(struct msghdr){ .msg_iov = &v, .msg_iovlen = 1 })) :
	    __real_send(fd, p, n, flags);
}

ssize_t
__wrap_recvmsg(int fd, struct msghdr *m, int flags)
{
	return net_has(fd) ? set_errno(net_receive_msg(fd, m)) : __real_recvmsg(fd, m, flags);
}

int
__wrap_epoll_create1(int flags)
{
	return sim_inside() ? set_errno(net_epoll()) : __real_epoll_create1(flags);
}

int
__wrap_epoll_ctl(int epoll, int op, int fd, struct epoll_event *e)
{
	return net_has(epoll) ? set_errno(net_watch(epoll, fd, e)) : __real_epoll_ctl(epoll, op, fd, e);
}

int
__wrap_epoll_wait(int epoll, struct epoll_event *e, int n, int timeout_ms)
{
	return net_has(epoll) ? set_errno(net_watched(epoll, e, n)) : __real_epoll_wait(epoll, e, n, timeout_ms);
}

/* The system's own descriptors and mappings of a process end with it. */
static int
own_descriptor(int fd)
{
	if (sim_inside())
		local_own(fd);
	return fd;
}

int
__wrap_memfd_create(const char *name, unsigned flags)
{
	return own_descriptor(__real_memfd_create(name, flags));
}

/* Pages that nobody writes need no time. */
int
__wrap_posix_fallocate(int fd, off_t from, off_t n)
{
	return sim_inside() ? ftruncate(fd, from + n) : __real_posix_fallocate(fd, from, n);
}

int
__wrap_open(const char *path, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = (flags & O_CREAT) != 0 ? va_arg(ap, int) : 0;
	va_end(ap);
	return own_descriptor(sim_inside() ? set_errno(disk_open(path, flags, mode)) : __real_open(path, flags, mode));
}

int
__wrap_fsync(int fd)
{
	return disk_has(fd) ? set_errno(disk_flush(fd)) : __real_fsync(fd);
}

int
__wrap_rename(const char *from, const char *to)
{
	return sim_inside() ? set_errno(disk_rename(from, to)) : __real_rename(from, to);
}

/* These give memory that free() takes. */
int
__wrap_asprintf(char **to, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || (*to = heap_malloc((size_t)n + 1)) == NULL)
		return -1;
	va_start(ap, fmt);
	vsnprintf(*to, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return n;
}

char *
__wrap_realpath(const char *path, char *to)
{
	char room[PATH_MAX], *got = __real_realpath(path, to != NULL ? to : room);

	return got == NULL || to != NULL ? got : __wrap_strdup(got);
}

void *
__wrap_mmap(void *at, size_t n, int access, int flags, int fd, off_t from)
{
	void *p = __real_mmap(at, n, access, flags, fd, from);

	if (sim_inside())
		local_map(fd, p, n);
	return p;
}

int
__wrap_munmap(void *p, size_t n)
{
	local_unmap(p);
	return __real_munmap(p, n);
}

int
__wrap_shutdown(int fd, int how)
{
	return net_has(fd) ? set_errno(net_shutdown(fd)) : __real_shutdown(fd, how);
}

int
__wrap_eventfd(unsigned count, int flags)
{
	return sim_inside() ? set_errno(net_event()) : __real_eventfd(count, flags);
}

ssize_t
__wrap_read(int fd, void *p, size_t n)
{
	return net_has(fd) ? set_errno(net_take_event(fd, p)) : __real_read(fd, p, n);
}

ssize_t
__wrap_write(int fd, const void *p, size_t n)
{
	return net_has(fd) ? set_errno(net_put_event(fd, p)) : disk_has(fd) ? set_errno(disk_write(fd, p, n)) :
	    __real_write(fd, p, n);
}

int
__wrap_close(int fd)
{
	int r = 0;

	if (net_has(fd))
		return set_errno(net_close(fd));
	if (disk_has(fd))
		r = disk_close(fd);
	if (sim_inside())
		local_disown(fd);
	return __real_close(fd) < 0 ? -1 : set_errno(r);
}

int
__wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*main)(void *), void *arg)
{
	if (!sim_inside())
		return __real_pthread_create(t, a, main, arg);
	*t = (pthread_t)sim_thread(main, arg);
	return 0;
}

int
__wrap_pthread_join(pthread_t t, void **result)
{
	if (!sim_inside())
		return __real_pthread_join(t, result);
	sim_join((unsigned)t);
	return 0;
}

int
__wrap_pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *a)
{
	if (!sim_inside())
		return __real_pthread_mutex_init(m, a);
	*(int *)m = 0;
	return 0;
}

int
__wrap_pthread_mutex_destroy(pthread_mutex_t *m)
{
	return sim_inside() ? 0 : __real_pthread_mutex_destroy(m);
}

int
__wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
	if (!sim_inside())
		return __real_pthread_mutex_lock(m);
	sim_lock((int *)m);
	return 0;
}

int
__wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
	if (!sim_inside())
		return __real_pthread_mutex_unlock(m);
	if (*(int *)m != 1)
		abort();
	*(int *)m = 0;
	return 0;
}

int
__wrap_pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *a)
{
	return sim_inside() ? 0 : __real_pthread_cond_init(c, a);
}

int
__wrap_pthread_cond_destroy(pthread_cond_t *c)
{
	return sim_inside() ? 0 : __real_pthread_cond_destroy(c);
}

int
__wrap_pthread_cond_broadcast(pthread_cond_t *c)
{
	if (!sim_inside())
		return __real_pthread_cond_broadcast(c);
	sim_wake(c);
	return 0;
}

int
__wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	if (!sim_inside())
		return __real_pthread_cond_wait(c, m);
	sim_sleep(c, (int *)m, SIM_NEVER);
	return 0;
}

int
__wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t)
{
	if (!sim_inside())
		return __real_pthread_cond_timedwait(c, m, t);
	return sim_sleep(c, (int *)m, (uint64_t)t->tv_sec * SIM_S + (uint64_t)t->tv_nsec) ? 0 : ETIMEDOUT;
}

int
__wrap_conn_next(struct conn *c, struct msg *m)
{
	int r = __real_conn_next(c, m);

	if (r > 0 && sim_traced())
		sim_log("takes %s of step %llu, slice %u, worker %u, flags %x, from %s", msg_name(m->type),
		    (unsigned long long)m->step, m->slice, m->worker, m->flags, conn_peer(c));
	return r;
}
