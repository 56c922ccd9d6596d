/* conn - a connection between two processes of a job: authenticated, encrypted, framed and bounded. */
#include "wire/conn.h"
#include "base/buf.h"
#include "base/clk.h"
#include "base/err.h"
#include "wire/addr.h"
#include "wire/queue.h"
#include "wire/tls.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BURST		(1u << 20)	/* most bytes each way in one conn_run(), so that no peer delays the others */
#define READ_LEAST	16384u		/* least room for a read: a full TLS record */

_Static_assert(CONN_KEY == TLS_KEY, "one key");

struct conn {
	int		 fd;
	struct tls	*tls;
	bool		 open;
	char		 peer[ADDR_TEXT];
	double		 since;
	struct queue	 out;
	struct buf	 in;
	size_t		 at;		/* offset in `in` of the next message for the caller */
	size_t		 whole;		/* the messages before this offset are complete and their headers checked */
	int		 broken;	/* the error that ended the connection, or 0 */
	char		 why[ERR_LINE];	/* its line */
};

/*
 * A host without power sends nothing: keep-alive ends an idle connection after half a minute.  TCP_USER_TIMEOUT would
 * also bound a busy connection, but it ends one to a process that is only stopped for a while.
 */
static void
set_socket_options(int fd)
{
	static const struct { int level, name, value; } option[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 10 },
		{ IPPROTO_TCP, TCP_KEEPINTVL, 5 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 4 },
	};

	for (size_t i = 0; i < sizeof(option) / sizeof(option[0]); i++)
		setsockopt(fd, option[i].level, option[i].name, &option[i].value, sizeof(int));
}

static int
new_conn(int fd, bool server, const uint8_t key[CONN_KEY], struct conn **out)
{
	struct conn *c = calloc(1, sizeof(*c));
	int e = 0;

	if (c == NULL)
		e = err_nomem();
	else
		e = tls_new(fd, server, key, &c->tls);
	if (e < 0) {
		free(c);
		close(fd);
		return e;
	}
	c->fd = fd;
	c->since = clk_s();
	set_socket_options(fd);
	*out = c;
	return 0;
}

int
conn_dial(const char *addr, const uint8_t key[CONN_KEY], struct conn **c)
{
	int fd, e;

	if ((e = addr_dial(addr, &fd)) < 0 || (e = new_conn(fd, false, key, c)) < 0)
		return e;
	snprintf((*c)->peer, sizeof((*c)->peer), "%s", addr);
	return 0;
}

int
conn_take(int fd, const uint8_t key[CONN_KEY], struct conn **c)
{
	int e = new_conn(fd, true, key, c);

	if (e == 0)
		addr_peer(fd, (*c)->peer);
	return e;
}

void
conn_close(struct conn *c)
{
	if (c == NULL)
		return;
	tls_free(c->tls);
	close(c->fd);
	queue_free(&c->out);
	buf_free(&c->in);
	free(c);
}

int
conn_fd(const struct conn *c)
{
	return c->fd;
}

bool
conn_open(const struct conn *c)
{
	return c->open && c->broken == 0;
}

const char *
conn_peer(const struct conn *c)
{
	return c->peer;
}

double
conn_age_s(const struct conn *c)
{
	return clk_s() - c->since;
}

void
conn_moved(const struct conn *c, uint64_t *received, uint64_t *sent)
{
	tls_moved(c->tls, received, sent);
}

size_t
conn_queued(const struct conn *c)
{
	return c->out.n + tls_held(c->tls);
}

bool
conn_room(const struct conn *c)
{
	return conn_queued(c) < CONN_AHEAD;
}

/* While this holds, the peer's bytes stay in the system until the caller has taken messages. */
static bool
is_inbox_full(const struct conn *c)
{
	return c->whole > c->at && c->in.n - c->at >= MSG_MOST;
}

short
conn_events(const struct conn *c)
{
	bool out = tls_wants_out(c->tls) || (c->open && c->out.n > 0);

	if (c->broken != 0)
		return POLLIN;
	return (short)((is_inbox_full(c) ? 0 : POLLIN) | (out ? POLLOUT : 0));
}

