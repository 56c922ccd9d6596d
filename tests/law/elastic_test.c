/*
 * elastic_test - workers join and leave a job at any time: each batch is computed once, but for those of a worker that
 * leaves, and every push counts once, at a rate that may change meanwhile.
 *
 * A network in memory and one integer decide all, as in law/world.h.  Servers die after any store to their memory.
 * Workers die after any message that they send, which may be lost with others before it, and are started again.  Only
 * the batch of which gradients were sent is computed again, and every weight has one of its two gradients.
 */
#include "law/pair.h"
#include "law/seeds.h"
#include "law/world.h"
#include "tap.h"

#include "ps/deal.h"
#include "ps/worker/worker_state.h"

#include <stdlib.h>

#define MOST	5	/* workers */
#define HOSTS	3	/* servers */
#define END	300	/* batches of the job */
#define LEAVES	64
#define TURNS	400000

static struct seeds asked;

enum count { JOINED, LEFT, SERVERS_DIED, RETURNED, REPEATED, CHANGED, COUNTS };
enum phase { AWAY, DEAD, GREETS, BEGINS, CHOOSES, COMPUTES, FINISHES, PARTS };

struct job;

struct worker_actor {
	struct job	*job;
	enum phase	 phase;
	bool		 leaves, left;
	bool		 dead, returns;	/* it sends nothing any more; it was started again and has computed nothing yet */
	unsigned	 dies_after;	/* messages until it dies; 0: it lives */
	uint64_t	 begun;		/* 1 + the last batch of which it sent gradients */
	bool		 hailing[HOSTS];	/* it has lost the server, and said hello again */
	uint64_t	 at, k;
	uint64_t	 asked;		/* id of the change of settings that it has asked for in this life */
	struct worker_opt o;
	struct worker_state *state;
	float		*g;
};

struct server_actor {
	struct job	*job;
	uint32_t	 index;
	struct server_state *state;
	struct durable	 memory;
};

struct job {
	struct rng	 chance;
	struct pair	*net;
	struct graph	*graph;
	uint32_t	 S, start, slice;
	struct worker_actor w[MOST];
	struct server_actor s[HOSTS];
	struct deal	 deal;		/* as worker 0 knows it */
	uint32_t	 done[END];
	float		 rate[END][2];	/* the least and largest of the pushes of a batch */
	struct changes	 changes;
	struct { uint32_t rank; uint64_t at; } leave[LEAVES];
	unsigned	 count[COUNTS];
	const char	*why;
};

static void
fault(struct job *j, const char *why)
{
	j->why = j->why != NULL ? j->why : why;
}

static void
to_server(void *arg, uint32_t s, const struct msg *m)
{
	struct worker_actor *a = arg;

	if (a->dead)
		return;
	if (m->type == MSG_HELLO || !a->hailing[s])
		pair_send(a->job->net, a->o.rank, MOST + s, m);
	a->dead = a->dies_after > 0 && --a->dies_after == 0;
}

static void
to_worker(void *arg, uint32_t w, const struct msg *m)
{
	struct server_actor *h = arg;

	if (h->memory.left == NULL)
		pair_send(h->job->net, MOST + h->index, w, m);
}

static void
start_server(struct server_actor *h)
{
	const struct job *j = h->job;
	struct server_state_opt o = { .nworkers = MOST, .elastic = j->start, .index = h->index, .nservers = j->S,
	    .memory = &h->memory.m, .emit = to_worker, .arg = h };

	if (server_state_new(&o, &h->state) < 0)
		abort();
}

static void
hail(struct worker_actor *a, uint32_t s)
{
	worker_state_keep(a->state, s);
	a->hailing[s] = !worker_state_parted(a->state, s);
	if (a->hailing[s])
		worker_state_hello(a->state, s);
}

static void
restart_server(struct server_actor *h)
{
	struct job *j = h->job;

	for (uint32_t w = 0; w < MOST; w++) {
		pair_break(j->net, w, MOST + h->index, 0);
		pair_break(j->net, MOST + h->index, w, 0);
	}
	server_state_free(h->state);
	durable_return(&h->memory);
	j->count[SERVERS_DIED]++;
	start_server(h);
	for (uint32_t w = 0; w < MOST; w++)
		if (j->w[w].phase > DEAD)
			hail(&j->w[w], h->index);
}

