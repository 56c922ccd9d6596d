/* claim_test - what decides whether a second process takes a worker's place: signs on the first one's connection, and time. */
#include "tap.h"

#include "ps/server/claim.h"

#define S CLAIM_SILENCE_S

/* Looks as soon as it may help; *now goes on to then. */
static enum claim_verdict
look(struct claim *c, double *now, uint64_t received, uint64_t sent, size_t queued)
{
	*now = c->until;
	return claim_look(c, &(struct claim_sign){ received, sent, queued }, *now);
}

int
main(void)
{
	const struct claim_sign idle = { 100, 200, 0 }, busy = { 100, 200, 1 << 20 };
	enum claim_verdict v;
	struct claim c;
	double now;

	claim_begin(&c, &idle, 1000);
	ok(c.until > 1000 && c.until <= 1000 + S, "a claim has a time to look again");
	is(claim_look(&c, &idle, 1000 + S / 2), CLAIM_OPEN, "nothing is decided before that time");
	is(look(&c, &now, 100, 200, 0), CLAIM_GRANTED, "a first one that says nothing has gone");

	claim_begin(&c, &idle, 1000);
	is(look(&c, &now, 100, 269, 0), CLAIM_GRANTED, "the question itself is no sign");

	claim_begin(&c, &idle, 1000);
	is(look(&c, &now, 101, 200, 0), CLAIM_OPEN, "a byte from it is");
	is(look(&c, &now, 101, 200, 0), CLAIM_GRANTED, "signs of life delay the takeover for a while");
	ok(now <= 1000 + 2 * S, "the delay has the same length again");

	claim_begin(&c, &busy, 1000);
	is(look(&c, &now, 100, 300, 1 << 19), CLAIM_OPEN, "what is sent to it while more waits is a sign");
	is(look(&c, &now, 100, 300, 1 << 19), CLAIM_GRANTED, "a queue that stands still is none");

	claim_begin(&c, &busy, 1000);
	v = CLAIM_OPEN;
	for (uint64_t i = 0; v == CLAIM_OPEN && i < 1000; i++)
		v = look(&c, &now, 101 + i, 201 + i, 1 << 20);
	is(v, CLAIM_REFUSED, "a connection that only moves bytes is there in the end");
	ok(now <= 1000 + CLAIM_MOST_S, "a worker that only moves bytes is refused in bounded time");
	return done();
}
