/* freeze_test - frozen arrays are sent once, at a job's start: a step sends only the arrays that learn. */
#include "law/world.h"
#include "tap.h"

#define STEPS 7

/* The floats that are not frozen. */
static uint64_t
live(const struct graph *g)
{
	uint64_t n = 0;

	for (uint32_t a = 0; a < g->nw; a++)
		n += g->w[a].frozen ? 0 : g->w[a].count;
	for (uint32_t a = 0; a < g->naux; a++)
		n += g->aux[a].frozen ? 0 : g->aux[a].count;
	return n;
}

/* Each worker pushes and receives them once a step; a push without samples is empty, but answered. */
static bool
moves(uint64_t seed, uint32_t slack, uint32_t *frozen)
{
	struct rng c = rng_start(seed, 0, 0);
	struct world x = { .seed = seed, .slack = slack, .counting = true };
	bool bn = rng_below(&c, 2), good;

	x.graph = world_graph(bn);
	x.W = 1 + (uint32_t)rng_below(&c, WORLD_WORKERS);
	x.S = 1 + (uint32_t)rng_below(&c, WORLD_SERVERS);
	x.slice = 8u << rng_below(&c, 6);
	x.freeze = world_freeze(&c, bn);
	*frozen += x.freeze != NULL;
	world_open(&x, STEPS);
	good = world_run(&x) && x.floats == 2 * STEPS * x.W * live(x.graph);
	if (!good)
		printf("# seed %llu, %s: %s; %llu floats\n", (unsigned long long)seed, x.freeze != NULL ? x.freeze : "-",
		    x.why, (unsigned long long)x.floats);
	world_close(&x);
	return good;
}

int
main(void)
{
	static const uint32_t slacks[] = { STALE_SYNC, 2, STALE_ASYNC };

	for (size_t s = 0; s < sizeof(slacks) / sizeof(*slacks); s++) {
		unsigned good = 0, n = world_jobs(200);
		uint32_t frozen = 0;

		for (uint64_t seed = 1; seed <= n && good + WORLD_BAD >= seed; seed++)
			good += moves(seed, slacks[s], &frozen);
		is(good, n, "slack %u: a step sends each float that is not frozen twice", slacks[s]);
		ok(frozen > n / 4 && frozen < n, "slack %u: some jobs freeze arrays and some do not (%u do)", slacks[s], frozen);
	}
	return done();
}
