/* net - the descriptors of simulated processes: sockets, listeners and events. */
#include "law/sim/net.h"
#include "law/sim/local.h"
#include "law/sim/sim.h"
#include "law/sim/sys.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WATCHED	4
#define OWN	8u	/* most descriptors of a process besides its connections */

enum kind { FREE, SOCKET, LOCAL, LISTENER, EVENT, EPOLL };

struct descriptor {
	enum kind	 kind;
	unsigned	 proc;
	struct wire	*wire;		/* of a socket, once it connects */
	unsigned	 side, syns;	/* its end; times that the system repeats an attempt to connect */
	struct local	*local;
	uint64_t	 count;		/* of an event */
	struct { int fd; struct epoll_event e; } watch[WATCHED];	/* of epoll */
	unsigned	 nwatch;
};

static struct descriptor *all;
static int nall;

void
net_reserve(unsigned procs, unsigned wires)
{
	nall = (int)(OWN * procs + 2 * wires);
	if ((all = __real_calloc((size_t)nall, sizeof(*all))) == NULL)
		abort();
}

void
net_begin(void)
{
	memset(all, 0, (size_t)nall * sizeof(*all));
}

static int
new_descriptor(enum kind kind)
{
	for (int i = 0; i < nall; i++)
		if (all[i].kind == FREE) {
			all[i] = (struct descriptor){ .kind = kind, .proc = (unsigned)sim_proc() };
			return NET_FD + i;
		}
	return -EMFILE;
}

static struct descriptor *
find_descriptor(int fd)
{
	assert(net_has(fd) && all[fd - NET_FD].kind != FREE);
	assert(all[fd - NET_FD].proc == (unsigned)sim_proc());
	return &all[fd - NET_FD];
}

bool
net_has(int fd)
{
	return fd >= NET_FD && fd < NET_FD + nall && sim_inside();
}

unsigned
net_count(unsigned proc)
{
	unsigned n = 0;

	for (int i = 0; i < nall; i++)
		n += all[i].kind != FREE && all[i].proc == proc;
	return n;
}

int
net_listener(void)
{
	return new_descriptor(LISTENER);
}

static struct descriptor *
find_socket(int fd)
{
	struct descriptor *d = find_descriptor(fd);

	return d->wire != NULL ? d : NULL;
}

static bool
is_watched_ready(const struct descriptor *d)
{
	for (unsigned i = 0; i < d->nwatch; i++)
		if (net_ready(d->watch[i].fd, (short)d->watch[i].e.events) != 0)
			return true;
	return false;
}

short
net_ready(int fd, short events)
{
	const struct descriptor *d;

	if (fd < 0)
		return 0;
	assert(fd >= NET_FD && fd < NET_FD + nall);
	d = &all[fd - NET_FD];
	switch (d->kind) {
	case SOCKET:	return d->wire != NULL ? wire_ready(d->wire, d->side, events) : POLLHUP;
	case LISTENER:	return wire_waiting(sim_host(d->proc)) != NULL ? events & POLLIN : 0;
	case LOCAL:	return local_ready(d->local, events);
	case EPOLL:	return is_watched_ready(d) ? events & POLLIN : 0;
	case EVENT:	return d->count > 0 ? events & POLLIN : 0;
	case FREE:	break;
	}
	abort();
}

int
net_socket(int family)
{
	int fd = new_descriptor(family == AF_UNIX ? LOCAL : SOCKET);

	if (fd >= 0 && family == AF_UNIX)
		all[fd - NET_FD].local = local_new();
	else if (fd >= 0)
		all[fd - NET_FD].syns = WIRE_SYNS;
	return fd;
}

int
net_bind(int fd, const struct sockaddr *name, socklen_t n)
{
	return local_bind(find_descriptor(fd)->local, (const struct sockaddr_un *)name, n);
}

int
net_listen(int fd)
{
	local_listen(find_descriptor(fd)->local);
	return 0;
}

int
net_connect(int fd, const struct sockaddr *to, socklen_t n)
{
	struct descriptor *d = find_descriptor(fd);

	if (d->kind == LOCAL)
		return local_connect(d->local, (const struct sockaddr_un *)to, n);
	d->wire = wire_connect(sim_host(d->proc), (const struct sockaddr_in *)to, d->syns);
	d->side = 0;
	return -EINPROGRESS;
}

int
net_name(int fd, struct sockaddr_in *here)
{
	const struct descriptor *d = find_socket(fd);

	return d != NULL ? wire_peer(d->wire, !d->side, here) : -ENOTCONN;
}

static int
accept_local(struct local *listener)
{
	struct local *l = local_accept(listener);
	int fd;

	if (l == NULL)
		return -EAGAIN;
	if ((fd = new_descriptor(LOCAL)) >= 0)
		all[fd - NET_FD].local = l;
	else
		local_close(l);
	return fd;
}

