/* world - a whole job in one thread: its random events and its turns. */
#include "law/world.h"

#include "base/rng.h"
#include "net/graph/graph.h"
#include "net/optim/opt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORLD_DEATHS	8	/* most in a job */
#define WORLD_CHANGES	6	/* most changes of settings */
#define WORLD_TURNS	1000000	/* after which a job hangs; with many deaths they take up to a fifth of that */

struct graph *
world_graph(bool bn)
{
	return world_graph_of(bn, 5);
}

struct graph *
world_graph_of(bool bn, uint32_t k)
{
	struct graph *g = graph_new(1, 2, 3);
	uint32_t at = 0;

	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = &at, .nin = 1, .k = k, .bias = true }, &at);
	if (bn)
		graph_add(g, &(struct graph_node){ .op = GRAPH_BN, .name = "bn", .in = &at, .nin = 1, .eps = 1e-3f,
		    .momentum = 0.8f }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "b", .in = &at, .nin = 1, .k = 3, .bias = true }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at, .nin = 1 }, &at);
	return g;
}

void
world_draw_job(struct world *x, struct rng *c, uint32_t least, bool ones)
{
	bool bn = rng_below(c, 2);

	x->graph = world_graph(bn);
	x->W = least + (uint32_t)rng_below(c, WORLD_WORKERS + 1 - least);
	x->S = 1 + (uint32_t)rng_below(c, WORLD_SERVERS);
	x->slice = 8u << rng_below(c, 6);
	x->full = 400 * (uint32_t)(x->seed % 3);
	x->lends = x->seed % 4 < 2;
	x->freeze = world_freeze(c, bn);
	x->codec = world_codec(c, ones);
}

struct world
world_draw(uint64_t seed)
{
	struct rng c = rng_start(seed, 0, 0);
	struct world x = { .seed = seed, .hyper = { .wd = 1e-3f } };

	opt_usual((enum opt_rule)rng_below(&c, OPT_RULES), &x.hyper);
	x.hyper.clip_norm = rng_below(&c, 2) ? 0.5f : 0;
	x.hyper.unit = rng_below(&c, 2);
	x.hyper.average = (struct average){ (enum average_kind)rng_below(&c, AVERAGE_KINDS), 0.75f, 2 };
	world_draw_job(&x, &c, 1, false);
	return x;
}

void
world_fault(struct world *x, const char *what)
{
	if (x->why[0] == 0)
		snprintf(x->why, sizeof(x->why), "%s", what);
}

uint32_t
world_micro(const struct world *x, uint32_t r, uint64_t step, uint32_t k)
{
	struct rng c = rng_start(x->seed, step, 1000 + r + WORLD_WORKERS * k);

	return x->shares ? x->share[step][r] : x->counting ? 1 : (uint32_t)rng_below(&c, 5);
}

uint32_t
world_samples(const struct world *x, uint32_t r, uint64_t step)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k == 0 || k < x->local; k++)
		n += world_micro(x, r, step, k);
	return n;
}

float
world_rate(const struct world *x, uint64_t step)
{
	return x->counting ? 1.0f : 0.05f / (float)(step + 1);
}

/* A gradient for counting: with backup workers only those of one step are the same. */
static float
count_step(const struct world *x, uint64_t step)
{
	return x->backup > 0 ? (float)(step + 1) : 1;
}

void
world_gradient(const struct world *x, uint32_t r, uint64_t step, const float *w, float *g, size_t n, unsigned what)
{
	struct rng c = rng_start(x->seed, step, what * 100 + r);

	for (size_t i = 0; i < n; i++)
		g[i] = x->counting ? count_step(x, step) : 0.25f * w[i] + rng_normal(&c);
}

double
world_number(const struct world *x, uint32_t r, uint64_t step)
{
	struct rng c = rng_start(x->seed, step, 5000 + r);

	return rng_f32(&c) * 1e3 + 1e-7 * r;
}

