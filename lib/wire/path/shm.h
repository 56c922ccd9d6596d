/*
 * shm - bytes between two processes of one host, through memory that both have mapped.
 *
 * lib/wire/path moves the bytes of a connection otherwise than by its socket: shm, with loan (memory that a peer
 * reads), and ucx (InfiniBand and RoCE).
 *
 * The memory has a ring for each direction.  A writer copies bytes into its ring, and a reader copies them out before
 * it looks at them.  Two counters of a ring say how many bytes were written and read; each side keeps its own in
 * private memory as well, and checks the peer's against it.  So whatever the peer writes into the memory, a process
 * reads and writes only inside the rings.  The memory is sealed: its size cannot change, and no access raises SIGBUS.
 *
 * A process may also lend the other a memory of its own (wire/path/loan.h), of which messages then give only the place.
 *
 * An end that finds its ring empty or full stores in the memory the count that it waits for.  The other end sends a
 * byte on a socket once the count is reached.  Neither waits in a loop.
 *
 * wire/conn_shm.c agrees on the memory over an open connection:
 *
 *	the end that connected		shm_listen(): opens a socket, and sends its name and a token
 *	the other			shm_call(): makes the memory, and sends it to that socket with the token
 *	the first			shm_answer(): takes the memory that comes with the token
 *
 * The name is in the namespace of abstract sockets, which a network namespace has of its own, and both check that the
 * peer is a process of the same user.  So another host, namespace or user fails, and the connection stays as it is.
 *
 * Threads: one at a time for each struct shm.
 */
#ifndef WIRE_PATH_SHM_H
#define WIRE_PATH_SHM_H

#include "wire/queue.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHM_RING_LEAST	(64u << 10)	/* bytes of a ring, a power of two */
#define SHM_RING_MOST	(2u << 20)
#define SHM_NAME	16u		/* random bytes of the socket's name */
#define SHM_TOKEN	32u
#define SHM_OFFER	(SHM_NAME + SHM_TOKEN)

struct shm;

/* Makes an offer, and the socket where it is answered.  Returns 0 or ERR_SYS. */
int	 shm_listen(uint8_t offer[SHM_OFFER], int *fd);
/*
 * Makes a memory of two rings of that many bytes or fewer.  Returns 0, ERR_SYS or ERR_NOMEM, or ERR_AUTH if the peer is
 * another user's process.
 */
int	 shm_call(const uint8_t offer[SHM_OFFER], size_t ring, struct shm **s);
/* Returns 0, ERR_SYS or ERR_NOMEM, or ERR_AUTH if nothing valid has arrived. */
int	 shm_answer(int fd, const uint8_t offer[SHM_OFFER], struct shm **s);
void	 shm_free(struct shm *s);	/* what is written stays readable for the peer; NULL does nothing */

/* Watches a socket of the caller's too, whose end is that of the peer.  Returns 0 or ERR_SYS. */
int	 shm_watch(struct shm *s, int fd);
/* Readable when shm_look() and the calls below should follow. */
int	 shm_fd(const struct shm *s);
/* Takes the peer's signals.  Call it before shm_read() and shm_send(). */
void	 shm_look(struct shm *s);
/* The socket of shm_watch() was readable at the last shm_look(), or the peer has closed the memory's socket. */
bool	 shm_signalled(const struct shm *s);
bool	 shm_closed(const struct shm *s);
/*
 * Whether shm_fd() is readable at once if there may be bytes to read.  Without it, bytes that the last
 * shm_read() left do not make it readable.
 */
void	 shm_want(struct shm *s, bool at_once);

void	 shm_allow(struct shm *s, size_t bytes);	/* limits the next calls of shm_read() together */
/*
 * Reads up to n bytes; *got is 0 if there are none now, and then the peer signals when there are `least`, or when it
 * waits for room.  Returns 0, or ERR_FORMAT for an invalid count of the peer's.
 */
int	 shm_read(struct shm *s, void *p, size_t n, size_t least, size_t *got);
bool	 shm_empty(const struct shm *s);	/* the last shm_read() found nothing more */
/* Writes and drops the first bytes of q while there is room; else the peer signals when there is.  As shm_read(). */
int	 shm_send(struct shm *s, struct queue *q);
/* Lends the peer the memory of fd, once.  Returns 0 or ERR_SYS. */
int	 shm_lend(struct shm *s, int fd);
/*
 * Points *p to n bytes at an offset of the memory that the peer has lent, of at most `most` bytes.  Returns 0, ERR_SYS,
 * ERR_LIMIT, or ERR_FORMAT if there are no such bytes.
 */
int	 shm_borrowed(struct shm *s, size_t most, uint64_t at, size_t n, const void **p);
void	 shm_byte_counts(const struct shm *s, uint64_t *received, uint64_t *sent);

#endif