static void
start_worker(struct worker_actor *a)
{
	struct worker_state_opt o = { .worker = &a->o, .nservers = a->job->S, .emit = to_server, .arg = a };

	a->asked = 0;
	a->o.incarnation = 1 + rng_below(&a->job->chance, UINT32_MAX);
	pair_cut(a->job->net, a->o.rank);
	memset(a->hailing, 0, sizeof(a->hailing));
	for (size_t i = 0; i < a->job->graph->P; i++)
		a->o.w[i] = 0;
	if (worker_state_new(&o, &a->state) < 0)
		abort();
	for (uint32_t s = 0; s < a->job->S; s++)
		worker_state_hello(a->state, s);
	a->phase = GREETS;
}

static void
join(struct worker_actor *a)
{
	a->leaves = a->returns = a->dead = a->o.parting = false;
	a->dies_after = 0;
	a->begun = 0;
	start_worker(a);
}

/* What it sent last may be lost. */
static void
die(struct worker_actor *a)
{
	for (uint32_t s = 0; s < a->job->S; s++)
		pair_break(a->job->net, a->o.rank, MOST + s, rng_below(&a->job->chance, 6));
	worker_state_free(a->state);
	a->state = NULL;
	a->o.parting = a->phase == PARTS;
	a->phase = DEAD;
}

static bool
has_all(struct worker_actor *a)
{
	bool all = true;
	uint32_t s;

	for (uint32_t i = 0; i < a->job->graph->nw; i++)
		all &= worker_state_missing(a->state, WORKER_WAIT_ARRAY, i, &s) == 0;
	return all && worker_state_missing(a->state, WORKER_WAIT_ALL, 0, &s) == 0;
}

/* The next batch is chosen before the weights are there, as a reader does. */
static void
choose_batch(struct worker_actor *a)
{
	uint32_t n;

	a->k = worker_state_deal(a->state, a->at, &n);
	a->phase = COMPUTES;
	if ((!a->leaves || (a->returns && a->begun == a->k + 1)) && a->k < END)
		return;
	if (a->leaves && a->job->count[LEFT] < LEAVES) {
		a->job->leave[a->job->count[LEFT]].rank = a->o.rank;
		a->job->leave[a->job->count[LEFT]++].at = a->at;
	}
	a->phase = FINISHES;
}

/* The rate of its batch.  Worker 0 asks for another one, if it is to. */
static float
find_rate(struct worker_actor *a)
{
	const struct settings *all = worker_state_settings(a->state);
	const struct setting *s = a->o.rank == 0 ? changes_wanted(&a->job->changes, all, &a->asked) : NULL;
	const float rate = changes_rate(all, a->k, 1);

	fault(a->job, changes_hear(&a->job->changes, all));
	if (s != NULL)
		worker_state_set(a->state, s);
	changes_note_rate(a->job->rate[a->k], rate);
	return rate;
}

static void
push_batch(struct worker_actor *a)
{
	const struct graph *g = a->job->graph;
	uint32_t s;

	if (!has_all(a) || worker_state_missing(a->state, WORKER_WAIT_STATS, 0, &s) > 0)
		return;
	for (size_t i = 0; i < g->P; i++)
		a->g[i] = 1;
	if (a->job->done[a->k] > 0 && !(a->returns && a->begun == a->k + 1))
		fault(a->job, "a batch is computed twice");
	a->job->count[REPEATED] += a->job->done[a->k];
	a->job->done[a->k] = 1;
	a->begun = a->k + 1;
	a->returns = false;
	worker_state_step(a->state, 1, find_rate(a));
	for (uint32_t i = 0; i < g->nw; i++)
		worker_state_push(a->state, i, a->g);
	worker_state_finish(a->state, a->g);
	a->at = a->k + 1;
	a->phase = CHOOSES;
}

