/*
 * plain - bytes on a socket as they are, for a job without a key.
 *
 * Both ends send the line "tally/VERSION plain" and nothing before the peer's.  Nothing is authenticated or encrypted.
 * The functions mean what those of wire/tls.h with the same names mean, so that wire/conn.h can use either.
 *
 * The caller owns the socket.  No call waits for it, and writing to a closed one raises no signal.
 * Threads: one at a time.
 */
#ifndef WIRE_PLAIN_H
#define WIRE_PLAIN_H

#include "wire/queue.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plain;

int	 plain_new(int fd, bool server, struct plain **t);	/* 0 or ERR_NOMEM */
void	 plain_free(struct plain *t);				/* NULL does nothing */

/* Exchanges the lines.  Returns 1, 0 while it waits, ERR_AUTH if the peer sent another line, or ERR_PEER. */
int	 plain_shake(struct plain *t);
void	 plain_allow(struct plain *t, size_t bytes);
int	 plain_read(struct plain *t, void *p, size_t n, size_t *got);
/* Sends up to `most` of the first bytes of q and drops them; *put is 0 if the socket is full. */
int	 plain_send(struct plain *t, struct queue *q, size_t most, size_t *put);
void	 plain_byte_counts(const struct plain *t, uint64_t *received, uint64_t *sent);
int	 plain_down(const struct plain *t);
bool	 plain_wants_out(const struct plain *t);

#endif
