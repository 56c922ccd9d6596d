/* queue_test - bytes leave in the order they came, whatever the pieces. */
#include "base/rng.h"
#include "tap.h"
#include "wire/queue.h"

enum { MOST = 700000 };

/* Returns how many of the bytes in the first vectors are not those that follow byte `out`. */
static unsigned
count_vectors(const struct queue *q, uint64_t out, int n, size_t most)
{
	struct iovec v[8];
	unsigned wrong = 0;
	size_t all = 0;

	n = queue_vectors(q, v, n, most);
	for (int i = 0; i < n; i++)
		for (size_t j = 0; j < v[i].iov_len; j++)
			wrong += ((uint8_t *)v[i].iov_base)[j] != (uint8_t)((out + all++) * 31);
	return wrong + (all > most) + (q->n > 0 && all == 0);
}

/* Puts, lends and drops random pieces; every byte is its own number. */
static unsigned
play(uint64_t seed)
{
	static uint8_t piece[MOST], lent[256 * 31 + MOST];
	struct rng r = rng_start(seed, 0, 0);
	struct queue q = { 0 };
	uint64_t in = 0, out = 0;
	unsigned wrong = 0;
	const uint8_t *p;

	for (size_t j = 0; j < sizeof(lent); j++)
		lent[j] = (uint8_t)(j * 31);
	for (int i = 0; i < 200; i++) {
		size_t n = (size_t)rng_below(&r, rng_below(&r, 4) == 0 ? MOST : 100), front;

		for (size_t j = 0; j < n; j++)
			piece[j] = (uint8_t)((in + j) * 31);
		wrong += queue_room(&q, n) != 0;
		queue_put(&q, piece, n / 3);
		queue_put(&q, piece + n / 3, n - n / 3);
		in += n;
		if (i % 3 == 0) {
			wrong += queue_lend(&q, lent + in % 256, 40, lent + (in + 40) % 256, 1000) != 0;
			in += 1040;
		}
		wrong += q.n != in - out;
		wrong += count_vectors(&q, out, 5, MOST / 4) > 0;
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

	static uint8_t own[3] = "abc";

	is(play(1) + play(2) + play(3), 0, "random pieces in and out, every byte in its place");
	ok(queue_lend(&q, own, 2, own, 3) == 0 && queue_front(&q, &p) == 2 && p != own && p[1] == 'b',
	    "the bytes before lent ones are copied");
	queue_drop(&q, 2);
	ok(queue_front(&q, &p) == 3 && p == own, "lent bytes are not copied");
	queue_drop(&q, 3);
	for (int i = 0; i < 100; i++)
		queue_lend(&q, own, 1, own, 3);
	ok(q.spare.n == 0 && q.last != NULL, "lent bytes need no large block");
	queue_drop(&q, 400);
	is(q.ref.n, 200, "blocks for lent bytes stay allocated");
	is(queue_front(&q, &p), 0, "an empty queue has no front");
	queue_drop(&q, 0);
	is(queue_room(&q, 3), 0, "room");
	queue_put(&q, "abc", 3);
	ok(queue_front(&q, &p) == 3 && memcmp(p, "abc", 3) == 0, "the bytes that were put are in front");
	queue_drop(&q, 3);
	ok(queue_front(&q, &p) == 0 && q.n == 0, "dropped bytes are gone");
	queue_free(&q);
	queue_free(&q);
	ok(q.spare.n == 0 && q.ref.n == 0, "a freed queue is empty");
	return done();
}
