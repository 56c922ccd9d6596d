/* plain - bytes on a socket as they are, for a job without a key. */
#include "wire/plain.h"
#include "base/err.h"
#include "wire/msg.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define VECTORS	16	/* most pieces of one sendmsg() */
#define END	(-1)	/* in place of an errno: the peer closed its side */
#define RECORD	0x16	/* first byte of a TLS handshake */

struct plain {
	int	 fd;
	bool	 server, open;
	int	 down;			/* errno of the socket, or END; 0 while it works */
	char	 line[32], peer[32];	/* ours, and what the peer sent */
	size_t	 n, at, seen;		/* bytes of a line, of ours sent, of the peer's received */
	size_t	 allow;			/* bytes that may still be read, plain_allow() */
	uint64_t received, sent;	/* bytes on the socket */
};

int
plain_new(int fd, bool server, struct plain **out)
{
	struct plain *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return err_nomem();
	t->fd = fd;
	t->server = server;
	t->n = (size_t)snprintf(t->line, sizeof(t->line), "tally/%u plain\n", MSG_VERSION);
	*out = t;
	return 0;
}

void
plain_free(struct plain *t)
{
	free(t);
}

static int
fail_broken(const struct plain *t)
{
	const char *what = t->open ? "the connection broke" : t->server ? "disconnected before it said hello" :
	    "cannot be reached";

	if (t->down != END)
		return err_fail(ERR_PEER, "%s: %s", what, strerror(t->down));
	return err_fail(ERR_PEER, "%s", t->open ? "closed the connection" :
	    "closed the connection; it may need the key of its job in place of --plain");
}

static int
fail_refused(const struct plain *t)
{
	if ((uint8_t)t->peer[0] == RECORD)
		return err_fail(ERR_AUTH, "has a key, and this job is --plain");
	if (memcmp(t->peer, "tally/", t->seen < 6 ? t->seen : 6) == 0)
		return err_fail(ERR_AUTH, "has another version of the protocol, not tally/%u", MSG_VERSION);
	return err_fail(ERR_AUTH, "is no process of tally without a key");
}

/* Receives up to n bytes; 0 if there are none now. */
static size_t
receive_bytes(struct plain *t, void *p, size_t n)
{
	ssize_t r = recv(t->fd, p, n, MSG_DONTWAIT);

	if (r > 0) {
		t->received += (size_t)r;
		return (size_t)r;
	}
	if (t->down == 0 && (r == 0 || (errno != EAGAIN && errno != EINTR)))
		t->down = r == 0 ? END : errno;
	return 0;
}

static size_t
send_vectors(struct plain *t, struct iovec *v, int n)
{
	struct msghdr m = { .msg_iov = v, .msg_iovlen = (size_t)n };
	ssize_t r = sendmsg(t->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (r < 0 && errno != EAGAIN && errno != EINTR && t->down == 0)
		t->down = errno;
	t->sent += r > 0 ? (uint64_t)r : 0;
	return r > 0 ? (size_t)r : 0;
}

int
plain_shake(struct plain *t)
{
	struct iovec v = { .iov_base = t->line + t->at, .iov_len = t->n - t->at };

	if (t->open)
		return 1;
	if (v.iov_len > 0)
		t->at += send_vectors(t, &v, 1);
	if (t->seen < t->n)
		t->seen += receive_bytes(t, t->peer + t->seen, t->n - t->seen);
	if (memcmp(t->peer, t->line, t->seen) != 0)
		return fail_refused(t);
	t->open = t->at == t->n && t->seen == t->n;
	if (!t->open && t->down != 0)
		return fail_broken(t);
	return t->open;
}

void
plain_allow(struct plain *t, size_t bytes)
{
	t->allow = bytes;
}

int
plain_read(struct plain *t, void *p, size_t n, size_t *got)
{
	n = n < t->allow ? n : t->allow;
	*got = n > 0 ? receive_bytes(t, p, n) : 0;
	t->allow -= *got;
	return *got == 0 && n > 0 && t->down != 0 ? fail_broken(t) : 0;
}

int
plain_send(struct plain *t, struct queue *q, size_t most, size_t *put)
{
	struct iovec v[VECTORS];

	/* plain_read() reports an error, after the peer's last bytes. */
	*put = t->down == 0 ? send_vectors(t, v, queue_vectors(q, v, VECTORS, most)) : 0;
	queue_drop(q, *put);
	return 0;
}

void
plain_byte_counts(const struct plain *t, uint64_t *received, uint64_t *sent)
{
	*received = t->received;
	*sent = t->sent;
}

int
plain_down(const struct plain *t)
{
	return t->down;
}

bool
plain_wants_out(const struct plain *t)
{
	return !t->open && t->at < t->n;
}
