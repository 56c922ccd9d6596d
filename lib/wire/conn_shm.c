/* conn_shm - agrees with a peer on the same host to use shared memory: serves conn. */
#include "wire/conn_in.h"

#include "base/err.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define VARIABLE "TALLY_TRANSPORT"

int
conn_transport(bool *tcp)
{
	const char *named = getenv(VARIABLE);

	*tcp = named != NULL && strcmp(named, "tcp") == 0;
	if (named == NULL || *named == 0 || *tcp || strcmp(named, "auto") == 0)
		return 0;
	return err_fail(ERR_ARG, "%s=%s: neither auto nor tcp", VARIABLE, named);
}

void
conn_use_shm(struct conn *c, size_t ring)
{
	c->shm_ring = ring;
	c->shm_state = CONN_SHM_MAY;	/* an accepting end is in this state already */
	c->held = true;
}

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

static int
send_control(struct conn *c, bool yes, const void *payload, uint32_t len)
{
	const struct msg m = { .type = MSG_SHM, .flags = yes ? 0 : MSG_EMPTY, .len = len };
	uint8_t head[MSG_HEAD];

	ERR_TRY(queue_room(&c->control, MSG_HEAD + len));
	msg_head(&m, head);
	queue_put(&c->control, head, MSG_HEAD);
	queue_put(&c->control, payload, len);
	return 0;
}

static void
close_listener(struct conn *c)
{
	if (c->shm_listener >= 0)
		close(c->shm_listener);
	c->shm_listener = -1;
}

void
conn_shm_decline(struct conn *c)
{
	close_listener(c);
	shm_free(c->shm_next);
	c->shm_next = NULL;
	c->shm_state = CONN_SHM_NONE;
	c->held = false;
}

void
conn_shm_begin(struct conn *c)
{
	c->shm = c->shm_next;
	c->shm_next = NULL;
	c->shm_state = CONN_SHM_NONE;
	c->held = false;
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

/* The socket says whether the peer lives. */
static int
check_peer(struct conn *c)
{
	uint8_t byte;
	size_t got = 0;

	conn_socket_allow(c, CONN_BURST);
	ERR_TRY(conn_socket_read(c, &byte, 1, &got));
	if (got > 0)
		return err_fail(ERR_FORMAT, "sent bytes on the socket beside the shared memory");
	return shm_closed(c->shm) ? err_fail(ERR_PEER, "the connection broke: it left the shared memory") : 0;
}

void
conn_shm_look(struct conn *c)
{
	int e;

	shm_look(c->shm);
	if (c->ended != 0 || (!shm_signalled(c->shm) && !shm_closed(c->shm)) || (e = check_peer(c)) == 0)
		return;
	/* The ring may still have what the peer wrote before, which comes first.  Nobody reads what this end writes. */
	c->ended = e;
	snprintf(c->why, sizeof(c->why), "%s", err_line());
	queue_free(&c->out);
}

int
conn_shm_offer(struct conn *c)
{
	if (!has_own_address(c->fd) || shm_listen(c->shm_offer, &c->shm_listener) < 0) {
		conn_shm_decline(c);
		return 0;
	}
	c->shm_state = CONN_SHM_OFFERED;
	return send_control(c, true, c->shm_offer, SHM_OFFER);
}

/* Whatever fails here, the socket still works.  A refusal takes its turn after what was queued before. */
static int
handle_offer(struct conn *c, const struct msg *m)
{
	if (c->held && shm_call(m->payload, c->shm_ring, &c->shm_next) == 0 && shm_watch(c->shm_next, c->fd) == 0) {
		c->shm_state = CONN_SHM_ACCEPTED;
		return send_control(c, true, NULL, 0);
	}
	conn_shm_decline(c);
	return conn_send(c, &(struct msg){ .type = MSG_SHM, .flags = MSG_EMPTY });
}

/* The memory is used once the peer can know that, see write_queued() of conn.c. */
static int
take_memory(struct conn *c, const struct msg *m)
{
	bool yes;

	if ((m->flags & MSG_EMPTY) != 0) {
		conn_shm_decline(c);
		return 0;
	}
	yes = shm_answer(c->shm_listener, c->shm_offer, &c->shm_next) == 0 && shm_watch(c->shm_next, c->fd) == 0;
	if (!yes)
		conn_shm_decline(c);
	close_listener(c);
	return send_control(c, yes, NULL, 0);
}

int
conn_shm_handle(struct conn *c, const struct msg *m)
{
	if (c->shm_state == CONN_SHM_MAY && c->server && m->len == SHM_OFFER)
		return handle_offer(c, m);
	if (c->shm_state == CONN_SHM_OFFERED && c->shm_next == NULL && m->len == 0)
		return take_memory(c, m);
	if (c->shm_state != CONN_SHM_ACCEPTED || m->len != 0)
		return err_fail(ERR_FORMAT, "%s out of place", msg_name(m->type));
	if ((m->flags & MSG_EMPTY) != 0)
		conn_shm_decline(c);
	else
		conn_shm_begin(c);
	return 0;
}
