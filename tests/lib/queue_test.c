/* queue_test - bytes leave in the order they came, whatever the pieces. */
#include "base/rng.h"
#include "tap.h"
#include "wire/queue.h"

enum { MOST = 700000 };

/* Puts and drops random pieces; every byte is its own number. */
static unsigned
play(uint64_t seed)
{
	static uint8_t piece[MOST];
	struct rng r = rng_start(seed, 0, 0);
	struct queue q = { 0 };
	uint64_t in = 0, out = 0;
	unsigned wrong = 0;
	const uint8_t *p;

	for (int i = 0; i < 200; i++) {
		size_t n = (size_t)rng_below(&r, rng_below(&r, 4) == 0 ? MOST : 100), front;

		for (size_t j = 0; j < n; j++)
			piece[j] = (uint8_t)((in + j) * 31);
		wrong += queue_room(&q, n) != 0;
		queue_put(&q, piece, n / 3);
		queue_put(&q, piece + n / 3, n - n / 3);
		in += n;
		wrong += q.n != in - out;
		for (uint64_t goal = out + rng_below(&r, q.n + 1); out < goal && (front = queue_front(&q, &p)) > 0; out += n) {
			n = 1 + (size_t)rng_below(&r, front);
			for (size_t j = 0; j < n; j++)
				wrong += p[j] != (uint8_t)((out + j) * 31);
			queue_drop(&q, n);
		}
	}
	queue_free(&q);
	return wrong;
}

int
main(void)
{
	struct queue q = { 0 };
	const uint8_t *p;

	is(play(1) + play(2) + play(3), 0, "random pieces in and out, every byte in its place");
	is(queue_front(&q, &p), 0, "an empty queue has no front");
	queue_drop(&q, 0);
	is(queue_room(&q, 3), 0, "room");
	queue_put(&q, "abc", 3);
	ok(queue_front(&q, &p) == 3 && memcmp(p, "abc", 3) == 0, "what was put is in front");
	queue_drop(&q, 3);
	ok(queue_front(&q, &p) == 0 && q.n == 0, "and gone when dropped");
	queue_free(&q);
	queue_free(&q);
	is(q.nspare, 0, "a freed queue is empty");
	return done();
}
