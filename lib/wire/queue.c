/* queue - bytes that wait to be sent, in blocks that are reused. */
#include "wire/queue.h"
#include "base/err.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK	262144u		/* sixteen full TLS records */
#define KEPT	16u		/* spare blocks that stay allocated: a slice of 4 MB */

struct queue_block {
	struct queue_block *next;
	size_t	 at, n;		/* p[at..n) waits */
	uint8_t	 p[BLOCK];
};

int
queue_room(struct queue *q, size_t n)
{
	size_t have = (q->last != NULL ? BLOCK - q->last->n : 0) + q->nspare * BLOCK;
	struct queue_block *b;

	for (; have < n; have += BLOCK) {
		if ((b = malloc(sizeof(*b))) == NULL)
			return err_nomem();
		b->next = q->spare;
		q->spare = b;
		q->nspare++;
	}
	return 0;
}

static struct queue_block *
append_block(struct queue *q)
{
	struct queue_block *b = q->spare;

	assert(b != NULL);
	q->spare = b->next;
	q->nspare--;
	b->next = NULL;
	b->at = b->n = 0;
	if (q->last != NULL)
		q->last->next = b;
	else
		q->first = b;
	q->last = b;
	return b;
}

void
queue_put(struct queue *q, const void *p, size_t n)
{
	const uint8_t *from = p;

	while (n > 0) {
		struct queue_block *b = q->last != NULL && q->last->n < BLOCK ? q->last : append_block(q);
		size_t k = n < BLOCK - b->n ? n : BLOCK - b->n;

		memcpy(b->p + b->n, from, k);
		b->n += k;
		q->n += k;
		from += k;
		n -= k;
	}
}

size_t
queue_front(const struct queue *q, const uint8_t **p)
{
	if (q->first == NULL)
		return 0;
	*p = q->first->p + q->first->at;
	return q->first->n - q->first->at;
}

void
queue_drop(struct queue *q, size_t n)
{
	struct queue_block *b = q->first;

	if (n == 0)
		return;
	assert(b != NULL && n <= b->n - b->at);
	b->at += n;
	q->n -= n;
	if (b->at < b->n)
		return;
	q->first = b->next;
	if (q->first == NULL)
		q->last = NULL;
	if (q->nspare < KEPT) {
		b->next = q->spare;
		q->spare = b;
		q->nspare++;
	} else
		free(b);
}

static void
free_blocks(struct queue_block *b)
{
	while (b != NULL) {
		struct queue_block *next = b->next;

		free(b);
		b = next;
	}
}

void
queue_free(struct queue *q)
{
	free_blocks(q->first);
	free_blocks(q->spare);
	*q = (struct queue){ 0 };
}
