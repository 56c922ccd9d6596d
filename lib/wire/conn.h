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
#define CONN_KEY_TEXT	65		/* bytes of its 64 hex digits, the zero counted */

struct conn;

/* A new random key.  0 or ERR_SYS. */
int	 conn_key_new(uint8_t key[CONN_KEY]);
/*
 * The key in the first 64 hex digits of a file, a pipe, "-" (standard input) or /dev/fd/N, which is closed when N is
 * above 2.  0, ERR_SYS, ERR_FORMAT, or ERR_AUTH: a plain file that others may read.
 */
int	 conn_key_read(const char *path, uint8_t key[CONN_KEY]);
void	 conn_key_text(const uint8_t key[CONN_KEY], char text[CONN_KEY_TEXT]);

/* Begins connecting to "host:port" or "[v6]:port".  0, ERR_FORMAT, ERR_SYS, ERR_NOMEM. */
int	 conn_dial(const char *addr, const uint8_t key[CONN_KEY], struct conn **c);
/* Takes an accepted socket, which becomes the connection's; closed also when this fails.  0 or ERR_NOMEM. */
int	 conn_take(int fd, const uint8_t key[CONN_KEY], struct conn **c);
/* Says goodbye to an open peer; what is queued is dropped: to have it sent, run until conn_queued() is 0.  NULL is fine. */
void	 conn_close(struct conn *c);

int	 conn_fd(const struct conn *c);
short	 conn_events(const struct conn *c);	/* POLLIN, POLLOUT: what conn_run waits for */
bool	 conn_open(const struct conn *c);	/* the handshake is over */
const char *conn_peer(const struct conn *c);	/* "host:port" for messages */
double	 conn_age_s(const struct conn *c);	/* since dial or take: close what is not open after a few seconds */

/*
 * Does what can be done now.  Returns 0, ERR_PEER (closed or broken), ERR_AUTH (no job key, or another one),
 * ERR_FORMAT or ERR_LIMIT (not our messages), ERR_SYS, ERR_NOMEM; the line names the peer.  What came before is given
 * first: while conn_next has messages, 0 is returned.  After the error it is returned again; close the connection.
 * At most 1 MB moves each way in a call, and nothing is read while more than MSG_MOST bytes of messages wait: call
 * conn_next until it returns 0.
 */
int	 conn_run(struct conn *c);
/*
 * Queues a message behind the others.  0, ERR_LIMIT when more than CONN_QUEUE bytes would wait, ERR_NOMEM.  Once the
 * connection has broken it is dropped, and conn_run tells.
 */
#define CONN_QUEUE	(128u << 20)
int	 conn_send(struct conn *c, const struct msg *m);
/* Fewer than CONN_AHEAD bytes wait: who has much to send gives no more than that ahead, and a message of any size. */
#define CONN_AHEAD	(4u << 20)
bool	 conn_room(const struct conn *c);
size_t	 conn_queued(const struct conn *c);	/* bytes not yet given to the system */
void	 conn_moved(const struct conn *c, uint64_t *received, uint64_t *sent);	/* bytes on the socket so far, TLS and all */
/* The next whole message, its payload aligned to 8 bytes: 1, or 0 when none has come. */
int	 conn_next(struct conn *c, struct msg *m);

#endif
