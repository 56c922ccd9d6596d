/*
 * ucx - messages between two processes through the UCX library (OpenUCX, UCP 1.10 or later), for InfiniBand, RoCE
 * and whatever else it moves bytes by.
 *
 * The library is loaded when a job asks for it.  Each connection has a UCP worker with one endpoint.  The first bytes
 * of a queue are sent as tagged messages of at most UCX_PART bytes each, from where they are, and received in that
 * order.  A payload that has a place of its own is received there.
 *
 * wire/conn_ucx.c agrees on it over an open connection: each end sends the address of its worker.  Nothing is
 * authenticated or encrypted.  The library does not say that a peer has ended, which the socket does.  A peer that
 * reads nothing holds 18 MiB at most; the rest stays in the queue.
 *
 * The calls mean what the functions of wire/path/shm.h with the same names mean.
 * Threads: one at a time for each struct ucx.
 */
#ifndef WIRE_PATH_UCX_H
#define WIRE_PATH_UCX_H

#include "wire/queue.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UCX_ADDRESS	16384u		/* most bytes of a worker's address */
#define UCX_PART	(1u << 20)

struct ucx;

struct ucx_calls {
	/* Loads the library.  Returns 0, or ERR_NOTSUP if it is not there or too old. */
	int	 (*load)(void);
	/* Makes a worker, and watches a socket of the caller's too.  Returns 0, ERR_SYS, ERR_NOMEM or ERR_NOTSUP. */
	int	 (*open)(int fd, struct ucx **u);
	/* Nothing refers to the queue or to the place of a payload any more.  NULL does nothing. */
	void	 (*close)(struct ucx *u);
	/* The worker's address, lent. */
	void	 (*address)(const struct ucx *u, const void **p, size_t *n);
	/* Makes the endpoint.  The address may be anything; it is copied here.  Returns 0, ERR_NOMEM or ERR_PEER. */
	int	 (*connect)(struct ucx *u, const void *address, size_t n);
	bool	 (*connected)(const struct ucx *u);
	/* Moves nothing more, without a wait: nothing refers to the queue any more.  No read() or want() follows. */
	void	 (*end)(struct ucx *u);
	int	 (*fd)(const struct ucx *u);
	void	 (*look)(struct ucx *u);
	bool	 (*signalled)(const struct ucx *u);
	/*
	 * To be called before the caller polls, since events are reported only from here on.  at_once: also if there
	 * are bytes to read already.
	 */
	void	 (*want)(struct ucx *u, bool at_once);
	void	 (*allow)(struct ucx *u, size_t bytes);
	/*
	 * As shm_read().  With `stays`, p is the same in each call until n bytes are received, so that they may be
	 * received there directly.  Returns 0, ERR_NOMEM, ERR_FORMAT or ERR_PEER.
	 */
	int	 (*read)(struct ucx *u, void *p, size_t n, bool stays, size_t *got);
	bool	 (*empty)(const struct ucx *u);
	/* Sends the bytes of q, which drops them when the library needs them no more.  Returns 0 or ERR_PEER. */
	int	 (*send)(struct ucx *u, struct queue *q);
	/* Whether the peer's side has all that left the queue.  It may take some time, and calls of send(). */
	bool	 (*delivered)(const struct ucx *u);
	void	 (*byte_counts)(const struct ucx *u, uint64_t *received, uint64_t *sent);
};

/* A build without the library's headers has none. */
extern const struct ucx_calls ucx_calls;

#endif
