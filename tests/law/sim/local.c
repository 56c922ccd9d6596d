/* local - sockets between processes of one machine, and memory that they share. */
#include "law/sim/local.h"
#include "law/sim/sim.h"
#include "law/sim/sys.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SOCKETS	256
#define BACKLOG	16u
#define CHUNKS	64u
#define BYTES	64u	/* of a message */
#define THINGS	1024

struct local {
	bool		 used, listens, closed;	/* closed: the peer is */
	int		 err;
	struct sockaddr_un name;
	socklen_t	 len;
	struct local	*peer;
	struct local	*backlog[BACKLOG];
	unsigned	 nbacklog;
	struct { unsigned char p[BYTES]; size_t n; int fd; } chunk[CHUNKS];	/* what was sent to it */
	unsigned	 nchunk;
};

/* A descriptor, or a mapping. */
struct thing {
	bool		 used;
	unsigned	 proc;
	int		 fd;
	void		*p;
	size_t		 n;
};

static struct local all[SOCKETS];
static struct thing things[THINGS];
static unsigned nthings;

struct local *
local_new(void)
{
	struct local *l = all;

	while (l < all + SOCKETS && l->used)
		l++;
	assert(l < all + SOCKETS);
	memset(l, 0, offsetof(struct local, chunk));
	l->used = true;
	l->nchunk = 0;
	return l;
}

void
local_close(struct local *l)
{
	sim_changed_anywhere();
	for (unsigned i = 0; i < l->nbacklog; i++)
		local_close(l->backlog[i]);
	for (unsigned i = 0; i < l->nchunk; i++)
		if (l->chunk[i].fd >= 0)
			__real_close(l->chunk[i].fd);
	if (l->peer != NULL) {
		l->peer->closed = true;
		l->peer->err = l->nchunk > 0 ? ECONNRESET : 0;
		l->peer->peer = NULL;
	}
	l->used = false;
}

int
local_bind(struct local *l, const struct sockaddr_un *name, socklen_t n)
{
	memcpy(&l->name, name, n);
	l->len = n;
	return 0;
}

void
local_listen(struct local *l)
{
	l->listens = true;
}

int
local_connect(struct local *l, const struct sockaddr_un *name, socklen_t n)
{
	sim_changed_anywhere();
	for (struct local *to = all; to < all + SOCKETS; to++) {
		if (!to->used || !to->listens || to->len != n || memcmp(&to->name, name, n) != 0)
			continue;
		if (to->nbacklog == BACKLOG)
			return -EAGAIN;
		l->peer = local_new();
		l->peer->peer = l;
		to->backlog[to->nbacklog++] = l->peer;
		return 0;
	}
	return -ECONNREFUSED;
}

struct local *
local_accept(struct local *l)
{
	struct local *first = l->backlog[0];

	sim_changed_anywhere();
	if (l->nbacklog == 0)
		return NULL;
	memmove(l->backlog, l->backlog + 1, --l->nbacklog * sizeof(l->backlog[0]));
	return first;
}

int
local_send(struct local *l, const struct msghdr *m)
{
	const struct cmsghdr *c = m->msg_controllen > 0 ? CMSG_FIRSTHDR(m) : NULL;
	struct local *to = l->peer;
	int fd;

	sim_changed_anywhere();
	if (to == NULL)
		return -EPIPE;
	if (to->nchunk == CHUNKS)
		return -EAGAIN;
	assert(m->msg_iovlen == 1 && m->msg_iov->iov_len <= BYTES);
	memcpy(to->chunk[to->nchunk].p, m->msg_iov->iov_base, m->msg_iov->iov_len);
	to->chunk[to->nchunk].n = m->msg_iov->iov_len;
	to->chunk[to->nchunk].fd = -1;
	if (c != NULL) {
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
		to->chunk[to->nchunk].fd = dup(fd);
	}
	to->nchunk++;
	return (int)m->msg_iov->iov_len;
}

/* As the system does, reads on until there is a descriptor. */
int
local_receive(struct local *l, struct msghdr *m)
{
	size_t got = 0;
	unsigned i = 0;
	int fd = -1;

	sim_changed_anywhere();
	m->msg_flags = 0;
	if (l->nchunk == 0) {
		m->msg_controllen = 0;
		return l->err != 0 ? -l->err : l->closed ? 0 : -EAGAIN;
	}
	while (i < l->nchunk && fd < 0 && got + l->chunk[i].n <= m->msg_iov->iov_len) {
		memcpy((char *)m->msg_iov->iov_base + got, l->chunk[i].p, l->chunk[i].n);
		got += l->chunk[i].n;
		fd = l->chunk[i++].fd;
	}
	assert(i > 0);
	memmove(l->chunk, l->chunk + i, (l->nchunk -= i) * sizeof(l->chunk[0]));
	if (fd >= 0) {
		struct cmsghdr *c = m->msg_control;

		c->cmsg_len = CMSG_LEN(sizeof(fd));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
		local_own(fd);
	} else {
		m->msg_controllen = 0;
	}
	return (int)got;
}

short
local_ready(const struct local *l, short events)
{
	short r = 0;

	if (l->nchunk > 0 || l->nbacklog > 0 || l->closed)
		r |= POLLIN;
	if (l->closed)
		r |= POLLHUP;
	if (l->closed || (l->peer != NULL && l->peer->nchunk < CHUNKS))
		r |= POLLOUT;
	return r & (events | POLLHUP);
}

static struct thing *
add_thing(void)
{
	struct thing *t = things;

	while (t < things + nthings && t->used)
		t++;
	assert(t < things + THINGS);
	if (t == things + nthings)
		nthings++;
	*t = (struct thing){ .used = true, .proc = (unsigned)sim_proc(), .fd = -1 };
	return t;
}

static struct thing *
find_descriptor(int fd)
{
	for (struct thing *t = things; t < things + nthings; t++)
		if (t->used && t->fd == fd && t->proc == (unsigned)sim_proc())
			return t;
	return NULL;
}

void
local_own(int fd)
{
	if (fd >= 0)
		add_thing()->fd = fd;
}

void
local_disown(int fd)
{
	struct thing *t = find_descriptor(fd);

	if (t != NULL)
		t->used = false;
}

void
local_map(int fd, void *p, size_t n)
{
	struct thing *t;

	/* The memory that outlives the process is not its own. */
	if (fd < 0 || p == MAP_FAILED || find_descriptor(fd) == NULL)
		return;
	sim_log("maps %zu bytes", n);
	t = add_thing();
	t->p = p;
	t->n = n;
}

void
local_unmap(const void *p)
{
	for (struct thing *t = things; t < things + nthings; t++)
		if (t->used && t->p == p)
			t->used = false;
}

void
local_free_all(unsigned proc)
{
	for (struct thing *t = things; t < things + nthings; t++) {
		if (!t->used || t->proc != proc)
			continue;
		t->used = false;
		if (t->p != NULL)
			__real_munmap(t->p, t->n);
		else
			__real_close(t->fd);
	}
}

unsigned
local_count(unsigned proc)
{
	unsigned n = 0;

	for (const struct thing *t = things; t < things + nthings; t++)
		n += t->used && t->proc == proc;
	return n;
}
