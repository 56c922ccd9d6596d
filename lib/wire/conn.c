/* conn - a connection between two processes of a job: authenticated, encrypted, framed and bounded. */
#include "wire/conn_in.h"
#include "base/clk.h"
#include "base/err.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_LEAST	16384u		/* least room for a read: a full TLS record */
#define LENT_LEAST	16384u		/* shorter payloads are copied, so that they share writes with others */

_Static_assert(CONN_KEY == TLS_KEY, "one key");

static int
new_conn(int fd, bool server, const uint8_t *key, const char *role, struct conn **out)
{
	struct conn *c = calloc(1, sizeof(*c));
	int e = 0;

	if (c == NULL)
		e = err_nomem();
	else
		e = key != NULL ? tls_new(fd, server, key, role, &c->tls) : plain_new(fd, server, &c->plain);
	if (e < 0) {
		free(c);
		close(fd);
		return e;
	}
	c->fd = fd;
	c->server = server;
	c->lends.fd = -1;
	c->shm_listener = -1;
	c->path_state = server ? CONN_PATH_MAY : CONN_PATH_NONE;
	c->since = clk_s();
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	conn_set_silence(c, CONN_SILENCE_S);
	*out = c;
	return 0;
}

int
conn_dial(const char *addr, const uint8_t *key, const char *role, struct conn **c)
{
	int fd;

	ERR_TRY(addr_dial(addr, &fd));
	ERR_TRY(new_conn(fd, false, key, role, c));
	snprintf((*c)->peer, sizeof((*c)->peer), "%s", addr);
	return 0;
}

int
conn_take(int fd, const uint8_t *key, const char *role, struct conn **c)
{
	int e = new_conn(fd, true, key, role, c);

	if (e == 0 && !addr_peer(fd, (*c)->peer))
		snprintf((*c)->peer, sizeof((*c)->peer), "a disconnected peer");
	return e;
}

void
conn_refuse_repeats(struct conn *c, struct tls_hellos *h)
{
	if (c->tls != NULL)
		tls_refuse_repeats(c->tls, h);
}

void
conn_close(struct conn *c)
{
	if (c == NULL)
		return;
	tls_free(c->tls);
	plain_free(c->plain);
	close(c->fd);
	conn_path_free(c);
	queue_free(&c->control);
	queue_free(&c->out);
	buf_free(&c->in);
	free(c);
}

int
conn_fd(const struct conn *c)
{
	return conn_path_used(c) ? conn_path_fd(c) : c->fd;
}

bool
conn_open(const struct conn *c)
{
	return c->open && c->broken == 0;
}

bool
conn_credible(const struct conn *c)
{
	return c->open || (c->tls != NULL && tls_credible(c->tls));
}