void
world_first(const struct world *x, float *w, float *aux, float *state)
{
	struct rng c = rng_start(x->seed, 7, 7);

	for (size_t i = 0; i < x->graph->P; i++)
		w[i] = x->counting ? 0 : rng_normal(&c);
	for (size_t i = 0; i < x->graph->A; i++)
		aux[i] = x->counting ? 0 : rng_f32(&c);
	for (size_t i = 0; i < x->graph->P * opt_states(x->hyper.rule); i++)
		state[i] = x->counting ? 0 : rng_f32(&c) / 8;
}

static void
to_worker(void *arg, uint32_t w, const struct msg *m)
{
	struct host *h = arg;

	if (h->memory.left != NULL)
		return;		/* it is dead */
	if (m->type == MSG_WEIGHTS && m->step > 0)
		h->world->floats += m->len / sizeof(float);
	pair_send(h->world->net, h->world->W + h->index, w, m);
}

static bool
has_room(void *arg, uint32_t w)
{
	struct host *h = arg;

	(void)w;
	return rng_below(&h->world->chance, 1000) >= h->world->full;
}

/* The worker is dead: another one starts, with what it left. */
static void
restart_worker(struct actor *a)
{
	if (a->world->trace)
		printf("# worker %" PRIu32 " dies\n", a->o.rank);
	pair_cut(a->world->net, a->o.rank);
	for (uint32_t s = 0; s < a->world->S; s++)
		if (server_state_keep(a->world->host[s].server, a->o.rank) < 0)
			abort();
	/* What it lent is lost. */
	memset(a->g, 0xff, a->world->graph->P * sizeof(float));
	actor_start(a);
	a->world->died++;
}

static void
world_crash(struct world *x)
{
	struct actor *a = &x->actor[rng_below(&x->chance, x->W)];

	/* A death also saves a job that hangs, so that there are not always more of them. */
	if (a->phase == DONE || (a->phase == BYE && x->slack != STALE_SYNC) || x->died >= WORLD_DEATHS)
		return;
	if (x->slack == STALE_SYNC && rng_below(&x->chance, 2)) {
		durable_die_soon(&a->memory, 20);
		return;
	}
	restart_worker(a);
}

static void
start_server(struct host *h)
{
	struct world *x = h->world;
	struct server_state_opt so = { .nworkers = x->W, .index = h->index, .nservers = x->S, .memory = &h->memory.m,
	    .emit = to_worker, .room = x->full > 0 ? has_room : NULL, .arg = h };

	if (server_state_new(&so, &h->server) < 0)
		abort();
}

/* The server is dead: another one starts, with what it left, and its connections end. */
static void
restart_server(struct host *h)
{
	struct world *x = h->world;
	unsigned s = x->W + h->index;

	if (x->trace)
		printf("# server %" PRIu32 " dies\n", h->index);
	/* What was sent has its bytes, and those of the rest end with the server. */
	for (uint32_t w = 0; w < x->W; w++) {
		size_t sent = pair_queued(x->net, s, w);

		pair_break(x->net, w, s, 0);
		pair_break(x->net, s, w, rng_below(&x->chance, sent + 1));
		x->actor[w].broken[h->index] = true;
		x->actor[w].hailing[h->index] = false;
	}
	server_state_free(h->server);
	durable_return(&h->memory);
	start_server(h);
	x->killed++;
}

static void
world_kill(struct world *x)
{
	struct host *h = &x->host[rng_below(&x->chance, x->S)];

	if (server_state_over(h->server) || x->killed >= WORLD_DEATHS)
		return;
	if (rng_below(&x->chance, 4) == 0)
		restart_server(h);
	else
		durable_die_soon(&h->memory, 60);
}

/* Worker 0 is to ask for other settings, and servers may die while they hear of them. */
static void
world_set(struct world *x)
{
	if (!changes_want(&x->changes, &x->chance) || x->kills == 0)
		return;
	for (uint32_t s = 0; s < x->S; s++)
		if (x->killed < WORLD_DEATHS && rng_below(&x->chance, 3) == 0)
			durable_die_soon(&x->host[s].memory, 12);
}

