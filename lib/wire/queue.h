/*
 * queue - bytes that wait to be sent, in blocks that are reused.
 *
 * A struct queue of zeros is empty.  Short messages share a block, so that one write sends them.  Long ones may be
 * lent: then the queue refers to the caller's bytes.  A few empty blocks, and all for lent bytes, remain allocated, so
 * that a steady stream allocates nothing.
 */
#ifndef WIRE_QUEUE_H
#define WIRE_QUEUE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct queue_block;

struct queue_spares {
	struct queue_block *first;
	size_t	 n;
};

struct queue {
	struct queue_block *first, *last;	/* blocks with bytes */
	struct queue_spares spare;		/* empty blocks */
	struct queue_spares ref;		/* blocks without room, for lent bytes */
	size_t	 n;				/* bytes waiting */
};

/* Reserves room for n bytes in the next calls of queue_put().  Returns 0 or ERR_NOMEM. */
int	 queue_room(struct queue *q, size_t n);
/* Appends n bytes, for which queue_room() made room. */
void	 queue_put(struct queue *q, const void *p, size_t n);
/*
 * Appends nhead bytes in 1..QUEUE_HEAD, copied, and n > 0 bytes that are lent until they are dropped.  Returns 0 or
 * ERR_NOMEM.
 */
#define QUEUE_HEAD	64u
int	 queue_lend(struct queue *q, const void *head, size_t nhead, const void *p, size_t n);
/* Points *p to the first bytes and returns how many are contiguous, 0 if the queue is empty. */
size_t	 queue_front(const struct queue *q, const uint8_t **p);
/* Points up to n vectors to the first bytes, at most `most`, and returns how many there are. */
int	 queue_vectors(const struct queue *q, struct iovec *v, int n, size_t most);
/* Drops the first n bytes of those that wait. */
void	 queue_drop(struct queue *q, size_t n);
void	 queue_free(struct queue *q);		/* leaves an empty queue */

#endif
