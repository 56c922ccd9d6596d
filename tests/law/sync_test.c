/* sync_test - slack 0: the same bits in any order, after repeats and deaths, and with one worker and micro-batches. */
#include "law/world.h"
#include "rounded.h"
#include "tap.h"

#include "net/optim/muon.h"
#include "net/optim/norm.h"

#define STEPS 7

/* Restores frozen arrays from `was`. */
static void
thaw(const struct graph_array *a, uint32_t n, const float *was, float *now)
{
	for (uint32_t i = 0; i < n; i++)
		if (a[i].frozen)
			memcpy(now + a[i].first, was + a[i].first, a[i].count * sizeof(float));
}

/* One update of whole arrays; sum is that of n samples. */
static void
update(const struct world *x, const struct opt_hyper *of, float *w, float *state, const float *sum, uint32_t samples)
{
	const struct graph *g = x->graph;
	uint32_t states = opt_states(of->rule), last = 0;
	float *room = world_floats(muon_room(g->P, 1));
	struct norm all = { { 0 } };
	double n = samples;

	for (uint32_t a = 0; a < g->nw; a++)
		norm_add(&all, sum + g->w[a].first, g->w[a].frozen ? 0 : g->w[a].count);
	n /= opt_shrink(norm_root(&all) / n, of);
	for (uint32_t a = 0; a < g->nw; a++)
		last = g->w[a].ndim > 1 ? a : last;
	for (uint32_t a = 0; a < g->nw; a++) {
		const struct graph_array *r = &g->w[a];
		float *wa = w + r->first, *sa = state + r->first * states;
		struct opt_hyper h = *of;

		if (h.rule == OPT_LARS && r->ndim > 1) {
			struct norm d = { { 0 } }, v = { { 0 } };

			norm_add(&d, sum + r->first, r->count);
			norm_add(&v, wa, r->count);
			h.lr *= (float)opt_trust(norm_root(&v), norm_root(&d) / n, (double)h.wd, &h);
		}
		if (h.rule == OPT_MUON && r->ndim > 1 && a != last)
			muon_step(wa, sa, sum + r->first, r->dim[0], r->count / r->dim[0], n, &h, room);
		else
			opt_step(wa, sa, sum + r->first, r->count, n, &h);
	}
	free(room);
}

/*
 * What workers see of the weights w, after seeing `seen` before; first: before nothing.  Of a codec that sends updates
 * they see the sum.
 */
static void
show_weights(const struct world *x, const float *w, float *seen, bool first)
{
	const struct shard_plan *p = worker_state_plan(x->actor[0].worker);
	float *d = world_floats(x->graph->P), *q = world_floats(x->graph->P);

	for (uint32_t i = 0; i < p->nweights; i++) {
		const struct shard_plan_slice *s = &p->slice[i];
		bool adds = codec_updates(s->codec) && !first;

		for (size_t k = 0; k < s->count; k++)
			d[k] = adds ? w[s->first + k] - seen[s->first + k] : w[s->first + k];
		if (codec_updates(s->codec) && first)
			memcpy(q, d, s->count * sizeof(*q));
		else
			rounded_all(s->codec, d, s->count, q);
		for (size_t k = 0; k < s->count; k++)
			seen[s->first + k] = adds ? seen[s->first + k] + q[k] : q[k];
	}
	free(d);
	free(q);
}

/* What arrives of a gradient, whose residual is left for the next one. */
static void
send_rounded(const struct world *x, float *g, float *left)
{
	const struct shard_plan *p = worker_state_plan(x->actor[0].worker);
	float *q = world_floats(x->graph->P);

	for (uint32_t i = 0; i < p->nweights; i++) {
		const struct shard_plan_slice *s = &p->slice[i];
		float *v = g + s->first, *l = left + s->first;

		for (size_t k = 0; s->codec.kind != CODEC_F32 && k < s->count; k++)
			v[k] += l[k];
		rounded_all(s->codec, v, s->count, q);
		for (size_t k = 0; k < s->count; k++) {
			l[k] = v[k] - q[k];
			v[k] = q[k];
		}
	}
	free(q);
}

