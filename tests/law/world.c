/* world - a whole job in one thread: what chance makes of it, and its turns. */
#include "law/world.h"

#include "base/rng.h"
#include "net/graph/graph.h"
#include "net/optim/opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORLD_DEATHS	8	/* most in a job */
#define WORLD_TURNS	1000000	/* after which a job hangs; with many deaths they take up to a fifth of that */

struct graph *
world_graph(bool bn)
{
	struct graph *g = graph_new(1, 2, 3);
	uint32_t at = 0;

	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = &at, .nin = 1, .k = 5, .bias = true }, &at);
	if (bn)
		graph_add(g, &(struct graph_node){ .op = GRAPH_BN, .name = "bn", .in = &at, .nin = 1, .eps = 1e-3f,
		    .momentum = 0.8f }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "b", .in = &at, .nin = 1, .k = 3, .bias = true }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at, .nin = 1 }, &at);
	return g;
}

void
world_fault(struct world *x, const char *what)
{
	if (x->why[0] == 0)
		snprintf(x->why, sizeof(x->why), "%s", what);
}

uint32_t
world_samples(const struct world *x, uint32_t r, uint64_t step)
{
	struct rng c = rng_start(x->seed, step, 1000 + r);

	return x->counting ? 1 : (uint32_t)rng_below(&c, 5);
}

float
world_rate(const struct world *x, uint64_t step)
{
	return x->counting ? 1.0f : 0.05f / (float)(step + 1);
}

void
world_gradient(const struct world *x, uint32_t r, uint64_t step, const float *w, float *g, size_t n, unsigned what)
{
	struct rng c = rng_start(x->seed, step, what * 100 + r);

	for (size_t i = 0; i < n; i++)
		g[i] = x->counting ? 1.0f : 0.25f * w[i] + rng_normal(&c);
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

static void
world_crash(struct world *x)
{
	struct actor *a = &x->actor[rng_below(&x->chance, x->W)];

	/* A death also saves a job that hangs, so that there are not always more of them. */
	if (a->phase == BYE || a->phase == DONE || x->died >= WORLD_DEATHS)
		return;
	pair_cut(x->net, a->o.rank);
	actor_start(a);
	x->died++;
}

static void
world_deliver(struct world *x)
{
	unsigned from, to;
	struct msg m;
	int e;

	if (!pair_next(x->net, &from, &to, &m))
		return;
	if (to < x->W)
		e = worker_state_take(x->actor[to].brain, from - x->W, &m);
	else
		e = server_state_take(x->host[to - x->W].server, &m);
	if (e < 0)
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

/* Somebody wants the job to end. */
static void
world_stop(struct world *x)
{
	struct actor *a = &x->actor[rng_below(&x->chance, x->W)];

	if (a->phase >= STEP && a->phase <= WAIT)
		worker_state_stop(a->brain);
}

void
world_turn(struct world *x)
{
	uint32_t w = (uint32_t)rng_below(&x->chance, x->W), s = x->W + (uint32_t)rng_below(&x->chance, x->S);

	if (rng_below(&x->chance, 1000) < x->crashes)
		world_crash(x);
	if (rng_below(&x->chance, 1000) < x->stops)
		world_stop(x);
	if (rng_below(&x->chance, 1000) < x->repeats) {
		bool up = rng_below(&x->chance, 2);

		pair_repeat(x->net, up ? w : s, up ? s : w, 1 + (unsigned)rng_below(&x->chance, PAIR_KEPT));
	}
	if (x->full > 0)
		server_state_resume(x->host[s - x->W].server, w);
	if (rng_below(&x->chance, 2))
		world_deliver(x);
	else
		actor_turn(&x->actor[w]);
}

bool
world_run(struct world *x)
{
	for (uint32_t turns = 0; !world_over(x) && x->why[0] == 0; turns++) {
		world_turn(x);
		if (turns > WORLD_TURNS)
			world_fault(x, "it does not end");
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
world_open(struct world *x, uint64_t steps)
{
	const struct graph *g = x->graph;

	if (freeze_rules(x->graph, x->freeze) < 0)
		abort();
	x->chance = rng_start(x->seed, 1, 1);
	x->net = pair_new(x->W + x->S, x->seed);
	x->pieces = x->pieces > 0 ? x->pieces : 1;
	for (uint32_t s = 0; s < x->S; s++) {
		struct server_state_opt so = { .nworkers = x->W, .index = s, .nservers = x->S, .emit = to_worker,
		    .room = x->full > 0 ? has_room : NULL, .arg = &x->host[s] };

		x->host[s] = (struct host){ .world = x, .index = s };
		if (server_state_new(&so, &x->host[s].server) < 0)
			abort();
	}
	for (uint32_t r = 0; r < x->W; r++) {
		struct actor *a = &x->actor[r];

		*a = (struct actor){ .world = x, .steps = steps };
		a->o = (struct worker_opt){ .graph = g, .rank = r, .nworkers = x->W, .slack = x->slack,
		    .hyper = x->hyper, .mults = x->freeze, .slice = x->slice, .w = world_floats(g->P), .aux = world_floats(g->A) };
		a->g = world_floats(g->P);
		a->stats = world_floats(g->A);
		a->state = world_floats(g->P * OPT_STATES);
		actor_start(a);
	}
}

void
world_close(struct world *x)
{
	for (uint32_t s = 0; s < x->S; s++)
		server_state_free(x->host[s].server);
	for (uint32_t r = 0; r < x->W; r++) {
		struct actor *a = &x->actor[r];

		worker_state_free(a->brain);
		free(a->o.w);
		free(a->o.aux);
		free(a->g);
		free(a->stats);
		free(a->state);
	}
	pair_free(x->net);
	graph_free(x->graph);
}

void
world_join(const struct world *x, float *w, float *aux, float *state)
{
	const struct shard_plan *p = server_state_plan(x->host[0].server);
	uint32_t states = opt_states(x->hyper.rule);

	for (uint32_t i = 0; i < p->n; i++) {
		const struct shard_plan_slice *s = &p->slice[i];
		const float *sw, *sm;

		server_state_slice(x->host[s->owner].server, i, &sw, &sm);
		memcpy((s->kind == SHARD_PLAN_AUX ? aux : w) + s->first, sw, s->count * sizeof(float));
		if (state != NULL && s->kind == SHARD_PLAN_WEIGHTS && !s->frozen)
			memcpy(state + s->first * states, sm, s->count * states * sizeof(float));
	}
}
