/* send_queue_test - gradients leave in the order of their slices, and pass no other message. */
#include "base/rng.h"
#include "ps/worker/send_queue.h"
#include "tap.h"

#include <stdlib.h>

enum { MANY = 3000 };

static void
test_gradients(void)
{
	static const uint32_t slice[] = { 5, 3, 4, 9, 3 };
	struct send_queue q;
	uint64_t order = 0;

	is(send_queue_init(&q, 16), 0, "a queue is made");
	for (uint32_t i = 0; i < 5; i++)
		send_queue_put(&q, &(struct msg){ .type = MSG_PUSH, .slice = slice[i], .step = i });
	for (uint32_t i = 0; i < 5; i++)
		order = order * 10 + send_queue_take(&q).step;
	is(order, 14203, "gradients leave by slice, those of one slice in their order");

	send_queue_put(&q, &(struct msg){ .type = MSG_PUSH, .slice = 7, .step = 1 });
	send_queue_put(&q, &(struct msg){ .type = MSG_SUM, .slice = 1, .step = 2 });
	send_queue_put(&q, &(struct msg){ .type = MSG_EPOCH, .slice = 0, .step = 3 });
	send_queue_put(&q, &(struct msg){ .type = MSG_PUSH, .slice = 6, .step = 4 });
	send_queue_put(&q, &(struct msg){ .type = MSG_PUSH, .slice = 2, .step = 5 });
	order = send_queue_take(&q).step;
	send_queue_put(&q, &(struct msg){ .type = MSG_PUSH, .slice = 0, .step = 6 });
	while (q.n > 0)
		order = order * 10 + send_queue_take(&q).step;
	is(order, 123654, "no gradient passes another message, and no message a gradient");

	send_queue_put(&q, &(struct msg){ .type = MSG_BYE });
	send_queue_clear(&q);
	is(q.n, 0, "a queue that is cleared has no messages");
	send_queue_free(&q);
}

/* The message that leaves next, found by looking at all: the first of the lowest slice before the first other message. */
static uint32_t
find_next(const struct msg *m, uint32_t n)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < n && m[i].type == MSG_PUSH; i++)
		if (m[i].slice < m[first].slice)
			first = i;
	return first;
}

static void
test_any_order(void)
{
	static struct msg waiting[MANY];
	struct rng r = rng_start(1, 2, 3);
	uint32_t n = 0, wrong = 0, taken = 0;
	struct send_queue q;

	send_queue_init(&q, MANY);
	for (uint64_t nth = 0; taken < 10 * MANY; nth++) {
		bool gradient = rng_below(&r, 50) > 0;

		if (n < MANY && rng_below(&r, 2) == 0) {
			waiting[n] = (struct msg){ .type = gradient ? MSG_PUSH : MSG_PULL, .step = nth,
				.slice = (uint32_t)rng_below(&r, 100) };
			send_queue_put(&q, &waiting[n++]);
		} else if (n > 0) {
			uint32_t at = find_next(waiting, n);

			wrong += send_queue_take(&q).step != waiting[at].step;
			for (n--, taken++; at < n; at++)
				waiting[at] = waiting[at + 1];
		}
	}
	is(wrong, 0, "%u messages leave in the order of a search among all", taken);
	send_queue_free(&q);
}

int
main(void)
{
	test_gradients();
	test_any_order();
	return done();
}
