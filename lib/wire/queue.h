/*
 * queue - bytes that wait to be sent, in blocks that are used again.
 *
 * A struct queue of zeros is empty.  Small pieces share a block, so that they
 * leave together; a few empty blocks are kept, so that a steady stream asks the
 * system for no memory.
 */
#ifndef WIRE_QUEUE_H
#define WIRE_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct queue_block;

struct queue {
	struct queue_block *first, *last;	/* with bytes in them */
	struct queue_block *spare;
	size_t	 nspare;
	size_t	 n;				/* bytes waiting */
};

/* Makes sure that the next puts, n bytes in all, cannot fail.  0 or ERR_NOMEM. */
int	 queue_room(struct queue *q, size_t n);
/* Appends what queue_room made room for. */
void	 queue_put(struct queue *q, const void *p, size_t n);
/* The bytes in front; returns how many lie together, 0 when the queue is empty. */
size_t	 queue_front(const struct queue *q, const uint8_t **p);
/* Drops n bytes in front, at most what queue_front returned. */
void	 queue_drop(struct queue *q, size_t n);
void	 queue_free(struct queue *q);		/* and is empty again */

#endif
