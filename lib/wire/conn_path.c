/* conn_path - how a connection's messages move, if not over its socket: serves conn. */
#include "wire/conn_in.h"

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE "TALLY_TRANSPORT"

/* The Makefile says whether the build has it. */
const struct ucx_calls *
conn_ucx(void)
{
	return HAS_UCX ? &ucx_calls : NULL;
}

int
conn_transport(const uint8_t *key, enum conn_transport *t)
{
	static const char *const names[] = { [CONN_AUTO] = "auto", [CONN_TCP] = "tcp", [CONN_UCX] = "ucx" };
	const char *named = getenv(VARIABLE);

	*t = CONN_AUTO;
	if (named == NULL || *named == 0)
		return 0;
	while (*t <= CONN_UCX && strcmp(named, names[*t]) != 0)
		++*t;
	if (*t > CONN_UCX)
		return err_fail(ERR_ARG, "%s=%s: neither auto, tcp nor ucx", VARIABLE, named);
	if (*t == CONN_UCX && key != NULL)
		return err_fail(ERR_ARG, "%s=ucx: UCX encrypts nothing: give --plain, or leave the variable out",
		    VARIABLE);
	if (*t == CONN_UCX && conn_ucx() == NULL)
		return err_fail(ERR_NOTSUP, "this build is without UCX: install libucx-dev, and build again");
	return *t == CONN_UCX ? conn_ucx()->load() : 0;
}

/* An accepting end is in this state already. */
static void
hold_messages(struct conn *c, bool ucx)
{
	c->wants_ucx = ucx;
	c->path_state = CONN_PATH_MAY;
	c->held = true;
}

void
conn_use_shm(struct conn *c, size_t ring)
{
	c->shm_ring = ring;
	hold_messages(c, false);
}

void
conn_use_ucx(struct conn *c)
{
	hold_messages(c, true);
}

int
conn_path_tell(struct conn *c, enum msg_type type, bool yes, const void *payload, size_t len)
{
	const struct msg m = { .type = type, .flags = yes ? 0 : MSG_EMPTY, .len = (uint32_t)len };
	uint8_t head[MSG_HEAD];

	ERR_TRY(queue_room(&c->control, MSG_HEAD + len));
	msg_head(&m, head);
	queue_put(&c->control, head, MSG_HEAD);
	queue_put(&c->control, payload, len);
	return 0;
}

void
conn_path_decline(struct conn *c)
{
	conn_shm_close_listener(c);
	shm_free(c->shm_next);
	if (c->ucx_next != NULL)
		conn_ucx()->close(c->ucx_next);
	c->shm_next = NULL;
	c->ucx_next = NULL;
	c->path_state = CONN_PATH_NONE;
	c->held = false;
}

void
conn_path_free(struct conn *c)
{
	conn_path_decline(c);
	shm_free(c->shm);
	if (c->ucx != NULL)
		conn_ucx()->close(c->ucx);
}

bool
conn_path_agreed(const struct conn *c)
{
	return c->shm_next != NULL || (c->ucx_next != NULL && conn_ucx()->connected(c->ucx_next));
}

void
conn_path_begin(struct conn *c)
{
	c->shm = c->shm_next;
	c->ucx = c->ucx_next;
	c->shm_next = NULL;
	c->ucx_next = NULL;
	c->path_state = CONN_PATH_NONE;
	c->held = false;
}

int
conn_path_offer(struct conn *c)
{
	int e = c->wants_ucx ? conn_ucx_offer(c) : conn_shm_offer(c);

	if (e < 0)
		conn_path_decline(c);
	else
		c->path_state = CONN_PATH_OFFERED;
	return e == ERR_NOMEM ? e : 0;
}

/* Whatever fails here, the socket still works.  A refusal takes its turn after what was queued before. */
static int
handle_offer(struct conn *c, const struct msg *m)
{
	if (c->held && (m->type == MSG_UCX) == c->wants_ucx &&
	    (c->wants_ucx ? conn_ucx_take_offer(c, m) : conn_shm_take_offer(c, m)) == 0) {
		c->path_state = CONN_PATH_ACCEPTED;
		return 0;
	}
	conn_path_decline(c);
	return conn_send(c, &(struct msg){ .type = m->type, .flags = MSG_EMPTY });
}

