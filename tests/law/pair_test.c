/* pair_test - the network in memory loses and reorders nothing on a link, and depends on the seed alone. */
#include "tap.h"
#include "law/pair.h"

#include <stdint.h>

enum { PARTIES = 4, EACH = 50 };

/* Every party sends EACH numbered messages to every party; the order of delivery is written down. */
static unsigned
play(uint64_t seed, uint8_t order[PARTIES * PARTIES * EACH], unsigned *overtaken)
{
	struct pair *p = pair_new(PARTIES, seed);
	uint64_t expect[PARTIES][PARTIES] = { { 0 } };
	unsigned from, to, n = 0;
	struct msg m;

	for (uint64_t step = 0; step < EACH; step++)
		for (from = 0; from < PARTIES; from++)
			for (to = 0; to < PARTIES; to++)
				pair_send(p, from, to, &(struct msg){ .type = MSG_PUSH, .step = step, .worker = from, .slice = to });
	for (*overtaken = 0; pair_next(p, &from, &to, &m) == 1; n++) {
		order[n] = (uint8_t)(from * PARTIES + to);
		*overtaken += m.worker != from || m.slice != to || m.step != expect[from][to]++;
	}
	pair_free(p);
	return n;
}

static void
test_order(void)
{
	static uint8_t a[PARTIES * PARTIES * EACH], b[sizeof(a)], c[sizeof(a)];
	unsigned overtaken, first[PARTIES * PARTIES] = { 0 }, least = UINT32_MAX;

	is(play(7, a, &overtaken), sizeof(a), "every message is delivered once");
	is(overtaken, 0, "no message overtakes another on its link");
	play(7, b, &overtaken);
	ok(memcmp(a, b, sizeof(a)) == 0, "the same seed gives the same order");
	play(8, c, &overtaken);
	ok(memcmp(a, c, sizeof(a)) != 0, "another seed gives another order");
	for (uint64_t seed = 0; seed < 800; seed++) {
		play(seed, c, &overtaken);
		first[c[0]]++;
	}
	for (unsigned i = 0; i < PARTIES * PARTIES; i++)
		least = first[i] < least ? first[i] : least;
	ok(least > 20, "any link may be the first (the rarest: %u of 800, 50 expected)", least);
}

static void
test_copies(void)
{
	struct pair *p = pair_new(2, 1);
	char text[] = "payload";
	unsigned from, to;
	struct msg m;

	pair_send(p, 0, 1, &(struct msg){ .type = MSG_REFUSE, .flags = MSG_LAST, .incarnation = 1ull << 40, .samples = 3,
	    .rate = 0.5f, .len = sizeof(text), .payload = text });
	memset(text, 'x', sizeof(text));
	is(pair_waiting(p), 1, "a message waits on its link");
	is(pair_next(p, &from, &to, &m), 1, "a message is delivered");
	ok(from == 0 && to == 1 && m.type == MSG_REFUSE && m.flags == MSG_LAST && m.incarnation == 1ull << 40 &&
	    m.samples == 3 && m.rate == 0.5f && m.len == sizeof(text), "a delivered message has all its fields");
	is_str(m.payload, "payload", "a message has the bytes that it had when it was sent");
	ok((uintptr_t)m.payload % 8 == 0, "a payload is aligned to 8");
	is(pair_next(p, &from, &to, &m), 0, "a message is delivered once");
	pair_send(p, 0, 1, &(struct msg){ .type = MSG_PUSH, .len = sizeof(text), .payload = text, .lasting = true });
	memset(text, 'y', 3);
	ok(pair_next(p, &from, &to, &m) == 1 && strncmp(m.payload, "yyyxx", 5) == 0,
	    "a lasting payload has the bytes that it has when it is delivered");
	pair_free(p);
	pair_free(NULL);
}

/* Sends steps first..first+n on a link. */
static void
send_steps(struct pair *p, unsigned from, unsigned to, uint64_t first, unsigned n)
{
	for (uint64_t i = 0; i < n; i++)
		pair_send(p, from, to, &(struct msg){ .type = MSG_PUSH, .step = first + i, .len = 4, .payload = "1234" });
}

static void
test_faults(void)
{
	struct pair *p = pair_new(3, 5);
	unsigned from, to, n = 0;
	struct msg m;

	send_steps(p, 0, 1, 0, 3);
	send_steps(p, 1, 0, 0, 3);
	send_steps(p, 1, 1, 0, 3);
	send_steps(p, 2, 0, 0, 3);
	pair_cut(p, 1);
	is(pair_waiting(p), 3, "a crash loses the messages on the party's links");
	while (pair_next(p, &from, &to, &m) == 1)
		n += from == 2 && to == 0 && m.step == n;
	is(n, 3, "a crash loses no other messages");
	is(pair_repeat(p, 0, 1, 5), 0, "lost messages are not repeated");

	send_steps(p, 2, 0, 3, 2);
	is(pair_repeat(p, 2, 0, 2), 2, "a reconnection repeats the last messages");
	for (uint64_t step = 1; pair_next(p, &from, &to, &m) == 1; step++)
		ok(from == 2 && m.step == step && memcmp(m.payload, "1234", 4) == 0,
		    "step %d is repeated in order", (int)step);

	send_steps(p, 0, 2, 0, PAIR_KEPT + 4);
	while (pair_next(p, &from, &to, &m) == 1)
		;
	is(pair_repeat(p, 0, 2, 100), PAIR_KEPT, "a reconnection repeats at most PAIR_KEPT messages");
	is(pair_next(p, &from, &to, &m), 1, "a repeated message is delivered");
	is(m.step, 4, "the oldest message is repeated first");

	pair_hold(p, 0, 2, true);
	is(pair_next(p, &from, &to, &m), 0, "a held link delivers nothing");
	is(pair_waiting(p), PAIR_KEPT - 1, "a held link loses nothing");
	pair_hold(p, 0, 2, false);
	is(pair_next(p, &from, &to, &m), 1, "a released link delivers");
	is(m.step, 5, "a released link delivers the next message");
	pair_free(p);
}

int
main(void)
{
	test_order();
	test_copies();
	test_faults();
	return done();
}