/* The expected result of the job, by plain sums over whole arrays; seen is what workers have of w. */
static void
by_hand(const struct world *x, float *w, float *aux, float *state, float *average, float *seen, uint64_t steps)
{
	float *left = world_floats(x->graph->P * x->W);
	uint32_t averaged = x->hyper.average.kind == AVERAGE_LOOKAHEAD, auxed = averaged;
	const struct graph *g = x->graph;
	float *sum = world_floats(g->P), *one = world_floats(g->P), *stats = world_floats(g->A);
	float *batch = world_floats(g->A), *w0 = world_floats(g->P), *aux0 = world_floats(g->A);

	world_first(x, w, aux, state);
	world_first(x, w0, aux0, state);
	memcpy(average, w, g->P * sizeof(float));
	memcpy(average + g->P, aux, g->A * sizeof(float));
	for (uint64_t t = 0; t < steps; t++) {
		struct opt_hyper h = x->hyper;
		uint32_t n = 0;

		show_weights(x, w, seen, t == 0);
		for (uint32_t r = 0; r < x->W; r++) {
			uint32_t k = x->actor[r].steps > t ? world_samples(x, r, t) : 0;

			if (k == 0)
				continue;
			world_gradient(x, r, t, seen, one, g->P, 1);
			world_gradient(x, r, t, seen, batch, g->A, 2);
			send_rounded(x, one, left + r * g->P);
			for (size_t i = 0; i < g->P; i++)
				sum[i] = n > 0 ? sum[i] + one[i] : one[i];
			for (size_t i = 0; i < g->A; i++)
				stats[i] = n > 0 ? stats[i] + batch[i] * (float)k : batch[i] * (float)k;
			n += k;
		}
		if (n > 0) {
			h.lr = world_rate(x, t);
			h.t = t + 1;
			update(x, &h, w, state, sum, n);
			opt_fold_to(aux, stats, g->A, n, 0.8f, aux);
			thaw(g->w, g->nw, w0, w);
			thaw(g->aux, g->naux, aux0, aux);
		}
		if (n > 0 || world_marked(t)) {
			averaged += average_step(&h.average, average, w, g->P, averaged, t + 1, world_marked(t), false);
			auxed += average_step(&h.average, average + g->P, aux, g->A, auxed, t + 1, world_marked(t), true);
			thaw(g->w, g->nw, w0, w);
		}
	}
	show_weights(x, w, seen, steps == 0);
	free(sum);
	free(one);
	free(stats);
	free(batch);
	free(w0);
	free(aux0);
	free(left);
	for (uint32_t a = 0; a < g->nw; a++)
		if (g->w[a].frozen)
			memset(state + g->w[a].first * opt_states(x->hyper.rule), 0,
			    g->w[a].count * opt_states(x->hyper.rule) * sizeof(float));
}

/* A job drawn from the seed. */
static struct world
draw(uint64_t seed)
{
	struct rng c = rng_start(seed, 0, 0);
	struct world x = { .seed = seed, .hyper = { .wd = 1e-3f } };
	bool bn;

	opt_usual((enum opt_rule)rng_below(&c, OPT_RULES), &x.hyper);
	x.hyper.clip_norm = rng_below(&c, 2) ? 0.5f : 0;
	x.hyper.unit = rng_below(&c, 2);
	x.hyper.average = (struct average){ (enum average_kind)rng_below(&c, AVERAGE_KINDS), 0.75f, 2 };
	bn = rng_below(&c, 2);
	x.graph = world_graph(bn);
	x.W = 1 + (uint32_t)rng_below(&c, WORLD_WORKERS);
	x.S = 1 + (uint32_t)rng_below(&c, WORLD_SERVERS);
	x.slice = 8u << rng_below(&c, 6);
	x.full = 400 * (uint32_t)(seed % 3);
	x.lends = seed % 4 < 2;
	x.freeze = world_freeze(&c, bn);
	x.codec = world_codec(&c, false);
	return x;
}

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
	float *w = world_floats(g->P), *aux = world_floats(g->A), *state = world_floats(g->P * OPT_STATES);
	float *average = world_floats(g->P + g->A), *seen = world_floats(g->P);
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
	by_hand(x, w, aux, state, average, seen, most);
	if (good) {
		world_join(x, ws, auxs, states);
		good = same(w, ws, g->P) && same(aux, auxs, g->A) && same(state, states, g->P * opt_states(x->hyper.rule)) &&
		    averages(x, average);
		for (uint32_t r = 0; r < x->W; r++)
			if ((x->actor[r].steps == most || x->stops > 0) && !x->actor[r].blind)
				good &= same(seen, x->actor[r].o.w, g->P) && same(aux, x->actor[r].o.aux, g->A);
		if (!good)
			world_fault(x, "weights differ");
	}
	if (!good)
		printf("# seed %llu, %s, %u workers, %u servers, slices of %u bytes: %s\n", (unsigned long long)x->seed,
		    opt_name(x->hyper.rule), x->W, x->S, x->slice, x->why);
	world_close(x);
	free(average), free(seen), free(w), free(aux), free(state), free(ws), free(auxs), free(states);
	return good;
}

