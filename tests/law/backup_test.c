/* backup_test - with backup workers a step takes gradients of its own weights only, and each as often as it closes,
    despite deaths and repeats. */
#include "law/seeds.h"
#include "law/world.h"
#include "tap.h"

#include <inttypes.h>

#define STEPS 9

static struct seeds asked;
static uint64_t schedules, deaths, kills, late, changes;

/* With gradients of 1 + their step and nothing else, a weight is the sum of them times their rates. */
static struct world
draw(uint64_t seed)
{
	struct rng c = rng_start(seed, 0, 0);
	struct world x = { .seed = seed, .counting = true };

	world_draw_job(&x, &c, 2, true);
	x.codec = NULL;
	x.backup = 1 + (uint32_t)rng_below(&c, x.W - 1);
	x.hyper.clip_norm = rng_below(&c, 4) ? 0 : 1e9f;	/* waits for norms, and clips nothing */
	return x;
}

static bool
counts(struct world *x)
{
	bool good = world_counts(x, STEPS);

	if (!good)
		world_fault(x, "a step has another gradient than its own");
	return good;
}

/* Without repeats each gradient that closes a step is answered once. */
static bool
takes(struct world *x)
{
	const struct shard_plan *p = worker_state_plan(x->actor[0].worker);
	uint64_t slices = 0;

	for (uint32_t i = 0; i < p->nweights; i++)
		slices += !p->slice[i].frozen;
	if (x->taken != slices * STEPS * (x->W - x->backup))
		world_fault(x, "a step closes with another number of gradients");
	return x->why[0] == 0;
}

static void
many(uint32_t repeats, uint32_t crashes, uint32_t dying, const char *name)
{
	const struct seeds s = seeds_or(&asked, 300);
	uint64_t good = 0;

	for (uint64_t seed = s.from; seed <= s.to && good + WORLD_BAD > seed - s.from; seed++) {
		struct world x = draw(seed);
		bool well;

		x.repeats = repeats;
		x.crashes = crashes;
		x.kills = dying;
		x.sets = seed % 2 ? 5 : 0;
		x.trace = s.trace;
		world_open(&x, STEPS);
		well = world_run(&x) && counts(&x) && (repeats > 0 || takes(&x));
		if (!well)
			printf("# seed %llu: %s\n", (unsigned long long)seed, x.why);
		good += well;
		schedules++;
		deaths += x.died;
		kills += x.killed;
		late += x.late;
		changes += x.changes.heard.n;
		world_close(&x);
	}
	is(good, seeds_count(&s), "%s: each step has gradients of its own weights, and all end it with the same", name);
}

int
main(int argc, char **argv)
{
	if (!seeds_parse(argc, argv, &asked))
		return 2;
	many(0, 0, 0, "backup workers");
	many(50, 0, 0, "backup workers, messages repeated");
	many(20, 2, 0, "backup workers, with deaths of workers");
	many(20, 0, 4, "backup workers, with deaths of servers");
	many(20, 2, 4, "backup workers, with deaths of workers and servers");
	if (asked.to == 0)
		ok(late > 0 && changes > 0, "gradients come too late, and settings change: %" PRIu64 ", %" PRIu64, late, changes);
	printf("# %" PRIu64 " schedules\n# %" PRIu64 " late gradients\n# %" PRIu64 " changes of settings\n# %" PRIu64
	    " deaths of workers\n# %" PRIu64 " deaths of servers\n", schedules, late, changes, deaths, kills);
	return done();
}