static void
act(struct worker_actor *a)
{
	uint32_t s;

	switch (a->phase) {
	case AWAY:
		break;
	case DEAD:
		a->job->count[RETURNED]++;
		a->returns = true;
		a->dead = false;
		start_worker(a);
		break;
	case GREETS:
		for (s = 0; s < a->job->S; s++)
			if (!worker_state_welcome(a->state, s))
				return;
		if (a->o.parting)
			worker_state_bye(a->state);
		else
			worker_state_begin(a->state, NULL, 0);
		a->phase = a->o.parting ? PARTS : BEGINS;
		break;
	case BEGINS:
		if (!has_all(a))
			return;
		if (worker_state_begun(a->state, &a->at) < 0)
			fault(a->job, "a worker cannot begin");
		a->phase = CHOOSES;
		break;
	case CHOOSES:
		choose_batch(a);
		break;
	case COMPUTES:
		push_batch(a);
		break;
	case FINISHES:
		/* A worker that dies after its goodbye repeats nothing. */
		if (!has_all(a))
			return;
		worker_state_bye(a->state);
		a->phase = PARTS;
		break;
	case PARTS:
		if (worker_state_missing(a->state, WORKER_WAIT_BYE, 0, &s) > 0)
			return;
		worker_state_free(a->state);
		a->state = NULL;
		a->left = !a->leaves;
		a->phase = AWAY;
	}
}

static void
deliver(struct job *j)
{
	unsigned from, to;
	struct msg m;

	if (pair_next(j->net, &from, &to, &m) == 0)
		return;
	if (to >= MOST) {
		struct server_actor *h = &j->s[to - MOST];

		if (server_state_take(h->state, &m) < 0)
			fault(j, err_line());
		if (h->memory.left != NULL)
			restart_server(h);
	} else if (j->w[to].state != NULL && m.worker == to) {
		struct worker_actor *a = &j->w[to];

		if (to == 0 && m.type == MSG_DEAL && worker_state_welcome(a->state, 0))
			deal_add(&j->deal, m.step, m.samples);
		if (worker_state_take(a->state, from - MOST, &m) < 0)
			fault(j, err_line());
		if (m.type == MSG_WELCOME && a->hailing[from - MOST]) {
			a->hailing[from - MOST] = false;
			worker_state_repeat(a->state, from - MOST);
		}
	}
}

/* From 1 to MOST workers from now on.  As dlaunch does, joins none once worker 0 has ended. */
static void
scale(struct job *j)
{
	uint32_t n = 1 + (uint32_t)rng_below(&j->chance, MOST);

	for (uint32_t r = 0; r < MOST && !j->w[0].left; r++)
		if (r >= n) {
			j->w[r].leaves = true;
		} else if (j->w[r].phase == AWAY && !j->w[r].left) {
			j->count[JOINED]++;
			join(&j->w[r]);
		}
}

static bool
runs(const struct job *j)
{
	for (uint32_t r = 0; r < MOST; r++)
		if (j->w[r].phase != AWAY)
			return true;
	return false;
}

/* A batch that is missing was that of a worker which left before it. */
static void
check_batches(struct job *j)
{
	for (uint64_t k = 0; k < END; k++) {
		bool gone = false;
		uint32_t n, owner = 0;

		while (owner < MOST && deal_next(&j->deal, owner, k, &n) != k)
			owner++;
		for (unsigned i = 0; i < j->count[LEFT]; i++)
			gone |= j->leave[i].rank == owner && j->leave[i].at <= k;
		if (j->done[k] == 0 && !gone)
			fault(j, "a batch is lost");
	}
}

static void
check_weights(struct job *j)
{
	const struct shard_plan *p = server_state_plan(j->s[0].state);
	double sum[2] = { 0, 0 };
	const float *w, *m;

	changes_add_rates(j->rate, END, sum);
	for (uint32_t i = 0; i < p->nweights; i++) {
		server_state_slice(j->s[p->slice[i].owner].state, i, &w, &m);
		for (size_t f = 0; f < p->slice[i].count; f++)
			if (-(double)w[f] < sum[0] || -(double)w[f] > sum[1])
				fault(j, "a push does not count once");
	}
}

static void
open_job(struct job *j, uint64_t seed)
{
	*j = (struct job){ .changes = { .kinds = SETTING_LR, .counting = true, .left = seed % 2 ? 8 : 0 },
	    .chance = rng_start(seed, 0, 77), .graph = world_graph(seed % 2), .net = pair_new(MOST + HOSTS, seed) };
	j->S = 1 + (uint32_t)rng_below(&j->chance, HOSTS);
	j->start = 1 + (uint32_t)rng_below(&j->chance, MOST);
	j->slice = 8u << rng_below(&j->chance, 6);
	for (uint32_t s = 0; s < j->S; s++) {
		j->s[s] = (struct server_actor){ .job = j, .index = s };
		durable_open(&j->s[s].memory, &j->chance);
		start_server(&j->s[s]);
	}
	for (uint32_t r = 0; r < MOST; r++) {
		struct worker_actor *a = &j->w[r];

		*a = (struct worker_actor){ .job = j, .g = world_floats(j->graph->P + j->graph->A), .o = { .graph = j->graph,
		    .rank = r, .nworkers = MOST, .elastic = j->start, .slack = STALE_ASYNC, .slice = j->slice,
		    .w = world_floats(j->graph->P), .aux = world_floats(j->graph->A) } };
		if (r < j->start)
			join(a);
	}
}

