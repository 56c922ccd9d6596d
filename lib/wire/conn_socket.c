/* conn_socket - the socket of a connection, with TLS or without: serves conn. */
#include "wire/conn_in.h"

int
conn_socket_shake(struct conn *c)
{
	return c->tls != NULL ? tls_shake(c->tls) : plain_shake(c->plain);
}

void
conn_socket_allow(struct conn *c, size_t bytes)
{
	if (c->tls != NULL)
		tls_allow(c->tls, bytes);
	else
		plain_allow(c->plain, bytes);
}

int
conn_socket_read(struct conn *c, void *p, size_t n, size_t *got)
{
	return c->tls != NULL ? tls_read(c->tls, p, n, got) : plain_read(c->plain, p, n, got);
}

int
conn_socket_write(struct conn *c, struct queue *q)
{
	const uint8_t *p;
	size_t n, put = 1;
	int e = 0;

	for (size_t moved = 0; e == 0 && put > 0 && moved < CONN_BURST && (n = queue_front(q, &p)) > 0; moved += put) {
		if (c->plain != NULL) {
			e = plain_send(c->plain, q, CONN_BURST - moved, &put);
			continue;
		}
		e = tls_write(c->tls, p, n, &put);
		queue_drop(q, put);
	}
	if (c->tls != NULL)
		tls_flush(c->tls);
	/* Its owner may take no message before there is room to send, and see the end only then. */
	if (conn_socket_down(c) != 0)
		queue_drop(q, q->n);
	return e;
}

void
conn_socket_byte_counts(const struct conn *c, uint64_t *received, uint64_t *sent)
{
	if (c->tls != NULL)
		tls_byte_counts(c->tls, received, sent);
	else
		plain_byte_counts(c->plain, received, sent);
}

size_t
conn_socket_held(const struct conn *c)
{
	return c->tls != NULL ? tls_held(c->tls) : 0;
}

int
conn_socket_down(const struct conn *c)
{
	return c->tls != NULL ? tls_down(c->tls) : plain_down(c->plain);
}

bool
conn_socket_wants_out(const struct conn *c)
{
	return c->tls != NULL ? tls_wants_out(c->tls) : plain_wants_out(c->plain);
}

void
conn_reached(const struct conn *c, char where[ADDR_TEXT])
{
	addr_peer(c->fd, where);
}