static void
many(const char *name, unsigned n, bool uneven, uint32_t repeats, uint32_t crashes, uint32_t stops, uint32_t kills)
{
	unsigned good = 0, died = 0, early = 0, killed = 0;

	n = world_jobs(n);
	for (uint64_t seed = 1; seed <= n && good + WORLD_BAD >= seed; seed++) {
		struct world x = draw(seed);

		x.repeats = repeats;
		x.crashes = crashes;
		x.stops = stops;
		x.kills = kills;
		good += holds(&x, uneven);
		died += x.died;
		killed += x.killed;
		early += x.actor[0].step < STEPS;
	}
	is(good, n, "%s", name);
	if (crashes > 0)
		ok(died > n / 4, "%s: %u processes died", name, died);
	if (kills > 0)
		ok(killed > n / 4, "%s: %u servers died", name, killed);
	if (stops > 0)
		ok(early > n / 4 && early < n, "%s: %u jobs ended early", name, early);
}

/*
 * Server or worker i of a job dies once, after each of its stores in turn.  Returns how many there are, or 0 after a
 * fault.
 */
static unsigned
each_store(uint64_t seed, bool server, uint32_t i)
{
	for (unsigned at = 1;; at++) {
		struct world x = draw(seed);
		bool good;

		*(server ? &x.host[i].dies_at : &x.actor[i].dies_at) = at;
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
		struct world x = draw(seed);

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
	struct world many_ = draw(seed), one = draw(seed);
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
main(void)
{
	unsigned good = 0, n = world_jobs(200);

	many("any order of arrival gives the bits of sums by hand", 300, false, 0, 0, 0, 0);
	many("repeated messages change nothing", 300, false, 100, 0, 0, 0);
	many("workers without samples and workers that leave early block no other", 300, true, 50, 0, 0, 0);
	many("deaths change no bit", 400, false, 20, 2, 0, 0);
	many("deaths without repeated messages change no bit", 300, false, 0, 2, 0, 0);
	many("deaths change no bit when others leave early", 200, true, 20, 2, 0, 0);
	many("all workers end after the same step when asked", 300, false, 20, 0, 1, 0);
	many("all workers end after the same step despite deaths", 300, false, 20, 2, 1, 0);
	many("deaths of servers change no bit", 400, false, 0, 0, 0, 4);
	many("deaths of servers change no bit with repeated messages", 300, false, 50, 0, 0, 4);
	many("deaths of servers change no bit when workers leave early", 300, true, 20, 0, 0, 4);
	many("deaths of servers and workers change no bit", 400, false, 20, 2, 0, 4);
	many("all workers end after the same step despite deaths of servers", 300, false, 20, 2, 1, 4);
	many_stores(4, true);
	many_stores(8, false);
	for (uint64_t seed = 1; seed <= n && good + WORLD_BAD >= seed; seed++)
		good += one_for_all(seed);
	is(good, n, "W workers compute what one worker with W micro-batches computes");
	return done();
}
