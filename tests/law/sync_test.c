/* sync_test - slack 0: the same bits in any order, after repeats and deaths, and with one worker and micro-batches. */
#include "law/hand.h"
#include "law/seeds.h"
#include "tap.h"

#include <inttypes.h>

#define STEPS 7

static struct seeds asked;
static uint64_t schedules, changes, deaths, kills;	/* of settings, of workers, of servers */

static bool
same(const float *a, const float *b, size_t n)
{
	return memcmp(a, b, n * sizeof(float)) == 0;
}

/* Whether the servers' averages have these bits, frozen arrays excepted. */
static bool
averages(const struct world *x, const float *average)
{
	const struct shard_plan *p = worker_state_plan(x->actor[0].worker);
	bool good = true;

	for (uint32_t i = 0; i < p->n && x->hyper.average.kind != AVERAGE_NONE; i++) {
		const struct shard_plan_slice *s = &p->slice[i];

		if (!s->frozen)
			good &= same(server_state_average(x->host[s->owner].server, i),
			    average + (s->kind == SHARD_PLAN_AUX ? p->P : 0) + s->first, s->count);
	}
	return good;
}

/* Runs x and compares every float of workers and servers with the sums by hand. */
static bool
holds(struct world *x, bool uneven)
{
	struct rng c = rng_start(x->seed, 3, 3);
	const struct graph *g = x->graph;
	struct hand h;
	float *ws = world_floats(g->P), *auxs = world_floats(g->A), *states = world_floats(g->P * OPT_STATES);
	uint64_t most = 0;
	bool good;

	world_open(x, STEPS);
	for (uint32_t r = 0; r < x->W; r++) {
		if (uneven)
			x->actor[r].steps = rng_below(&c, STEPS + 1);
		most = x->actor[r].steps > most ? x->actor[r].steps : most;
	}
	good = world_run(x);
	for (uint32_t r = 0; x->stops > 0 && r < x->W; r++) {
		most = x->actor[0].step;
		if (x->actor[r].step != most)
			world_fault(x, "workers end at different steps");
		good = x->why[0] == 0;
	}
	hand_run(x, worker_state_plan(x->actor[0].worker), most, &h);
	if (good) {
		world_join(x, ws, auxs, states);
		good = same(h.w, ws, g->P) && same(h.aux, auxs, g->A) && averages(x, h.average) &&
		    same(h.state, states, g->P * opt_states(x->hyper.rule));
		for (uint32_t r = 0; r < x->W; r++)
			if ((x->actor[r].steps == most || x->stops > 0) && !x->actor[r].blind)
				good &= same(h.seen, x->actor[r].o.w, g->P) && same(h.aux, x->actor[r].o.aux, g->A);
		if (!good)
			world_fault(x, "weights differ");
	}
	if (!good)
		printf("# seed %llu, %s, %u workers, %u servers, slices of %u bytes: %s\n", (unsigned long long)x->seed,
		    opt_name(x->hyper.rule), x->W, x->S, x->slice, x->why);
	world_close(x);
	hand_free(&h);
	free(ws), free(auxs), free(states);
	return good;
}

static void
many(const char *name, unsigned n, bool uneven, struct world faults)
{
	const struct seeds s = seeds_or(&asked, n);
	uint64_t good = 0, died = 0, early = 0, killed = 0, all = seeds_count(&s);

	for (uint64_t seed = s.from; seed <= s.to && good + WORLD_BAD > seed - s.from; seed++) {
		struct world x = world_draw(seed);

		x.repeats = faults.repeats;
		x.crashes = faults.crashes;
		x.stops = faults.stops;
		x.kills = faults.kills;
		x.sets = seed % 2 ? 5 : 0;
		x.trace = s.trace;
		good += holds(&x, uneven);
		died += x.died;
		killed += x.killed;
		changes += x.changes.heard.n;
		early += x.actor[0].step < STEPS;
	}
	is(good, all, "%s", name);
	schedules += all;
	deaths += died;
	kills += killed;
	if (asked.to > 0)
		return;
	if (faults.crashes > 0)
		ok(died > all / 4, "%s: %" PRIu64 " processes died", name, died);
	if (faults.kills > 0)
		ok(killed > all / 4, "%s: %" PRIu64 " servers died", name, killed);
	if (faults.stops > 0)
		ok(early > all / 4 && early < all, "%s: %" PRIu64 " jobs ended early", name, early);
}