static void
world_deliver(struct world *x)
{
	unsigned from, to;
	struct msg m;
	int e;

	if (!pair_next(x->net, &from, &to, &m))
		return;
	if (x->trace)
		printf("# %s %u -> %u: %s step %" PRIu64 " slice %" PRIu32 "\n", to < x->W ? "server" : "worker",
		    to < x->W ? from - x->W : from, to < x->W ? to : to - x->W, msg_name(m.type), m.step, m.slice);
	if (to < x->W)
		e = worker_state_take(x->actor[to].worker, from - x->W, &m);
	else
		e = server_state_take(x->host[to - x->W].server, &m);
	if (to < x->W && m.type == MSG_WELCOME)
		actor_welcomed(&x->actor[to], from - x->W);
	if (to >= x->W && x->host[to - x->W].memory.left != NULL)
		restart_server(&x->host[to - x->W]);
	else if (e < 0)
		world_fault(x, err_line());
}

static bool
world_over(const struct world *x)
{
	for (uint32_t i = 0; i < x->W; i++)
		if (x->actor[i].phase != DONE)
			return false;
	return true;
}

/* A worker asks the job to end. */
static void
world_stop(struct world *x)
{
	struct actor *a = &x->actor[rng_below(&x->chance, x->W)];

	if (a->phase >= STEP && a->phase <= WAIT)
		worker_state_stop(a->worker);
}

/*
 * A connection between worker w and party s is made again.  This does not happen before most of what was repeated the
 * last time has arrived: otherwise a link would get more than it delivers, as repeated messages are answered again.
 */
static void
world_repeat(struct world *x, uint32_t w, uint32_t s)
{
	const bool up = rng_below(&x->chance, 2);
	const unsigned n = 1 + (unsigned)rng_below(&x->chance, PAIR_KEPT), from = up ? w : s, to = up ? s : w;

	if (pair_queued(x->net, from, to) < PAIR_KEPT)
		pair_repeat(x->net, from, to, n);
}

void
world_turn(struct world *x)
{
	uint32_t w = (uint32_t)rng_below(&x->chance, x->W), s = x->W + (uint32_t)rng_below(&x->chance, x->S);

	if (rng_below(&x->chance, 1000) < x->crashes)
		world_crash(x);
	if (x->kills > 0 && rng_below(&x->chance, 1000) < x->kills)
		world_kill(x);
	if (x->sets > 0 && rng_below(&x->chance, 1000) < x->sets)
		world_set(x);
	if (rng_below(&x->chance, 1000) < x->stops)
		world_stop(x);
	if (rng_below(&x->chance, 1000) < x->repeats)
		world_repeat(x, w, s);
	if (x->full > 0)
		server_state_resume(x->host[s - x->W].server, w);
	if (rng_below(&x->chance, 2))
		world_deliver(x);
	else
		actor_turn(&x->actor[w]);
	if (x->actor[w].memory.left != NULL)
		restart_worker(&x->actor[w]);
}

bool
world_run(struct world *x)
{
	for (uint32_t turns = 0; !world_over(x) && x->why[0] == 0; turns++) {
		world_turn(x);
		if (turns > WORLD_TURNS)
			world_fault(x, "the job does not end");
	}
	for (uint32_t s = 0; s < x->S && x->why[0] == 0; s++)
		if (!server_state_over(x->host[s].server))
			world_fault(x, "a server waits for more");
	return x->why[0] == 0;
}

float *
world_floats(size_t n)
{
	return calloc(n + 1, sizeof(float));
}

void
world_rules(struct world *x)
{
	if (freeze_rules(x->graph, x->freeze) < 0)
		abort();
	snprintf(x->rules, sizeof(x->rules), "%s%s%s", x->freeze != NULL ? x->freeze : "",
	    x->freeze != NULL && x->codec != NULL ? ";" : "", x->codec != NULL ? x->codec : "");
}

