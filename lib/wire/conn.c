/* conn - a connection between two processes of a job: authenticated, encrypted, framed and bounded. */
#include "wire/conn.h"
#include "base/buf.h"
#include "base/clk.h"
#include "base/err.h"
#include "wire/addr.h"
#include "wire/plain.h"
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
#define LENT_LEAST	16384u		/* shorter payloads are copied, so that they share writes with others */

_Static_assert(CONN_KEY == TLS_KEY, "one key");

struct conn {
	int		 fd;
	struct tls	*tls;		/* with a key, else NULL */
	struct plain	*plain;		/* without one, else NULL */
	bool		 open;
	char		 peer[ADDR_TEXT];
	double		 since;
	struct queue	 out;
	struct buf	 in;
	size_t		 at;		/* offset in `in` of the next message for the caller */
	size_t		 whole;		/* the messages before this offset are complete and their headers checked */
	conn_place_fn	*place;
	void		*place_arg;
	/* The payload of the last message in `in`, of which it has the header alone; NULL: it is in `in`. */
	uint8_t		*placed;
	size_t		 left;		/* bytes of it not yet received; not in `whole` while there are any */
	size_t		 placed_len;
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
new_conn(int fd, bool server, const uint8_t *key, struct conn **out)
{
	struct conn *c = calloc(1, sizeof(*c));
	int e = 0;

	if (c == NULL)
		e = err_nomem();
	else
		e = key != NULL ? tls_new(fd, server, key, &c->tls) : plain_new(fd, server, &c->plain);
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
conn_dial(const char *addr, const uint8_t *key, struct conn **c)
{
	int fd, e;

	if ((e = addr_dial(addr, &fd)) < 0 || (e = new_conn(fd, false, key, c)) < 0)
		return e;
	snprintf((*c)->peer, sizeof((*c)->peer), "%s", addr);
	return 0;
}

int
conn_take(int fd, const uint8_t *key, struct conn **c)
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
	plain_free(c->plain);
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
	if (c->tls != NULL)
		tls_moved(c->tls, received, sent);
	else
		plain_moved(c->plain, received, sent);
}

void
conn_set_place(struct conn *c, conn_place_fn *place, void *arg)
{
	c->place = place;
	c->place_arg = arg;
}

size_t
conn_queued(const struct conn *c)
{
	return c->out.n + (c->tls != NULL ? tls_held(c->tls) : 0);
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
	return c->whole > c->at && (c->in.n - c->at >= CONN_WAITING || (c->placed != NULL && c->left == 0));
}

short
conn_events(const struct conn *c)
{
	bool out = (c->tls != NULL ? tls_wants_out(c->tls) : plain_wants_out(c->plain)) || (c->open && c->out.n > 0);

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
		if (c->plain != NULL) {
			e = plain_send(c->plain, &c->out, BURST - moved, &put);
			continue;
		}
		e = tls_write(c->tls, p, n, &put);
		queue_drop(&c->out, put);
	}
	if (c->tls != NULL)
		tls_flush(c->tls);
	return e;
}

/*
 * Receives the rest of a message directly into the place that the caller has for its payload, if any.  While the caller
 * has yet to take an earlier message, which may change what is at that place, the payload is received here.
 */
static void
find_place(struct conn *c, const struct msg *m)
{
	size_t have = c->in.n - c->whole - MSG_HEAD;
	uint8_t *to;

	if (c->place == NULL || m->len < READ_LEAST || c->whole > c->at || (to = c->place(c->place_arg, m)) == NULL)
		return;
	memcpy(to, c->in.p + c->whole + MSG_HEAD, have);
	c->in.n -= have;
	c->placed = to;
	c->placed_len = m->len;
	c->left = m->len - have;
}

/*
 * Moves `whole` past the last complete message.  An invalid header fails as soon as it is received.  Sets *lacks to
 * the bytes that the message after it lacks, as far as its header says.
 */
static int
scan_messages(struct conn *c, size_t *lacks)
{
	struct msg m;
	int e;

	*lacks = MSG_HEAD;
	while (c->placed == NULL && c->in.n - c->whole >= MSG_HEAD) {
		size_t have = c->in.n - c->whole - MSG_HEAD;

		if ((e = msg_parse(&m, c->in.p + c->whole)) < 0)
			return e;
		if (have < m.len) {
			*lacks = m.len - have;
			find_place(c, &m);
			break;
		}
		c->whole += MSG_HEAD + m.len;
	}
	return 0;
}

