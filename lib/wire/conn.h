/*
 * conn - a connection between two processes of a job: authenticated, encrypted, framed and bounded.
 *
 * lib/wire carries messages between hosts; wire(5) describes the format.  Read it in this order: msg (one message as
 * bytes), codec (gradients and weights in fewer of them), conn (a connection), peer_traffic (byte counters), strangers
 * (connections that have proved nothing yet).  Below conn are tls, seal, plain, queue, addr and lib/wire/path.
 *
 * A connection is TCP with TLS 1.3 and the job's key (PSK with ephemeral Diffie-Hellman, RFC 8446), and carries
 * messages of wire/msg.h.  Without a key it is TCP alone (wire/plain.h), for anybody who can reach it.  Two processes
 * of one host may move the messages through memory instead (conn_use_shm()).  No call blocks: the caller polls
 * conn_fd() for conn_events() and calls conn_run().  Before the handshake is complete, the caller sees no byte of the
 * peer, and the connection holds little memory for it.
 *
 * Ownership: conn_send() copies, except a payload that is `lasting`.  A message from conn_next() is lent until the next
 * conn_next() or conn_run().
 * Threads: one thread at a time for each connection.
 */
#ifndef WIRE_CONN_H
#define WIRE_CONN_H

#include "wire/addr.h"
#include "wire/path/loan.h"
#include "wire/msg.h"

#include <stdbool.h>

#define CONN_KEY	32		/* bytes of a job's key */
#define CONN_KEY_TEXT	65		/* bytes of its 64 hex digits and the zero */

struct conn;

/* Makes a random key.  Returns 0 or ERR_SYS. */
int	 conn_key_new(uint8_t key[CONN_KEY]);
/*
 * Reads a key, 64 hex digits, from a file, a pipe, "-" (standard input) or /dev/fd/N, which it closes if N is above 2.
 * Returns 0, ERR_SYS, ERR_FORMAT, or ERR_AUTH if other users can access the file.
 */
int	 conn_key_read(const char *path, uint8_t key[CONN_KEY]);
void	 conn_key_text(const uint8_t key[CONN_KEY], char text[CONN_KEY_TEXT]);

/* What the connecting end is.  It says so in the name of its key, and who accepts another refuses it. */
#define CONN_WORKER	"worker"	/* of a server */
#define CONN_READER	"reader"	/* of a dataset server's records */
#define CONN_MEMBER	"member"	/* a server or worker that joins a rendezvous */

/*
 * Starts to connect to "host:port" or "[v6]:port".  key [CONN_KEY]; NULL: plain.  The key and the role, one of the
 * above, are lent until the connection is open or closed.  Returns 0, ERR_FORMAT, ERR_SYS (with the errno of
 * connect(2)) or ERR_NOMEM.
 */
int	 conn_dial(const char *addr, const uint8_t *key, const char *role, struct conn **c);
/*
 * Makes a connection of an accepted socket, to a peer of this role, and owns the socket, even on failure.  Returns 0 or
 * ERR_NOMEM.
 */
int	 conn_take(int fd, const uint8_t *key, const char *role, struct conn **c);
/*
 * Before the first conn_run() of an accepting end with a key: refuses a peer whose ClientHello is in h (wire/tls.h),
 * and adds that of another.  h is lent until the connection is open or closed.
 */
struct tls_hellos;
void	 conn_refuse_repeats(struct conn *c, struct tls_hellos *h);
/*
 * Closes in order and drops what is queued: to send it all, call conn_run() until conn_queued() is 0.  NULL does
 * nothing.
 */
void	 conn_close(struct conn *c);

int	 conn_fd(const struct conn *c);
/* POLLIN and POLLOUT that conn_run() waits for.  conn_next() and conn_send() may change them. */
short	 conn_events(const struct conn *c);
bool	 conn_open(const struct conn *c);	/* the handshake is complete, and the connection not broken */
/*
 * Of an accepting end: whether the peer belongs to the job.  With a key its first bytes show this, which only a holder
 * of the key can make.  Without one it is known when the handshake is complete.
 */
bool	 conn_credible(const struct conn *c);
bool	 conn_refused(const struct conn *c);	/* nobody listens there */
const char *conn_peer(const struct conn *c);	/* "host:port" for messages */
/* Writes the numeric address of the peer, for conn_dial() without a lookup.  Nothing if the peer has disconnected. */
void	 conn_reached(const struct conn *c, char where[ADDR_TEXT]);
double	 conn_age_s(const struct conn *c);	/* seconds since conn_dial() or conn_take() */

/*
 * Sends and receives what it can without waiting.  Returns 0, ERR_PEER (closed or broken), ERR_AUTH (the peer does not
 * hold the key), ERR_FORMAT or ERR_LIMIT (invalid messages), ERR_SYS or ERR_NOMEM; the line names the peer.  It
 * reports an error only after conn_next() has returned all messages before it, and again in each later call.  A call
 * and the calls of conn_next() after it move at most 1 MB each way; through shared memory they send as long as the
 * peer reads.  It reads nothing while CONN_WAITING bytes of
 * messages wait: call conn_next() until it returns 0.
 */