void
world_open(struct world *x, uint64_t steps)
{
	const struct graph *g = x->graph;

	world_rules(x);
	x->chance = rng_start(x->seed, 1, 1);
	x->net = pair_new(x->W + x->S, x->seed);
	if (x->lends)
		pair_lend(x->net);
	x->accumulate = x->accumulate > 0 ? x->accumulate : 1;
	x->changes.left = WORLD_CHANGES;
	if (x->sets > 0)
		changes_open(&x->changes, &x->hyper, x->rules, x->slack, x->counting);
	for (uint32_t s = 0; s < x->S; s++) {
		x->host[s] = (struct host){ .world = x, .index = s, .memory = x->host[s].memory };
		durable_open(&x->host[s].memory, &x->chance);
		start_server(&x->host[s]);
	}
	for (uint32_t r = 0; r < x->W; r++) {
		struct actor *a = &x->actor[r];

		*a = (struct actor){ .world = x, .steps = steps, .memory = a->memory };
		durable_open(&a->memory, &x->chance);
		a->o = (struct worker_opt){ .graph = g, .rank = r, .nworkers = x->W, .slack = x->slack, .backup = x->backup,
		    .hyper = x->hyper, .mults = x->rules, .slice = x->slice, .w = world_floats(g->P), .aux = world_floats(g->A) };
		a->g = world_floats(g->P);
		a->stats = world_floats(g->A);
		a->exact = world_floats(g->P);
		a->state = world_floats(g->P * OPT_STATES);
		actor_start(a);
	}
}

void
world_close(struct world *x)
{
	for (uint32_t s = 0; s < x->S; s++) {
		server_state_free(x->host[s].server);
		durable_close(&x->host[s].memory);
	}
	for (uint32_t r = 0; r < x->W; r++) {
		struct actor *a = &x->actor[r];

		worker_state_free(a->worker);
		durable_close(&a->memory);
		free(a->o.w);
		free(a->o.aux);
		free(a->g);
		free(a->stats);
		free(a->exact);
		free(a->state);
	}
	pair_free(x->net);
	graph_free(x->graph);
}

void
world_join(const struct world *x, float *w, float *aux, float *state)
{
	const struct shard_plan *p = worker_state_plan(x->actor[0].worker);
	uint32_t states = opt_states(x->hyper.rule);

	for (uint32_t i = 0; i < p->n; i++) {
		const struct shard_plan_slice *s = &p->slice[i];
		const float *sw, *sm;

		server_state_slice(x->host[s->owner].server, i, &sw, &sm);
		memcpy((s->kind == SHARD_PLAN_AUX ? aux : w) + s->first, sw, s->count * sizeof(float));
		if (state != NULL && sm != NULL)
			memcpy(state + s->first * states, sm, s->count * states * sizeof(float));
	}
}

/* What so many steps that all workers share take from a weight. */
static double
sum_steps(const struct world *x, uint64_t steps)
{
	double sum = 0;

	for (uint64_t t = 0; t < steps; t++)
		sum += (double)count_step(x, t) * (double)changes_rate(&x->changes.heard, t, world_rate(x, t));
	return sum;
}

bool
world_counted(struct world *x, const float *w, uint64_t steps)
{
	double sum[2] = { 0, 0 };
	bool good = true;

	for (uint32_t r = 0; r < x->W && x->slack != STALE_SYNC; r++)
		changes_add_rates(x->actor[r].rates, steps, sum);
	if (x->slack == STALE_SYNC)
		sum[0] = sum[1] = sum_steps(x, steps);
	for (uint32_t a = 0; a < x->graph->nw; a++)
		for (size_t i = 0; i < x->graph->w[a].count; i++) {
			const double took = -(double)w[x->graph->w[a].first + i];

			good &= x->graph->w[a].frozen ? took == 0 : took >= sum[0] && took <= sum[1];
		}
	return good;
}

bool
world_counts(struct world *x, uint64_t steps)
{
	float *w = world_floats(x->graph->P), *aux = world_floats(x->graph->A);
	bool good;

	world_join(x, w, aux, NULL);
	good = world_counted(x, w, steps);
	free(w);
	free(aux);
	return good;
}
