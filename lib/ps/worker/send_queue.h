/*
 * send_queue - messages that wait for the connection to a server, most urgent first.
 *
 * The queue keeps the order of send_queue_put(), with one exception: among gradients that no other message separates,
 * the first slice of the model leaves first.  The backward pass makes its gradient last, but the next forward pass
 * needs its weights first.  send_queue_put() and send_queue_take() take O(log n) for n messages.
 *
 * Ownership: payloads are the caller's.  Threads: one at a time.
 */
#ifndef PS_WORKER_SEND_QUEUE_H
#define PS_WORKER_SEND_QUEUE_H

#include "wire/msg.h"

struct send_item {
	uint64_t	 group;		/* gradients that no other message separates, or one other message */
	uint64_t	 nth;		/* number in the order of send_queue_put() */
	struct msg	 m;
};

struct send_queue {
	struct send_item *heap;		/* [cap], the first one leaves next */
	uint32_t	 n, cap;
	uint64_t	 group, nth;	/* group and number of the last message put */
	bool		 gradient;	/* the last message put was a gradient */
};

int	 send_queue_init(struct send_queue *q, uint32_t cap);	/* 0 or ERR_NOMEM */
void	 send_queue_free(struct send_queue *q);			/* leaves a struct of zeros */
/* Requires fewer than cap messages in the queue. */
void	 send_queue_put(struct send_queue *q, const struct msg *m);
/* Requires at least one message in the queue. */
struct msg send_queue_take(struct send_queue *q);
void	 send_queue_clear(struct send_queue *q);

#endif
