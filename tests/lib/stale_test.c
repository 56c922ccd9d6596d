/* stale_test - who may step: bulk synchronous, stale, asynchronous. */
#include "tap.h"

#include "ps/stale.h"

int
main(void)
{
	uint64_t three[3] = { 0 }, two[2] = { 0 }, others[2] = { 0 };
	struct stale g;

	stale_init(&g, three, 3, STALE_SYNC);
	ok(stale_may_step(&g, 0) && stale_may_step(&g, 2), "all may begin");
	stale_done(&g, 0, 1);
	ok(!stale_may_step(&g, 0) && stale_may_step(&g, 1), "slack 0: who did a step waits");
	stale_done(&g, 1, 1);
	ok(!stale_may_step(&g, 1), "slack 0: all wait for the slowest");
	stale_done(&g, 2, 1);
	ok(stale_may_step(&g, 0) && stale_may_step(&g, 1) && stale_may_step(&g, 2),
	    "slack 0: all proceed once the step is complete");
	stale_done(&g, 2, 0);
	is(g.clock[2], 1, "clocks never go back");
	stale_done(&g, 0, 2);
	stale_done(&g, 1, 2);
	stale_leave(&g, 2);
	ok(stale_may_step(&g, 0), "who left is not waited for");
	stale_join(&g, 2);
	is(g.clock[2], 2, "who comes back is no further behind than the slowest");
	stale_done(&g, 0, 3);
	ok(!stale_may_step(&g, 0), "a worker that came back is waited for");
	stale_leave(&g, 0);
	stale_leave(&g, 1);
	stale_leave(&g, 2);
	ok(stale_may_step(&g, 0), "with nobody left nobody waits");
	stale_free(&g);

	stale_init(&g, two, 2, 2);
	stale_done(&g, 0, 2);
	ok(stale_may_step(&g, 0), "slack 2: two steps ahead");
	stale_done(&g, 0, 3);
	ok(!stale_may_step(&g, 0), "slack 2: a third step ahead is refused");
	stale_free(&g);

	stale_init(&g, others, 2, STALE_ASYNC);
	stale_done(&g, 0, UINT64_C(1) << 40);
	ok(stale_may_step(&g, 0), "asynchronous: any number");
	stale_free(&g);
	return done();
}