#define CONN_WAITING	(256u << 10)
int	 conn_run(struct conn *c);
/*
 * If conn_run() is called every second, a peer whose host does not answer TCP for this time is lost (ERR_PEER).  This
 * takes at most a fifth longer on an idle connection, and at most twice the time while messages are under way.  A
 * process that is stopped, or does not read, is not lost.
 */
#define CONN_SILENCE_S	30.0
void	 conn_set_silence(struct conn *c, double s);
/*
 * Whether the peer's host, or the network, has left what was sent to it unanswered for over a second, as conn_run()
 * last saw it.  The host of a process that is stopped answers.
 */
bool	 conn_unanswered(const struct conn *c);
/* Whether the network still carries what was sent to the peer, as conn_run() last saw it. */
bool	 conn_carries(const struct conn *c);
/* Reads TALLY_SILENCE, from 1 to 1e6 seconds; CONN_SILENCE_S if it is unset.  Returns 0, ERR_FORMAT or ERR_LIMIT. */
int	 conn_silence(double *s);
/*
 * Queues a message.  Returns 0, ERR_NOMEM, or ERR_LIMIT if more than CONN_QUEUE bytes would wait.  A broken connection
 * drops the message, and conn_run() reports the error.
 */
#define CONN_QUEUE	(128u << 20)
int	 conn_send(struct conn *c, const struct msg *m);
/* Whether fewer than CONN_AHEAD bytes are queued.  A sender of much data stops when there is no room. */
#define CONN_AHEAD	(4u << 20)
bool	 conn_room(const struct conn *c);
size_t	 conn_queued(const struct conn *c);	/* bytes that wait to be sent */
/* bytes on the socket, with those of TLS, and in shared memory, with those of payloads that are lent */
void	 conn_byte_counts(const struct conn *c, uint64_t *received, uint64_t *sent);
/*
 * Returns 1 and the next complete message, its payload aligned to 8 bytes, or 0 if there is none.  It reads on when all
 * that was received is taken, so that the memory of a message is reused while it is in the cache.
 */
int	 conn_next(struct conn *c, struct msg *m);

/*
 * Returns the place where the payload of m [m->len] is to be received, or NULL for the connection's own memory.  m has
 * no payload yet.  The place is lent until conn_next() returns the message or the connection is closed.
 */
typedef void *conn_place_fn(void *arg, const struct msg *m);
/*
 * Asks `place` for long messages, when conn_next() has returned all messages before; NULL: not.  A payload that is
 * being received goes on to its place.
 */
void	 conn_set_place(struct conn *c, conn_place_fn *place, void *arg);

/*
 * Before the first conn_run(): moves the messages through shared memory (wire/path/shm.h) if the peer calls this too
 * and is a process of the same host, network namespace and user.  Else the socket carries them.  An accepting end sends
 * nothing before its peer's first message, which is for the connecting end to send.  The socket stays open: its end is
 * that of the peer.  conn_fd() changes when the memory comes into use.  The accepting end makes the memory: two rings
 * of at most `ring` bytes each, or of the least that is possible (wire/path/shm.h).
 */
void	 conn_use_shm(struct conn *c, size_t ring);
/*
 * Lends a memory to the peer: through shared memory, payloads of gradients and weights that are `lasting` and in it are
 * sent by their place alone.  l is copied; it and its descriptor are lent until the connection is closed.
 */
void	 conn_lend(struct conn *c, const struct loan *l);
/*
 * The peer may lend a memory of at most `most` bytes (0).  Payloads of conn_next() in it are `lasting`, and aligned to
 * 4 bytes; they are there until the connection is closed.
 */
void	 conn_borrow(struct conn *c, size_t most);
/*
 * Before the first conn_run(), and of a connection without a key: moves the messages through the UCX library
 * (wire/path/ucx.h).  If an accepting peer does not call this, the connecting end fails with ERR_NOTSUP; if a
 * connecting one does not, the socket carries the messages.  In all else as conn_use_shm().
 */
void	 conn_use_ucx(struct conn *c);
enum conn_transport {
	CONN_AUTO,	/* shared memory with processes of this host, else the socket */
	CONN_TCP,	/* the socket */
	CONN_UCX,
};
/*
 * Reads TALLY_TRANSPORT, and loads UCX if it is asked for.  Returns 0, ERR_ARG if the value is none of "auto", "tcp"
 * and "ucx", or asks for UCX in a job with a key, or ERR_NOTSUP where UCX does not start; the line says so.
 */
int	 conn_transport(const uint8_t *key, enum conn_transport *t);

#endif