int
net_accept(int fd)
{
	const struct descriptor *d = find_descriptor(fd);
	struct wire *w;
	int new;

	if (d->kind == LOCAL)
		return accept_local(d->local);
	w = wire_waiting(sim_host(d->proc));
	if (w == NULL)
		return -EAGAIN;
	if ((new = new_descriptor(SOCKET)) < 0)
		return new;
	all[new - NET_FD].wire = w;
	all[new - NET_FD].side = 1;
	wire_accept(w);
	return new;
}

int
net_peer(int fd, struct sockaddr_in *peer)
{
	const struct descriptor *d = find_socket(fd);

	return d != NULL ? wire_peer(d->wire, d->side, peer) : -ENOTCONN;
}

int
net_tcp_info(int fd, struct tcp_info *t)
{
	const struct descriptor *d = find_socket(fd);

	if (d != NULL)
		wire_tcp_info(d->wire, d->side, t);
	return 0;
}

int
net_set_option(int fd, int level, int option, int v)
{
	struct descriptor *d = find_descriptor(fd);

	if (level == IPPROTO_TCP && option == TCP_SYNCNT)
		d->syns = (unsigned)v;
	if (d->wire != NULL)
		wire_set_option(d->wire, d->side, level, option, v);
	return 0;
}

int
net_receive(int fd, void *p, size_t n)
{
	const struct descriptor *d = find_socket(fd);

	return d != NULL ? wire_receive(d->wire, d->side, p, n) : -ENOTCONN;
}

int
net_send(int fd, const struct msghdr *m)
{
	const struct descriptor *d = find_descriptor(fd);

	if (d->kind == LOCAL)
		return local_send(d->local, m);
	return d->wire != NULL ? wire_send(d->wire, d->side, m->msg_iov, m->msg_iovlen) : -ENOTCONN;
}

int
net_receive_msg(int fd, struct msghdr *m)
{
	return local_receive(find_descriptor(fd)->local, m);
}

int
net_shutdown(int fd)
{
	const struct descriptor *d = find_socket(fd);

	return d != NULL ? wire_shutdown(d->wire, d->side) : -ENOTCONN;
}

static void
forget_watched(const struct descriptor *d, int fd)
{
	for (struct descriptor *e = all; e < all + nall; e++)
		for (unsigned i = 0; e->kind == EPOLL && e->proc == d->proc && i < e->nwatch; i++)
			if (e->watch[i].fd == fd)
				e->watch[i--] = e->watch[--e->nwatch];
}

static void
close_descriptor(struct descriptor *d)
{
	if (d->wire != NULL)
		wire_close(d->wire, d->side);
	if (d->local != NULL)
		local_close(d->local);
	forget_watched(d, NET_FD + (int)(d - all));
	d->kind = FREE;
}

int
net_close(int fd)
{
	close_descriptor(find_descriptor(fd));
	return 0;
}

void
net_close_all(unsigned proc)
{
	for (int i = 0; i < nall; i++)
		if (all[i].kind != FREE && all[i].proc == proc)
			close_descriptor(&all[i]);
}

int
net_epoll(void)
{
	return new_descriptor(EPOLL);
}

/* Adds a descriptor, or changes what is watched of it. */
int
net_watch(int epoll, int fd, const struct epoll_event *e)
{
	struct descriptor *d = find_descriptor(epoll);
	unsigned i = 0;

	while (i < d->nwatch && d->watch[i].fd != fd)
		i++;
	assert(i < WATCHED);
	d->nwatch = i < d->nwatch ? d->nwatch : i + 1;
	d->watch[i].fd = fd;
	d->watch[i].e = *e;
	return 0;
}

int
net_watched(int epoll, struct epoll_event *e, int n)
{
	const struct descriptor *d = find_descriptor(epoll);
	int ready = 0;

	for (unsigned i = 0; i < d->nwatch && ready < n; i++) {
		short events = net_ready(d->watch[i].fd, (short)d->watch[i].e.events);

		if (events == 0)
			continue;
		e[ready] = d->watch[i].e;
		e[ready++].events = (uint32_t)events;
	}
	return ready;
}

int
net_event(void)
{
	return new_descriptor(EVENT);
}

int
net_take_event(int fd, uint64_t *count)
{
	struct descriptor *d = find_descriptor(fd);

	if (d->count == 0)
		return -EAGAIN;
	*count = d->count;
	d->count = 0;
	return sizeof(*count);
}

int
net_put_event(int fd, const uint64_t *count)
{
	find_descriptor(fd)->count += *count;
	sim_changed(sim_host((unsigned)sim_proc()));
	return sizeof(*count);
}