bool
conn_refused(const struct conn *c)
{
	return conn_socket_down(c) == ECONNREFUSED;
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
conn_byte_counts(const struct conn *c, uint64_t *received, uint64_t *sent)
{
	uint64_t in = 0, out = 0;

	conn_socket_byte_counts(c, received, sent);
	conn_path_byte_counts(c, &in, &out);
	*received += in + c->lent_bytes[0];
	*sent += out + c->lent_bytes[1];
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
	if (c->ended != 0)
		return 0;
	return c->control.n + c->out.n + conn_socket_held(c) + (c->ucx != NULL && !conn_ucx()->delivered(c->ucx));
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
	bool out = conn_socket_wants_out(c) || (c->open && (c->control.n > 0 ||
	    (c->out.n > 0 && !c->held)));

	if (c->broken != 0)
		return POLLIN;
	if (conn_path_used(c))	/* the peer signals in the same way that there are bytes, and that there is room */
		return is_inbox_full(c) && c->out.n == 0 ? 0 : POLLIN;
	return (short)((is_inbox_full(c) ? 0 : POLLIN) | (out ? POLLOUT : 0));
}

static int
write_queued(struct conn *c)
{
	if (c->control.n > 0 || conn_socket_held(c) > 0)
		ERR_TRY(conn_socket_write(c, &c->control));
	/* The answer must be on the socket, which nobody watches for writing from then on. */
	if (c->path_state == CONN_PATH_OFFERED && conn_path_agreed(c) && conn_queued(c) == c->out.n)
		conn_path_begin(c);
	if (conn_path_used(c))
		return conn_path_send(c);
	return c->held || c->control.n > 0 ? 0 : conn_socket_write(c, &c->out);
}

/* Bytes of a message after its header. */
static size_t
count_rest(const struct msg *m)
{
	return m->flags & MSG_LENT ? MSG_OFFSET : m->len;
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

	if (c->place == NULL || count_rest(m) < READ_LEAST || c->whole > c->at ||
	    (to = c->place(c->place_arg, m)) == NULL)
		return;
	memcpy(to, c->in.p + c->whole + MSG_HEAD, have);
	c->in.n -= have;
	c->placed = to;
	c->placed_len = m->len;
	c->left = m->len - have;
}

/* Handles a message about another path, of which this connection's owner sees nothing, and cuts it out. */
static int
handle_control(struct conn *c, struct msg *m)
{
	uint8_t *p = c->in.p + c->whole;

	m->payload = p + MSG_HEAD;
	ERR_TRY(conn_path_handle(c, m));
	c->in.n -= MSG_HEAD + m->len;
	memmove(p, p + MSG_HEAD + m->len, c->in.n - c->whole);
	if (!conn_path_used(c))
		return 0;
	if (c->in.n > c->whole)
		return err_fail(ERR_FORMAT, "sent bytes on the socket beside the other path");
	return conn_path_send(c);
}

static bool
is_control(const struct msg *m)
{
	return m->type == MSG_SHM || m->type == MSG_UCX;
}

/*
 * Moves `whole` past the last complete message.  An invalid header fails as soon as it is received.  Sets *lacks to
 * the bytes that the message after it lacks, as far as its header says; not if they have a place already.
 */
static int
scan_messages(struct conn *c, size_t *lacks)
{
	struct msg m;

	while (c->placed == NULL && c->in.n - c->whole >= MSG_HEAD) {
		size_t have = c->in.n - c->whole - MSG_HEAD;

		ERR_TRY(msg_parse(&m, c->in.p + c->whole));
		if (!is_control(&m) && c->server && c->path_state == CONN_PATH_MAY)
			conn_path_decline(c);
		/* A peer that has offered another path holds its messages back until it is agreed. */
		if (is_control(&m) ? m.len > (m.type == MSG_SHM ? SHM_OFFER : UCX_ADDRESS) :
		    c->path_state == CONN_PATH_ACCEPTED)
			return err_fail(ERR_FORMAT, "%s out of place", msg_name(m.type));
		if (m.flags & MSG_LENT && (c->shm == NULL || (m.type != MSG_PUSH && m.type != MSG_WEIGHTS)))
			return err_fail(ERR_FORMAT, "%s by reference", msg_name(m.type));
		if (m.flags & MSG_LENT && have >= MSG_OFFSET)
			ERR_TRY(conn_shm_borrow(c, &m, c->in.p + c->whole + MSG_HEAD));
		if (have >= m.len && is_control(&m)) {
			ERR_TRY(handle_control(c, &m));
			continue;
		}
		if (have < count_rest(&m)) {
			*lacks = count_rest(&m) - have;
			find_place(c, &m);
			return 0;
		}
		c->whole += MSG_HEAD + count_rest(&m);
	}
	*lacks = MSG_HEAD - (c->in.n - c->whole);
	return 0;
}

/*
 * Reads up to n bytes, of which the peer sends at least `least`; see wire/path/ucx.h for `stays`.  All that it
 * wrote before its end is read first.
 */
static int
read_bytes(struct conn *c, void *p, size_t n, size_t least, bool stays, size_t *got)
{
	int e;

	if (!conn_path_used(c))
		return conn_socket_read(c, p, n, got);
	if ((e = conn_path_read(c, p, n, least, stays, got)) < 0 || *got > 0 || c->ended == 0 || !conn_path_empty(c))
		return e;
	err_note(0, "%s", c->why);
	return c->ended;
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

	ERR_TRY(scan_messages(c, &lacks));
	if (c->placed != NULL) {
		e = read_bytes(c, c->placed + (c->placed_len - c->left), c->left, c->left, true, got);
		c->left -= *got;
		c->whole += c->left == 0 ? MSG_HEAD : 0;
		return e;
	}
	ERR_TRY(buf_room(&c->in, READ_LEAST));
	room = c->in.cap - c->in.n;
	room = lacks < READ_LEAST ? READ_LEAST : lacks < room ? lacks : room;
	e = read_bytes(c, c->in.p + c->in.n, room, lacks, false, got);
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

	if (c->at == 0 || (c->at < rest && c->in.cap - c->in.n > CONN_BURST))
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
		if ((e = conn_socket_shake(c)) < 0)
			return e;
		if (e == 0)
			return c->server ? 0 : conn_silence_look(c);
		c->open = true;
		if (!c->server && c->path_state == CONN_PATH_MAY)
			ERR_TRY(conn_path_offer(c));
	}
	if (conn_path_used(c))
		conn_path_look(c);
	ERR_TRY(write_queued(c));
	conn_socket_allow(c, CONN_BURST);
	if (conn_path_used(c))
		conn_path_allow(c, CONN_BURST);
	ERR_TRY(read_messages(c));
	return conn_silence_look(c);
}

