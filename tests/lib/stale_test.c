/* stale_test - who may step: bulk synchronous, stale, asynchronous. */
#include "base/rng.h"
#include "tap.h"

#include "ps/stale.h"

enum { MANY = 5 };

/* The steps of the slowest worker that has not left, by looking at all. */
static uint64_t
look_for_slowest(const struct stale *g)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t w = 0; w < g->n; w++)
		if (!g->gone[w] && g->clock[w] < least)
			least = g->clock[w];
	return least;
}

/* Random steps, departures and returns.  Returns how often the slowest worker or a permission was wrong. */
static unsigned
play(uint64_t seed)
{
	uint64_t clock[MANY] = { 0 };
	struct rng r = rng_start(seed, 0, 0);
	unsigned wrong = 0;
	struct stale g;

	stale_init(&g, clock, MANY, 2);
	for (int i = 0; i < 2000; i++) {
		uint32_t w = (uint32_t)rng_below(&r, MANY), what = (uint32_t)rng_below(&r, 10);
		uint64_t least;

		if (what == 0)
			stale_leave(&g, w);
		else if (what == 1)
			stale_join(&g, w);
		else if (!g.gone[w] && stale_may_step(&g, w))
			stale_done(&g, w, clock[w] + 1);
		least = look_for_slowest(&g);
		wrong += what < 8 && stale_least(&g) != least;
		wrong += least < UINT64_MAX && stale_may_step(&g, w) != (clock[w] <= least + 2);
	}
	stale_free(&g);
	return wrong;
}

int
main(void)
{
	uint64_t three[3] = { 0 }, two[2] = { 0 }, others[2] = { 0 };
	struct stale g;

	is(play(1) + play(2) + play(3), 0, "the slowest worker is known after random steps, departures and returns");
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
	ok(stale_may_step(&g, 0), "a worker that left is not waited for");
	stale_join(&g, 2);
	is(g.clock[2], 2, "a worker that returns is no further behind than the slowest");
	stale_done(&g, 0, 3);
	ok(!stale_may_step(&g, 0), "a worker that came back is waited for");
	stale_leave(&g, 0);
	stale_leave(&g, 1);
	stale_leave(&g, 2);
	ok(stale_may_step(&g, 0), "a worker does not wait if all others have left");
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