static int
write_queued(struct conn *c)
{
	const uint8_t *p;
	size_t n, put = 1;
	int e = 0;

	for (size_t moved = 0; e == 0 && put > 0 && moved < BURST && (n = queue_front(&c->out, &p)) > 0; moved += put) {
		e = tls_write(c->tls, p, n, &put);
		queue_drop(&c->out, put);
	}
	tls_flush(c->tls);
	return e;
}

/* Moves `whole` past the last complete message.  An invalid header fails as soon as it is received. */
static int
scan_messages(struct conn *c)
{
	struct msg m;
	int e;

	while (c->in.n - c->whole >= MSG_HEAD) {
		if ((e = msg_parse(&m, c->in.p + c->whole)) < 0)
			return e;
		if (c->in.n - c->whole - MSG_HEAD < m.len)
			break;
		c->whole += MSG_HEAD + m.len;
	}
	return 0;
}

/* Allocates for bytes that were received, never for those that a header announces. */
static int
read_messages(struct conn *c)
{
	size_t got;
	int e, bad;

	if (is_inbox_full(c))
		return 0;
	tls_allow(c->tls, BURST);
	do {
		if ((e = buf_room(&c->in, READ_LEAST)) < 0)
			return e;
		e = tls_read(c->tls, c->in.p + c->in.n, c->in.cap - c->in.n, &got);
		c->in.n += got;
	} while (e == 0 && got > 0);
	if ((bad = scan_messages(c)) < 0)
		return bad;
	if (e == ERR_PEER && c->in.n > c->whole)
		return err_fail(ERR_PEER, "the connection ended in the middle of a message (%s)", err_line());
	return e;
}

/* Drops the messages that the caller has taken, if that frees more than it moves or room is short. */
static void
drop_given(struct conn *c)
{
	size_t rest = c->in.n - c->at;

	if (c->at == 0 || (c->at < rest && c->in.cap - c->in.n > BURST))
		return;
	memmove(c->in.p, c->in.p + c->at, rest);
	c->whole -= c->at;
	c->in.n = rest;
	c->at = 0;
}

static int
move_bytes(struct conn *c)
{
	int e;

	if (!c->open) {
		if ((e = tls_shake(c->tls)) <= 0)
			return e;
		c->open = true;
	}
	if ((e = write_queued(c)) < 0)
		return e;
	return read_messages(c);
}

int
conn_run(struct conn *c)
{
	int e;

	drop_given(c);
	if (c->broken == 0 && (e = move_bytes(c)) < 0) {
		c->broken = e;
		snprintf(c->why, sizeof(c->why), "%s: %s", c->peer, err_line());
		/* Wakes the poll, even if the bytes that showed the error are already read. */
		shutdown(c->fd, SHUT_RDWR);
		queue_free(&c->out);
	}
	if (c->broken == 0 || c->whole > c->at)
		return 0;
	err_note(0, "%s", c->why);
	return c->broken;
}

int
conn_send(struct conn *c, const struct msg *m)
{
	size_t n = MSG_HEAD + (size_t)m->len;
	uint8_t head[MSG_HEAD];
	int e;

	assert(m->type > 0 && m->type < MSG_TYPES && m->len <= MSG_MOST);
	if (c->broken != 0)
		return 0;
	if (c->out.n > CONN_QUEUE - n)
		return err_fail(ERR_LIMIT, "%s: does not read: %zu bytes wait to be sent", c->peer, c->out.n);
	if ((e = queue_room(&c->out, n)) < 0)
		return e;
	msg_head(m, head);
	queue_put(&c->out, head, MSG_HEAD);
	queue_put(&c->out, m->payload, m->len);
	return 0;
}

int
conn_next(struct conn *c, struct msg *m)
{
	uint8_t *p;

	if (c->at == c->whole)
		return 0;
	p = c->in.p + c->at;
	msg_parse(m, p);
	c->at += MSG_HEAD + m->len;
	if ((uintptr_t)p % 8 != 0)	/* the bytes before it belong to a message that was taken */
		p = memmove(p - (uintptr_t)p % 8, p, MSG_HEAD + m->len);
	m->payload = m->len > 0 ? p + MSG_HEAD : NULL;
	return 1;
}
