/* gate_test - who may step: bulk synchronous, stale, asynchronous. */
#include "tap.h"

#include "ps/gate.h"

int
main(void)
{
	struct gate g;

	gate_init(&g, 3, GATE_SYNC);
	ok(gate_open(&g, 0) && gate_open(&g, 2), "all may begin");
	gate_done(&g, 0, 1);
	ok(!gate_open(&g, 0) && gate_open(&g, 1), "slack 0: who did a step waits");
	gate_done(&g, 1, 1);
	ok(!gate_open(&g, 1), "... for all");
	gate_done(&g, 2, 1);
	ok(gate_open(&g, 0) && gate_open(&g, 1) && gate_open(&g, 2), "... and then all go on");
	gate_done(&g, 2, 0);
	is(g.clock[2], 1, "clocks never go back");
	gate_done(&g, 0, 2);
	gate_done(&g, 1, 2);
	gate_leave(&g, 2);
	ok(gate_open(&g, 0), "who left is not waited for");
	gate_join(&g, 2);
	is(g.clock[2], 2, "who comes back is no further behind than the slowest");
	gate_done(&g, 0, 3);
	ok(!gate_open(&g, 0), "... and waited for again");
	gate_leave(&g, 0);
	gate_leave(&g, 1);
	gate_leave(&g, 2);
	ok(gate_open(&g, 0), "with nobody left nobody waits");
	gate_free(&g);

	gate_init(&g, 2, 2);
	gate_done(&g, 0, 2);
	ok(gate_open(&g, 0), "slack 2: two steps ahead");
	gate_done(&g, 0, 3);
	ok(!gate_open(&g, 0), "... and no more");
	gate_free(&g);

	gate_init(&g, 2, GATE_ASYNC);
	gate_done(&g, 0, UINT64_C(1) << 40);
	ok(gate_open(&g, 0), "asynchronous: any number");
	gate_free(&g);
	return done();
}
