/*
 * conn - one connection between two processes of a job: authenticated, secret, framed, bounded.
 *
 * TLS 1.3 with the job's key (PSK with ephemeral Diffie-Hellman; RFC 8446) over
 * TCP; messages of wire/msg.h inside.  Nothing blocks: the caller polls
 * conn_fd() for conn_events() and calls conn_run().  Until the handshake is
 * over no byte of the peer reaches the caller and little memory is held for it.
 *
 * Ownership: conn_send copies.  A message from conn_next is lent until the next
 * conn_next or conn_run.  Threads: a connection is for one thread at a time.
 */
#ifndef WIRE_CONN_H
#define WIRE_CONN_H

#include "wire/msg.h"

#include <stdbool.h>

#define CONN_KEY	32		/* bytes of a job's key */

struct conn;

/* A new random key; and the key in the first 64 hex digits of a file, pipe or /dev/fd/N.  0, ERR_SYS, ERR_FORMAT. */
int	 conn_key_new(uint8_t key[CONN_KEY]);
int	 conn_key_read(const char *path, uint8_t key[CONN_KEY]);

/* Begins connecting to "host:port" or "[v6]:port".  0, ERR_FORMAT, ERR_SYS, ERR_NOMEM. */
int	 conn_dial(const char *addr, const uint8_t key[CONN_KEY], struct conn **c);
/* Takes an accepted socket, which becomes the connection's. */
int	 conn_take(int fd, const uint8_t key[CONN_KEY], struct conn **c);
void	 conn_close(struct conn *c);	/* NULL is fine; what is queued is dropped */

int	 conn_fd(const struct conn *c);
short	 conn_events(const struct conn *c);	/* POLLIN, POLLOUT: what conn_run waits for */
bool	 conn_open(const struct conn *c);	/* the handshake is over */
const char *conn_peer(const struct conn *c);	/* "host:port" for messages */

/*
 * Does what can be done now.  Returns 0, ERR_PEER (closed or broken), ERR_AUTH (no job key, or another one),
 * ERR_FORMAT or ERR_LIMIT (not our messages); the line names the peer.
 */
int	 conn_run(struct conn *c);
/* Queues a message behind the others.  ERR_LIMIT when more than CONN_QUEUE bytes wait; ERR_NOMEM. */
#define CONN_QUEUE	(1u << 30)
int	 conn_send(struct conn *c, const struct msg *m);
size_t	 conn_queued(const struct conn *c);	/* bytes not yet given to the system */
/* The next whole message: 1, or 0 when none has come. */
int	 conn_next(struct conn *c, struct msg *m);

#endif
