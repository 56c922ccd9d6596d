/* send_queue - messages that wait to be sent to a server, in the order in which they are needed. */
#include "ps/worker/send_queue.h"

#include <assert.h>
#include <stdlib.h>

int
send_queue_init(struct send_queue *q, uint32_t cap)
{
	*q = (struct send_queue){ .cap = cap, .heap = calloc(cap, sizeof(*q->heap)) };
	return q->heap == NULL ? err_nomem() : 0;
}

void
send_queue_free(struct send_queue *q)
{
	free(q->heap);
	*q = (struct send_queue){ 0 };
}

static bool
is_sent_before(const struct send_item *a, const struct send_item *b)
{
	if (a->group != b->group)
		return a->group < b->group;
	return a->m.slice != b->m.slice ? a->m.slice < b->m.slice : a->nth < b->nth;
}

void
send_queue_put(struct send_queue *q, const struct msg *m)
{
	bool gradient = m->type == MSG_PUSH;
	struct send_item item = { .nth = ++q->nth, .m = *m };
	uint32_t at = q->n++;

	assert(q->n <= q->cap);
	q->group += !gradient || !q->gradient;
	q->gradient = gradient;
	item.group = q->group;
	for (; at > 0 && is_sent_before(&item, &q->heap[(at - 1) / 2]); at = (at - 1) / 2)
		q->heap[at] = q->heap[(at - 1) / 2];
	q->heap[at] = item;
}

struct msg
send_queue_take(struct send_queue *q)
{
	struct msg first = q->heap[0].m;
	const struct send_item *last = &q->heap[--q->n];
	uint32_t at = 0, next;

	while ((next = 2 * at + 1) < q->n) {
		next += next + 1 < q->n && is_sent_before(&q->heap[next + 1], &q->heap[next]);
		if (!is_sent_before(&q->heap[next], last))
			break;
		q->heap[at] = q->heap[next];
		at = next;
	}
	q->heap[at] = *last;
	return first;
}

void
send_queue_clear(struct send_queue *q)
{
	q->n = 0;
}
