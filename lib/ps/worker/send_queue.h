/*
 * send_queue - messages that wait to be sent to a server, in the order in which they are needed.
 *
 * Messages leave in the order in which they were put, except gradients without another message between them: the one of
 * the first slice leaves first, as the next forward pass needs its weights first and backward makes it last.  Putting
 * and taking one of n messages takes O(log n).
 *
 * Ownership: payloads are the caller's.  Threads: one at a time.
 */
#ifndef PS_WORKER_SEND_QUEUE_H
#define PS_WORKER_SEND_QUEUE_H

#include "wire/msg.h"

struct send_item {
	uint64_t	 group;		/* of gradients without another message between them, or of one message */
	uint64_t	 nth;		/* in the order of send_queue_put() */
	struct msg	 m;
};

struct send_queue {
	struct send_item *heap;		/* [cap], the first one leaves next */
	uint32_t	 n, cap;
	uint64_t	 group, nth;	/* of the last message put */
	bool		 gradient;	/* it was a gradient */
};

int	 send_queue_init(struct send_queue *q, uint32_t cap);	/* 0 or ERR_NOMEM */
void	 send_queue_free(struct send_queue *q);			/* leaves a struct of zeros */
/* Fewer than cap messages wait. */
void	 send_queue_put(struct send_queue *q, const struct msg *m);
/* At least one message waits. */
struct msg send_queue_take(struct send_queue *q);
void	 send_queue_clear(struct send_queue *q);

#endif