static int
read_bytes(struct conn *c, void *p, size_t n, size_t *got)
{
	return c->tls != NULL ? tls_read(c->tls, p, n, got) : plain_read(c->plain, p, n, got);
}

/*
 * Reads up to the end of a message where its length is known, so that the next one begins an empty buffer.  Allocates
 * for bytes that were received, never for those that a header announces; `place` has a memory of its own.
 */
static int
read_once(struct conn *c, size_t *got)
{
	size_t lacks, room;
	int e;

	if ((e = scan_messages(c, &lacks)) < 0)
		return e;
	if (c->placed != NULL) {
		e = read_bytes(c, c->placed + (c->placed_len - c->left), c->left, got);
		c->left -= *got;
		c->whole += c->left == 0 ? MSG_HEAD : 0;
		return e;
	}
	if ((e = buf_room(&c->in, READ_LEAST)) < 0)
		return e;
	room = c->in.cap - c->in.n;
	e = read_bytes(c, c->in.p + c->in.n, lacks < READ_LEAST ? READ_LEAST : lacks < room ? lacks : room, got);
	c->in.n += *got;
	return e;
}

static int
read_messages(struct conn *c)
{
	size_t got = 1, lacks;
	int e = 0, bad;

	while (e == 0 && got > 0 && !is_inbox_full(c)) {
		got = 0;
		e = read_once(c, &got);
		if ((bad = scan_messages(c, &lacks)) < 0)
			return bad;
	}
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
		if ((e = c->tls != NULL ? tls_shake(c->tls) : plain_shake(c->plain)) <= 0)
			return e;
		c->open = true;
	}
	if ((e = write_queued(c)) < 0)
		return e;
	if (c->tls != NULL)
		tls_allow(c->tls, BURST);
	else
		plain_allow(c->plain, BURST);
	return read_messages(c);
}

static void
note_broken(struct conn *c, int e)
{
	c->broken = e;
	snprintf(c->why, sizeof(c->why), "%s: %s", c->peer, err_line());
	/* Wakes the poll, even if the bytes that showed the error are already read. */
	shutdown(c->fd, SHUT_RDWR);
	queue_free(&c->out);
}

int
conn_run(struct conn *c)
{
	int e;

	drop_given(c);
	if (c->broken == 0 && (e = move_bytes(c)) < 0)
		note_broken(c, e);
	if (c->broken == 0 || c->whole > c->at)
		return 0;
	err_note(0, "%s", c->why);
	return c->broken;
}

int
conn_send(struct conn *c, const struct msg *m)
{
	size_t n = MSG_HEAD + (size_t)m->len;
	bool lent = m->lasting && m->len >= LENT_LEAST;
	uint8_t head[MSG_HEAD];
	int e;

	assert(m->type > 0 && m->type < MSG_TYPES && m->len <= MSG_MOST);
	if (c->broken != 0)
		return 0;
	if (c->out.n > CONN_QUEUE - n)
		return err_fail(ERR_LIMIT, "%s: does not read: %zu bytes wait to be sent", c->peer, c->out.n);
	msg_head(m, head);
	if (lent)
		return queue_lend(&c->out, head, MSG_HEAD, m->payload, m->len);
	if ((e = queue_room(&c->out, n)) < 0)
		return e;
	queue_put(&c->out, head, MSG_HEAD);
	queue_put(&c->out, m->payload, m->len);
	return 0;
}

/* Reads on after the caller has taken all that was received, if the last conn_run() left something. */
static void
read_more(struct conn *c)
{
	int e;

	if (c->broken != 0 || !c->open)
		return;
	drop_given(c);
	if ((e = read_messages(c)) < 0)
		note_broken(c, e);
}

int
conn_next(struct conn *c, struct msg *m)
{
	uint8_t *p;

	if (c->at == c->whole)
		read_more(c);
	if (c->at == c->whole)
		return 0;
	p = c->in.p + c->at;
	msg_parse(m, p);
	if (c->placed != NULL && c->left == 0 && c->at + MSG_HEAD == c->whole) {
		m->payload = c->placed;
		c->placed = NULL;
		c->at += MSG_HEAD;
		return 1;
	}
	c->at += MSG_HEAD + m->len;
	if ((uintptr_t)p % 8 != 0)	/* the bytes before it belong to a message that was taken */
		p = memmove(p - (uintptr_t)p % 8, p, MSG_HEAD + m->len);
	m->payload = m->len > 0 ? p + MSG_HEAD : NULL;
	return 1;
}