static void
close_job(struct job *j)
{
	for (uint32_t s = 0; s < j->S; s++) {
		server_state_free(j->s[s].state);
		durable_close(&j->s[s].memory);
	}
	for (uint32_t r = 0; r < MOST; r++) {
		worker_state_free(j->w[r].state);
		free(j->w[r].g);
		free(j->w[r].o.w);
		free(j->w[r].o.aux);
	}
	pair_free(j->net);
	graph_free(j->graph);
}

static void
run_job(struct job *j, uint32_t scales, uint32_t kills, uint32_t crashes)
{
	unsigned turn = 0;

	for (; runs(j) && j->why == NULL && turn < TURNS; turn++) {
		struct worker_actor *a = &j->w[rng_below(&j->chance, MOST)];

		if (rng_below(&j->chance, 3) > 0)
			act(a);
		else
			deliver(j);
		if (a->state != NULL && a->dead)
			die(a);
		if (a->phase > DEAD && rng_below(&j->chance, 10000) < crashes)
			a->dies_after = 1 + (unsigned)rng_below(&j->chance, 12);
		if (rng_below(&j->chance, 10000) < 10)
			changes_want(&j->changes, &j->chance);
		/* Changes that are forgotten could not be checked. */
		if (rng_below(&j->chance, 10000) < scales && j->deal.n + 2 * MOST < DEAL_CHANGES)
			scale(j);
		if (rng_below(&j->chance, 10000) < kills)
			durable_die_soon(&j->s[rng_below(&j->chance, j->S)].memory, 40);
	}
	if (turn == TURNS)
		fault(j, "the job hangs");
	if (j->why != NULL)
		return;
	check_batches(j);
	check_weights(j);
	for (uint32_t s = 0; s < j->S; s++)
		if (!server_state_over(j->s[s].state))
			fault(j, "a server does not end");
}

static void
many(uint32_t scales, uint32_t kills, uint32_t crashes, const char *name)
{
	static const char *const name_of[] = { "workers that joined", "workers that left", "deaths of servers",
	    "workers that died and returned", "batches that they repeated", "changes of settings" };
	const struct seeds s = seeds_or(&asked, 200);
	const uint32_t drawn[COUNTS] = { scales, scales, kills, crashes, crashes, 1 };
	unsigned good = 0, count[COUNTS] = { 0 };
	bool all = true;
	static struct job j;

	for (uint64_t seed = s.from; seed <= s.to && good + WORLD_BAD > seed - s.from; seed++) {
		open_job(&j, seed);
		run_job(&j, scales, kills, crashes);
		if (j.why != NULL)
			printf("# seed %llu: %s\n", (unsigned long long)seed, j.why);
		good += j.why == NULL;
		j.count[CHANGED] = (unsigned)j.changes.heard.n;
		for (int c = 0; c < COUNTS; c++)
			count[c] += j.count[c];
		close_job(&j);
	}
	is(good, seeds_count(&s), "%s: each batch is computed once, and counts once", name);
	printf("# %llu schedules\n", (unsigned long long)seeds_count(&s));
	for (int c = 0; c < COUNTS; c++) {
		printf("# %u %s\n", count[c], name_of[c]);
		all &= (drawn[c] == 0) == (count[c] == 0);
	}
	if (asked.to == 0)
		ok(all, "%s: workers and servers came and went", name);
}

int
main(int argc, char **argv)
{
	if (!seeds_parse(argc, argv, &asked))
		return 2;
	many(0, 0, 0, "a fixed number of workers");
	many(20, 0, 0, "workers join and leave");
	many(20, 20, 0, "workers join and leave, and servers die");
	many(0, 0, 20, "a fixed number of workers, which die and return");
	many(20, 20, 20, "workers join, leave, die and return, and servers die");
	return done();
}