/* The path is used once the peer can know that, see write_queued() of conn.c. */
static int
handle_answer(struct conn *c, const struct msg *m)
{
	bool yes = (m->flags & MSG_EMPTY) == 0;

	if (!yes) {
		conn_path_decline(c);
		/* Who asks for UCX has a reason, and would take long to see that it is not used. */
		return c->wants_ucx ? err_fail(ERR_NOTSUP, "does not use UCX: set " VARIABLE "=ucx there too") : 0;
	}
	yes = (c->wants_ucx ? conn_ucx_take_answer(c, m) : conn_shm_take_answer(c)) == 0;
	if (!yes)
		conn_path_decline(c);
	return conn_path_tell(c, m->type, yes, NULL, 0);
}

int
conn_path_handle(struct conn *c, const struct msg *m)
{
	bool ucx = m->type == MSG_UCX, no = (m->flags & MSG_EMPTY) != 0;

	if (c->path_state == CONN_PATH_MAY && c->server && (ucx ? m->len > 0 : m->len == SHM_OFFER))
		return handle_offer(c, m);
	if (ucx != c->wants_ucx)
		return err_fail(ERR_FORMAT, "%s out of place", msg_name(m->type));
	if (c->path_state == CONN_PATH_OFFERED && !conn_path_agreed(c) && (m->len > 0) == (ucx && !no))
		return handle_answer(c, m);
	if (c->path_state != CONN_PATH_ACCEPTED || m->len != 0)
		return err_fail(ERR_FORMAT, "%s out of place", msg_name(m->type));
	if (no)
		conn_path_decline(c);
	else
		conn_path_begin(c);
	return 0;
}

bool
conn_path_used(const struct conn *c)
{
	return c->shm != NULL || c->ucx != NULL;
}

int
conn_path_fd(const struct conn *c)
{
	return c->shm != NULL ? shm_fd(c->shm) : conn_ucx()->fd(c->ucx);
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
		return err_fail(ERR_FORMAT, "sent bytes on the socket beside the other path");
	return c->shm != NULL && shm_closed(c->shm) ?
	    err_fail(ERR_PEER, "the connection broke: it has closed the shared memory") : 0;
}

void
conn_path_drop(struct conn *c)
{
	if (c->ucx != NULL)
		conn_ucx()->end(c->ucx);
	queue_free(&c->out);
}

void
conn_path_look(struct conn *c)
{
	bool signalled;
	int e;

	if (c->shm != NULL) {
		shm_look(c->shm);
		signalled = shm_signalled(c->shm) || shm_closed(c->shm);
	} else {
		conn_ucx()->look(c->ucx);
		signalled = conn_ucx()->signalled(c->ucx);
	}
	if (c->ended != 0 || !signalled || (e = check_peer(c)) == 0)
		return;
	/* The path may still have what the peer wrote before, which comes first.  Nobody reads what this end writes. */
	c->ended = e;
	snprintf(c->why, sizeof(c->why), "%s", err_line());
	/* UCX receives no more once it sends no more: there the queue stays until all has been read. */
	if (c->ucx == NULL)
		conn_path_drop(c);
}

void
conn_path_allow(struct conn *c, size_t bytes)
{
	if (c->shm != NULL)
		shm_allow(c->shm, bytes);
	else
		conn_ucx()->allow(c->ucx, bytes);
}

int
conn_path_read(struct conn *c, void *p, size_t n, size_t least, bool stays, size_t *got)
{
	int e, why;

	if (c->shm != NULL)
		return shm_read(c->shm, p, n, least, got);
	if ((e = conn_ucx()->read(c->ucx, p, n, stays, got)) != ERR_PEER)
		return e;
	/* The library may see the peer's end first, and the socket knows what it was. */
	return (why = check_peer(c)) < 0 ? why : e;
}

bool
conn_path_empty(const struct conn *c)
{
	return c->shm != NULL ? shm_empty(c->shm) : conn_ucx()->empty(c->ucx);
}

int
conn_path_send(struct conn *c)
{
	if (c->ended != 0)
		return 0;
	return c->shm != NULL ? shm_send(c->shm, &c->out) : conn_ucx()->send(c->ucx, &c->out);
}

void
conn_path_want(struct conn *c, bool at_once)
{
	if (c->shm != NULL)
		shm_want(c->shm, at_once);
	else
		conn_ucx()->want(c->ucx, at_once);
}

void
conn_path_byte_counts(const struct conn *c, uint64_t *received, uint64_t *sent)
{
	if (c->shm != NULL)
		shm_byte_counts(c->shm, received, sent);
	else if (c->ucx != NULL)
		conn_ucx()->byte_counts(c->ucx, received, sent);
}