static void
note_broken(struct conn *c, int e)
{
	c->broken = e;
	snprintf(c->why, sizeof(c->why), "%s: %s", c->peer, err_line());
	/* Wakes the poll, even if the bytes that showed the error are already read. */
	shutdown(c->fd, SHUT_RDWR);
	conn_path_drop(c);
}

/*
 * A read that stops before its ring is empty leaves bytes of which the peer gives no more signals.  While the caller
 * has messages to take and there is no room to send, only the peer can change that.
 */
static void
watch_path(struct conn *c)
{
	if (conn_path_used(c) && c->broken == 0)
		conn_path_want(c, !is_inbox_full(c) || c->out.n == 0);
}

int
conn_run(struct conn *c)
{
	int e;

	drop_given(c);
	if (c->broken == 0 && (e = move_bytes(c)) < 0)
		note_broken(c, e);
	watch_path(c);
	if (c->broken == 0 || c->whole > c->at)
		return 0;
	err_note(0, "%s", c->why);
	return c->broken;
}

int
conn_send(struct conn *c, const struct msg *m)
{
	size_t n = MSG_HEAD + (size_t)m->len;
	bool lent = m->lasting && m->len >= LENT_LEAST, first = c->out.n == 0;
	uint8_t head[MSG_HEAD + MSG_OFFSET];
	int e;

	assert(m->type > 0 && m->type < MSG_TYPES && m->len <= MSG_MOST);
	if (c->broken != 0 || c->ended != 0)
		return 0;
	if (c->out.n > CONN_QUEUE - n)
		return err_fail(ERR_LIMIT, "%s: does not read: %zu bytes wait to be sent", c->peer, c->out.n);
	msg_head(m, head);
	if (lent && conn_shm_lends(c, m)) {
		ERR_TRY(queue_room(&c->out, sizeof(head)));
		msg_lend(head, (size_t)((const uint8_t *)m->payload - (const uint8_t *)c->lends.p));
		queue_put(&c->out, head, sizeof(head));
		c->lent_bytes[1] += m->len;
	} else if (lent) {
		ERR_TRY(queue_lend(&c->out, head, MSG_HEAD, m->payload, m->len));
	} else {
		ERR_TRY(queue_room(&c->out, n));
		queue_put(&c->out, head, MSG_HEAD);
		queue_put(&c->out, m->payload, m->len);
	}
	/*
	 * No poll would say that the path has room.  But if messages waited before this one, there is a signal when it
	 * has, and conn_events() waits for that signal only while messages wait.
	 */
	if (conn_path_used(c) && first) {
		if ((e = conn_path_send(c)) < 0)
			note_broken(c, e);
		else if (c->ucx != NULL)
			watch_path(c);
	}
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
	watch_path(c);
}

int
conn_next(struct conn *c, struct msg *m)
{
	uint8_t *p;
	int e;

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
	c->at += MSG_HEAD + count_rest(m);
	if (m->flags & MSG_LENT) {
		e = conn_shm_borrow(c, m, p + MSG_HEAD);
		assert(e == 0);		/* scan_messages() has seen it */
		c->lent_bytes[0] += m->len;
		return 1;
	}
	if ((uintptr_t)p % 8 != 0)	/* the bytes before it belong to a message that was taken */
		p = memmove(p - (uintptr_t)p % 8, p, MSG_HEAD + m->len);
	m->payload = m->len > 0 ? p + MSG_HEAD : NULL;
	return 1;
}
