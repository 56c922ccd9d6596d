/* slack_test - no worker is further ahead than the slack, and every push is applied once,
    despite deaths and repeats. */
#include "law/seeds.h"
#include "law/world.h"
#include "tap.h"

#include <inttypes.h>

#define STEPS 9

static struct seeds asked;
static uint64_t schedules, changes, deaths, kills;	/* of settings, of workers, of servers */

/* With gradients of 1 and nothing else, every weight counts the pushes (slack 0: the steps), times their rates. */
static struct world
draw(uint64_t seed, uint32_t slack)
{
	struct rng c = rng_start(seed, 0, 0);
	struct world x = { .seed = seed, .slack = slack, .counting = true };

	world_draw_job(&x, &c, 2, true);
	return x;
}

static void
many(uint32_t slack, uint32_t repeats, uint32_t crashes, uint32_t dying, const char *name)
{
	const struct seeds s = seeds_or(&asked, 300);
	uint64_t furthest = 0, good = 0;

	for (uint64_t seed = s.from; seed <= s.to && good + WORLD_BAD > seed - s.from; seed++) {
		struct world x = draw(seed, slack);
		bool well;

		x.repeats = repeats;
		x.crashes = crashes;
		x.kills = dying;
		x.sets = seed % 2 ? 5 : 0;
		x.trace = s.trace;
		world_open(&x, STEPS);
		well = world_run(&x) && world_counts(&x, STEPS) && x.furthest <= changes_slack(&x.changes, slack);
		if (!well)
			printf("# seed %llu: %s\n", (unsigned long long)seed, x.why);
		good += well;
		if (x.changes.heard.n == 0)
			furthest = x.furthest > furthest ? x.furthest : furthest;
		changes += x.changes.heard.n;
		deaths += x.died;
		kills += x.killed;
		world_close(&x);
	}
	schedules += seeds_count(&s);
	is(good, seeds_count(&s), "%s: every push counts once", name);
	if (asked.to > 0)
		return;
	if (slack == STALE_ASYNC)
		ok(furthest > 1, "%s: workers are up to %u steps ahead", name, (unsigned)furthest);
	else
		is(furthest, slack, "%s: the fastest worker is as far ahead as the slack allows", name);
}

/* How far the others get while one worker's messages are held. */
static uint64_t
with_one_slow(uint32_t slack)
{
	struct world x = draw(7, slack);
	uint64_t ahead = 0;
	bool good;

	world_open(&x, STEPS);
	while (x.actor[0].phase != PUSH)
		world_turn(&x);
	for (uint32_t s = 0; s < x.S; s++)
		pair_hold(x.net, 0, x.W + s, true);
	for (unsigned i = 0; i < 100000; i++)
		world_turn(&x);
	for (uint32_t r = 1; r < x.W; r++)
		if (x.actor[r].step - x.actor[0].step > ahead)
			ahead = x.actor[r].step - x.actor[0].step;
	for (uint32_t s = 0; s < x.S; s++)
		pair_hold(x.net, 0, x.W + s, false);
	good = world_run(&x) && world_counts(&x, STEPS);
	world_close(&x);
	return good ? ahead : UINT64_MAX;
}

int
main(int argc, char **argv)
{
	if (!seeds_parse(argc, argv, &asked))
		return 2;
	many(STALE_SYNC, 20, 2, 0, "slack 0");
	many(1, 50, 0, 0, "slack 1");
	many(3, 50, 0, 0, "slack 3");
	many(3, 20, 2, 0, "slack 3 with deaths");
	many(STALE_ASYNC, 50, 0, 0, "asynchronous");
	many(STALE_ASYNC, 20, 2, 0, "asynchronous with deaths");
	many(STALE_SYNC, 20, 0, 4, "slack 0 with deaths of servers");
	many(2, 20, 0, 4, "slack 2 with deaths of servers");
	many(2, 20, 2, 4, "slack 2 with deaths of servers and workers");
	many(STALE_ASYNC, 20, 0, 4, "asynchronous with deaths of servers");
	many(STALE_ASYNC, 20, 2, 4, "asynchronous with deaths of servers and workers");
	if (asked.to == 0) {
		ok(changes > schedules / 2, "settings change: %" PRIu64 " in %" PRIu64 " jobs", changes, schedules);
		is(with_one_slow(STALE_SYNC), 0, "slack 0: all wait for a slow worker");
		is(with_one_slow(2), 2, "slack 2: the others wait when they are two steps ahead");
		is(with_one_slow(STALE_ASYNC), STEPS, "asynchronous: the others finish");
	}
	printf("# %" PRIu64 " schedules\n# %" PRIu64 " changes of settings\n# %" PRIu64 " deaths of workers\n# %" PRIu64
	    " deaths of servers\n", schedules, changes, deaths, kills);
	return done();
}
