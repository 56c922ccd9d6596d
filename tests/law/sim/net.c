/* net - the descriptors of simulated processes: sockets, listeners and events. */
#include "law/sim/net.h"
#include "law/sim/sim.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FDS	256

enum kind { FREE, SOCKET, LISTENER, EVENT };

struct descriptor {
	enum kind	 kind;
	unsigned	 proc;
	struct wire	*wire;		/* of a socket, once it connects */
	unsigned	 side;
	uint64_t	 count;		/* of an event */
};

static struct descriptor all[FDS];

void
net_begin(void)
{
	memset(all, 0, sizeof(all));
}

static int
new_descriptor(enum kind kind)
{
	for (int i = 0; i < FDS; i++)
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
	return fd >= NET_FD && fd < NET_FD + FDS && sim_inside();
}

unsigned
net_count(unsigned proc)
{
	unsigned n = 0;

	for (unsigned i = 0; i < FDS; i++)
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

short
net_ready(int fd, short events)
{
	const struct descriptor *d;

	if (fd < 0)
		return 0;
	assert(fd >= NET_FD && fd < NET_FD + FDS);
	d = &all[fd - NET_FD];
	switch (d->kind) {
	case SOCKET:	return d->wire != NULL ? wire_ready(d->wire, d->side, events) : POLLHUP;
	case LISTENER:	return wire_waiting(sim_host(d->proc)) != NULL ? events & POLLIN : 0;
	case EVENT:	return d->count > 0 ? events & POLLIN : 0;
	case FREE:	break;
	}
	abort();
}

int
net_socket(void)
{
	return new_descriptor(SOCKET);
}

int
net_connect(int fd, const struct sockaddr_in *to)
{
	struct descriptor *d = find_descriptor(fd);

	d->wire = wire_connect(sim_host(d->proc), ntohl(to->sin_addr.s_addr) & 0xff);
	d->side = 0;
	return -EINPROGRESS;
}

int
net_accept(int fd)
{
	struct wire *w = wire_waiting(sim_host(find_descriptor(fd)->proc));
	int new;

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
	const struct descriptor *d = find_socket(fd);

	if (d != NULL)
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
net_send(int fd, const struct iovec *v, size_t n)
{
	const struct descriptor *d = find_socket(fd);

	return d != NULL ? wire_send(d->wire, d->side, v, n) : -ENOTCONN;
}

int
net_shutdown(int fd)
{
	const struct descriptor *d = find_socket(fd);

	return d != NULL ? wire_shutdown(d->wire, d->side) : -ENOTCONN;
}

static void
close_descriptor(struct descriptor *d)
{
	if (d->wire != NULL)
		wire_close(d->wire, d->side);
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
	for (unsigned i = 0; i < FDS; i++)
		if (all[i].kind != FREE && all[i].proc == proc)
			close_descriptor(&all[i]);
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
	return sizeof(*count);
}
