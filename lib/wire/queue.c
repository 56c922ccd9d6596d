/* queue - bytes that wait to be sent, in blocks that are reused. */
#include "wire/queue.h"
#include "base/err.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK	(64u << 10)	/* bytes of a block: some records of TLS */
#define KEPT	16u		/* spare blocks that stay allocated; those for lent bytes are small, and all stay */

struct queue_block {
	struct queue_block *next;
	const uint8_t *p;	/* p[at..n) waits; own[] or lent */
	size_t	 at, n;
	size_t	 cap;		/* bytes of own[] that queue_put() may fill; 0: lent bytes, or those before them */
	uint8_t	 own[];
};

static struct queue_block *
new_block(size_t cap)
{
	struct queue_block *b = malloc(sizeof(*b) + (cap > 0 ? cap : QUEUE_HEAD));

	if (b == NULL)
		return NULL;
	b->p = b->own;
	b->cap = cap;
	return b;
}

static void
add_spare(struct queue_spares *s, struct queue_block *b)
{
	b->next = s->first;
	s->first = b;
	s->n++;
}

static struct queue_block *
take_spare(struct queue_spares *s)
{
	struct queue_block *b = s->first;

	if (b == NULL)
		return NULL;
	s->first = b->next;
	s->n--;
	return b;
}

static size_t
count_room(const struct queue_block *b)
{
	return b != NULL && b->cap > 0 ? b->cap - b->n : 0;
}

int
queue_room(struct queue *q, size_t n)
{
	size_t have = count_room(q->last) + q->spare.n * BLOCK;
	struct queue_block *b;

	for (; have < n; have += BLOCK) {
		if ((b = new_block(BLOCK)) == NULL)
			return err_nomem();
		add_spare(&q->spare, b);
	}
	return 0;
}

static void
append_block(struct queue *q, struct queue_block *b, size_t n)
{
	b->next = NULL;
	b->at = 0;
	b->n = n;
	q->n += n;
	if (q->last != NULL)
		q->last->next = b;
	else
		q->first = b;
	q->last = b;
}

void
queue_put(struct queue *q, const void *p, size_t n)
{
	const uint8_t *from = p;

	while (n > 0) {
		struct queue_block *b;
		size_t k;

		if (count_room(q->last) == 0) {
			b = take_spare(&q->spare);
			assert(b != NULL);
			append_block(q, b, 0);
		}
		b = q->last;
		k = n < b->cap - b->n ? n : b->cap - b->n;
		memcpy(b->own + b->n, from, k);
		b->n += k;
		q->n += k;
		from += k;
		n -= k;
	}
}

int
queue_lend(struct queue *q, const void *head, size_t nhead, const void *p, size_t n)
{
	struct queue_block *b;

	assert(nhead <= QUEUE_HEAD);
	while (q->ref.n < 2) {
		if ((b = new_block(0)) == NULL)
			return err_nomem();
		add_spare(&q->ref, b);
	}
	b = take_spare(&q->ref);
	memcpy(b->own, head, nhead);
	b->p = b->own;
	append_block(q, b, nhead);
	b = take_spare(&q->ref);
	b->p = p;
	append_block(q, b, n);
	return 0;
}

size_t
queue_front(const struct queue *q, const uint8_t **p)
{
	if (q->first == NULL)
		return 0;
	*p = q->first->p + q->first->at;
	return q->first->n - q->first->at;
}

int
queue_vectors(const struct queue *q, struct iovec *v, int n, size_t most)
{
	int k = 0;

	for (const struct queue_block *b = q->first; b != NULL && k < n && most > 0; b = b->next, k++) {
		size_t here = b->n - b->at < most ? b->n - b->at : most;

		v[k] = (struct iovec){ .iov_base = (void *)(uintptr_t)(b->p + b->at), .iov_len = here };
		most -= here;
	}
	return k;
}

/* Removes the first block, which is empty. */
static void
drop_block(struct queue *q)
{
	struct queue_block *b = q->first;

	q->first = b->next;
	if (q->first == NULL)
		q->last = NULL;
	if (b->cap == 0)
		add_spare(&q->ref, b);
	else if (q->spare.n < KEPT)
		add_spare(&q->spare, b);
	else
		free(b);
}

void
queue_drop(struct queue *q, size_t n)
{
	assert(n <= q->n);
	q->n -= n;
	while (n > 0) {
		struct queue_block *b = q->first;
		size_t k = n < b->n - b->at ? n : b->n - b->at;

		b->at += k;
		n -= k;
		if (b->at == b->n)
			drop_block(q);
	}
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
	free_blocks(q->spare.first);
	free_blocks(q->ref.first);
	*q = (struct queue){ 0 };
}