/*
 * Server or worker i of a job dies once, after each of its stores in turn.  Returns how many there are, or 0 after a
 * fault.
 */
static unsigned
each_store(uint64_t seed, bool server, uint32_t i)
{
	for (unsigned at = 1;; at++) {
		struct world x = world_draw(seed);
		bool good;

		(server ? &x.host[i].memory : &x.actor[i].memory)->dies_at = at;
		x.sets = 10;
		good = holds(&x, false);
		if (!good)
			printf("# %s %u died after store %u\n", server ? "server" : "worker", i, at);
		if (!good || x.killed + x.died == 0)
			return good ? at - 1 : 0;
	}
}

static void
many_stores(unsigned seeds, bool server)
{
	unsigned good = 0, all = 0, jobs = 0;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct world x = world_draw(seed);

		graph_free(x.graph);
		for (uint32_t i = 0; i < (server ? x.S : x.W); i++, jobs++) {
			unsigned stores = each_store(seed, server, i);

			good += stores > 0;
			all += stores;
		}
	}
	is(good, jobs, "the death of a %s after any of its %u stores changes no bit", server ? "server" : "worker", all);
}

/* W workers against one worker with W micro-batches, both through the same code. */
static bool
one_for_all(uint64_t seed)
{
	struct world many_ = world_draw(seed), one = world_draw(seed);
	bool good;

	graph_free(many_.graph);
	graph_free(one.graph);
	many_.graph = world_graph(false);
	one.graph = world_graph(false);
	many_.freeze = one.freeze = many_.codec = one.codec = NULL;
	one.accumulate = many_.W;
	one.W = 1;
	world_open(&many_, STEPS);
	world_open(&one, STEPS);
	good = world_run(&many_) && world_run(&one) &&
	    same(many_.actor[0].o.w, one.actor[0].o.w, one.graph->P);
	world_close(&many_);
	world_close(&one);
	return good;
}

int
main(int argc, char **argv)
{
	uint64_t good = 0;
	struct seeds s;

	if (!seeds_parse(argc, argv, &asked))
		return 2;
	many("any order of arrival gives the bits of sums by hand", 300, false, (struct world){ .repeats = 0 });
	many("repeated messages change nothing", 300, false, (struct world){ .repeats = 100 });
	many("workers without samples and workers that leave early block no other", 300, true,
	    (struct world){ .repeats = 50 });
	many("deaths change no bit", 400, false, (struct world){ .repeats = 20, .crashes = 2 });
	many("deaths without repeated messages change no bit", 300, false, (struct world){ .crashes = 2 });
	many("deaths change no bit when others leave early", 200, true,
	    (struct world){ .repeats = 20, .crashes = 2 });
	many("all workers end after the same step when asked", 300, false,
	    (struct world){ .repeats = 20, .stops = 1 });
	many("all workers end after the same step despite deaths", 300, false,
	    (struct world){ .repeats = 20, .crashes = 2, .stops = 1 });
	many("deaths of servers change no bit", 400, false, (struct world){ .kills = 4 });
	many("deaths of servers change no bit with repeated messages", 300, false,
	    (struct world){ .repeats = 50, .kills = 4 });
	many("deaths of servers change no bit when workers leave early", 300, true,
	    (struct world){ .repeats = 20, .kills = 4 });
	many("deaths of servers and workers change no bit", 400, false,
	    (struct world){ .repeats = 20, .crashes = 2, .kills = 4 });
	many("all workers end after the same step despite deaths of servers", 300, false,
	    (struct world){ .repeats = 20, .crashes = 2, .stops = 1, .kills = 4 });
	if (asked.to == 0) {
		ok(changes > schedules / 2, "settings change: %" PRIu64 " in %" PRIu64 " jobs", changes, schedules);
		many_stores(4, true);
		many_stores(8, false);
	}
	s = seeds_or(&asked, 200);
	for (uint64_t seed = s.from; seed <= s.to && good + WORLD_BAD > seed - s.from; seed++)
		good += one_for_all(seed);
	is(good, seeds_count(&s), "W workers compute what one worker with W micro-batches computes");
	printf("# %" PRIu64 " schedules\n# %" PRIu64 " changes of settings\n# %" PRIu64 " deaths of workers\n# %" PRIu64
	    " deaths of servers\n", schedules + 2 * seeds_count(&s), changes, deaths, kills);
	return done();
}
