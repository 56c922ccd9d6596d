/*
 * fuzz_conn - any bytes to a connection: from a stranger they open no door, from a process that holds the key they are the
 * messages that they are, or an error.  Messages about other paths are for the connection itself, which does not pass
 * them on.
 *
 * The first byte says who sends, and in pieces of what size.
 */
#include "base/err.h"
#include "wire/conn.h"
#include "wire/tls.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint8_t key[CONN_KEY];

static void
stranger(struct conn *c, int fd, const uint8_t *p, size_t n, size_t piece)
{
	struct msg m;
	int e = 0;

	for (size_t at = 0; at < n && e == 0; at += piece) {
		send(fd, p + at, n - at < piece ? n - at : piece, MSG_NOSIGNAL);
		e = conn_run(c);
		if (conn_open(c) || conn_next(c, &m) != 0)
			abort();
	}
}

/* The bytes of the message at p, or 0 if it does not end within n bytes. */
static size_t
measure_message(const uint8_t *p, size_t n)
{
	size_t bytes = n < MSG_HEAD ? 0 : MSG_HEAD + (p[0] | p[1] << 8 | p[2] << 16 | (size_t)p[3] << 24);

	return bytes <= n ? bytes : 0;
}

/* Moves *at past the messages there that are about other paths. */
static void
skip_paths(const uint8_t *p, size_t n, size_t *at)
{
	size_t bytes;

	while ((bytes = measure_message(p + *at, n - *at)) > 0) {
		unsigned type = p[*at + 4] | p[*at + 5] << 8;

		if (type != MSG_SHM && type != MSG_UCX)
			break;
		*at += bytes;
	}
}

/* The messages given are those at p, one after the other; *at moves behind them. */
static void
compare(struct conn *c, const uint8_t *p, size_t n, size_t *at)
{
	uint8_t head[MSG_HEAD];
	struct msg m;

	while (conn_next(c, &m) == 1) {
		skip_paths(p, n, at);
		msg_head(&m, head);
		if (n - *at < MSG_HEAD + m.len || memcmp(head, p + *at, MSG_HEAD - 4) != 0 ||
		    (m.len > 0 && memcmp(m.payload, p + *at + MSG_HEAD, m.len) != 0) || (uintptr_t)m.payload % 8 != 0)
			abort();
		*at += MSG_HEAD + m.len;
	}
}

static void
member(struct conn *c, int fd, const uint8_t *p, size_t n, size_t piece)
{
	size_t put, taken = 0;
	struct tls *t;
	int e = 0;

	if (tls_new(fd, false, key, CONN_WORKER, &t) < 0)
		return;
	while (tls_shake(t) == 0)
		conn_run(c);
	for (size_t at = 0; at < n && e == 0; at += put) {
		if (tls_write(t, p + at, n - at < piece ? n - at : piece, &put) < 0)
			break;
		tls_flush(t);
		e = conn_run(c);
		compare(c, p, n, &taken);
	}
	tls_free(t);
	for (int i = 0; i < 8 && e == 0; i++) {
		e = conn_run(c);
		compare(c, p, n, &taken);
	}
	skip_paths(p, n, &taken);
	if (e == 0 || (e == ERR_PEER && measure_message(p + taken, n - taken) > 0))
		abort();	/* the end was missed, or a whole message before it */
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct conn *c;
	int fd[2];

	if (n == 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) < 0)
		return 0;
	if (conn_take(fd[0], key, CONN_WORKER, &c) == 0) {
		(p[0] & 1 ? member : stranger)(c, fd[1], p + 1, n - 1, 1 + (p[0] >> 1));
		conn_close(c);
	}
	close(fd[1]);
	return 0;
}
