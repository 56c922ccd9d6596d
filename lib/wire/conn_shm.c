/* conn_shm - shared memory with a peer on the same host: serves conn. */
#include "wire/conn_in.h"

#include "base/err.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* A host reaches its own addresses from the same one.  A relay can also have it, so that this alone proves nothing. */
static bool
has_own_address(int fd)
{
	union { struct sockaddr any; struct sockaddr_in v4; struct sockaddr_in6 v6; } here = { 0 }, there = { 0 };
	socklen_t n = sizeof(here), m = sizeof(there);

	if (getsockname(fd, &here.any, &n) < 0 || getpeername(fd, &there.any, &m) < 0 ||
	    here.any.sa_family != there.any.sa_family)
		return false;
	if (here.any.sa_family == AF_INET)
		return here.v4.sin_addr.s_addr == there.v4.sin_addr.s_addr;
	return here.any.sa_family == AF_INET6 && IN6_ARE_ADDR_EQUAL(&here.v6.sin6_addr, &there.v6.sin6_addr);
}

void
conn_shm_close_listener(struct conn *c)
{
	if (c->shm_listener >= 0)
		close(c->shm_listener);
	c->shm_listener = -1;
}

void
conn_lend(struct conn *c, const struct loan *l)
{
	c->lends = *l;
}

void
conn_borrow(struct conn *c, size_t most)
{
	c->borrows = most;
}

bool
conn_shm_lends(struct conn *c, const struct msg *m)
{
	if (c->shm == NULL || c->lends.fd < 0 || !m->lasting || (m->type != MSG_PUSH && m->type != MSG_WEIGHTS) ||
	    !loan_has(&c->lends, m->payload, m->len))
		return false;
	if (!c->lent)
		c->lent = shm_lend(c->shm, c->lends.fd) == 0;
	return c->lent;
}

int
conn_shm_borrow(struct conn *c, struct msg *m, const uint8_t *p)
{
	m->lasting = true;
	return shm_borrowed(c->shm, c->borrows, le_get64(p), m->len, &m->payload);
}

int
conn_shm_offer(struct conn *c)
{
	if (!has_own_address(c->fd))
		return ERR_NOTSUP;
	ERR_TRY(shm_listen(c->shm_offer, &c->shm_listener));
	return conn_path_tell(c, MSG_SHM, true, c->shm_offer, SHM_OFFER);
}

int
conn_shm_take_offer(struct conn *c, const struct msg *m)
{
	ERR_TRY(shm_call(m->payload, c->shm_ring, &c->shm_next));
	ERR_TRY(shm_watch(c->shm_next, c->fd));
	return conn_path_tell(c, MSG_SHM, true, NULL, 0);
}

int
conn_shm_take_answer(struct conn *c)
{
	int e = shm_answer(c->shm_listener, c->shm_offer, &c->shm_next);

	conn_shm_close_listener(c);
	return e == 0 ? shm_watch(c->shm_next, c->fd) : e;
}
