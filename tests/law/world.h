/*
 * world - a whole job in one thread: workers' and servers' brains over a network in memory.
 *
 * One integer decides everything: the shape of the job, who pushes what, which
 * message comes next, what comes twice and who dies.  Gradients depend on the
 * weights that a worker sees, so that a wrong float anywhere is still seen at
 * the end.
 */
#ifndef TESTS_LAW_WORLD_H
#define TESTS_LAW_WORLD_H

#include "law/draw.h"
#include "tap.h"

#include "base/err.h"
#include "base/rng.h"
#include "net/freeze.h"
#include "net/graph.h"
#include "net/opt.h"
#include "ps/server.h"
#include "ps/worker_brain.h"
#include "wire/pair.h"

#include <stdlib.h>

#define WORLD_WORKERS	5	/* most of each */
#define WORLD_SERVERS	4
#define WORLD_EVERY	3	/* steps between sums */
#define WORLD_SLICES	256	/* more than a job of these nets has */
#define WORLD_TURNS	1000000	/* after which a job hangs; with many deaths they take up to a fifth of that */
#define WORLD_BAD	3	/* jobs that fail before a test gives up */

/* 2 layers, with batch norm between them if asked: P 53 or 43. */
__attribute__((unused)) static struct graph *
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

enum phase { HELLO, BEGIN, STEP, PUSH, WAIT, SUM, BYE, DONE };

struct actor {
	struct world	*world;
	struct worker_opt o;
	struct worker_brain *brain;
	enum phase	 phase;
	float		*g, *stats, *state;
	uint64_t	 step, steps;	/* whose weights it has; after which it leaves */
	uint64_t	 sent[WORLD_SLICES];	/* 1 + the last step whose push of a slice it sent, in any life */
	uint32_t	 order[16], arrays, pushed;	/* those that are not frozen */
	bool		 summed;	/* at this step */
	uint64_t	 last;		/* the step at which it was told to end; 0 */
};

struct host {
	struct world	*world;
	uint32_t	 index;
	struct server	*server;
};

struct world {
	uint64_t	 seed;
	struct rng	 chance;
	struct graph	*graph;
	struct pair	*net;
	uint32_t	 W, S, slack, slice;
	bool		 counting;	/* gradients of 1, for which any order gives the same bits */
	uint32_t	 repeats, crashes, stops;	/* in a thousand turns */
	const char	*freeze;	/* a rule of net/freeze.h, or NULL */
	uint64_t	 floats;	/* that the workers pushed and got back in their steps, repeats counted */
	uint32_t	 pieces;	/* 1, or what worker 0 alone accumulates for so many */
	struct opt_hyper hyper;
	struct actor	 actor[WORLD_WORKERS];
	struct host	 host[WORLD_SERVERS];
	uint64_t	 furthest;	/* most steps anybody was ahead */
	unsigned	 died;
	char		 why[256];	/* the first fault */
};

static void
world_fault(struct world *x, const char *what)
{
	if (x->why[0] == 0)
		snprintf(x->why, sizeof(x->why), "%s", what);
}

/* How many samples rank r has in a step; none now and then. */
static uint32_t
world_samples(const struct world *x, uint32_t r, uint64_t step)
{
	struct rng c = rng_start(x->seed, step, 1000 + r);

	return x->counting ? 1 : (uint32_t)rng_below(&c, 5);
}

static float
world_rate(const struct world *x, uint64_t step)
{
	return x->counting ? 1.0f : 0.05f / (float)(step + 1);
}

/* The gradient of rank r, or batch statistics, as a function of what it sees. */
static void
world_gradient(const struct world *x, uint32_t r, uint64_t step, const float *w, float *g, size_t n, unsigned what)
{
	struct rng c = rng_start(x->seed, step, what * 100 + r);

	for (size_t i = 0; i < n; i++)
		g[i] = x->counting ? 1.0f : 0.25f * w[i] + rng_normal(&c);
}

static double
world_number(const struct world *x, uint32_t r, uint64_t step)
{
	struct rng c = rng_start(x->seed, step, 5000 + r);

	return rng_f32(&c) * 1e3 + 1e-7 * r;
}

static void
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
world_to_server(void *arg, uint32_t s, const struct msg *m)
{
	struct actor *a = arg;

	if (m->type == MSG_PUSH)
		a->world->floats += m->len / sizeof(float);
	if (m->type == MSG_PUSH && a->sent[m->slice] < m->step + 1)
		a->sent[m->slice] = m->step + 1;
	pair_send(a->world->net, a->o.rank, a->world->W + s, m);
}

static void
world_to_worker(void *arg, uint32_t w, const struct msg *m)
{
	struct host *h = arg;

	if (m->type == MSG_WEIGHTS && m->step > 0)
		h->world->floats += m->len / sizeof(float);
	pair_send(h->world->net, h->world->W + h->index, w, m);
}

/* Also after a death: it knows nothing but its rank. */
static void
actor_start(struct actor *a)
{
	const struct graph *g = a->world->graph;
	struct worker_brain_opt bo = { .worker = &a->o, .nservers = a->world->S, .emit = world_to_server, .arg = a };

	worker_brain_free(a->brain);
	a->o.incarnation--;		/* no count, no clock */
	memset(a->o.w, 0xff, g->P * sizeof(float));
	memset(a->o.aux, 0xff, g->A * sizeof(float));
	if (a->o.rank == 0)
		world_first(a->world, a->o.w, a->o.aux, a->state);
	if (worker_brain_new(&bo, &a->brain) < 0)
		abort();
	for (uint32_t s = 0; s < a->world->S; s++)
		worker_brain_hello(a->brain, s);
	a->phase = HELLO;
	a->summed = false;
}

static bool
actor_all_came(struct actor *a)
{
	bool all = true;

	for (uint32_t i = 0; i < a->world->graph->nw; i++)
		all &= worker_brain_array(a->brain, i) < 0;
	return all;
}

/* The steps whose weights' gradients it has sent, all lives together: what the gate may count. */
static uint64_t
actor_done(const struct actor *a)
{
	const struct plan *p = server_plan(a->world->host[0].server);
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; p != NULL && i < p->nweights; i++)
		if (p->slice[i].count > 0 && !p->slice[i].frozen && a->sent[i] < least)
			least = a->sent[i];
	return least == UINT64_MAX ? 0 : least;
}

/* Begins a step: what is pushed is made now, in which order too. */
static void
actor_step(struct actor *a)
{
	struct world *x = a->world;
	const struct graph *g = x->graph;
	float *one = malloc((g->P + g->A + 1) * sizeof(float));
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->W; i++) {
		const struct actor *b = &x->actor[i];
		uint64_t done = actor_done(b);

		if (b->phase != DONE && b->phase != BYE && a->step > done && a->step - done > x->furthest)
			x->furthest = a->step - done;
	}
	for (uint32_t p = 0; p < x->pieces; p++) {
		uint32_t r = x->pieces > 1 ? p : a->o.rank, k = world_samples(x, r, a->step);

		if (k == 0)
			continue;
		world_gradient(x, r, a->step, a->o.w, one, g->P, 1);
		for (size_t i = 0; i < g->P; i++)
			a->g[i] = n > 0 ? a->g[i] + one[i] : one[i];
		n += k;
	}
	world_gradient(x, a->o.rank, a->step, a->o.w, a->stats, g->A, 2);
	free(one);
	a->arrays = 0;
	for (uint32_t i = 0; i < g->nw; i++)
		if (!g->w[i].frozen)
			a->order[a->arrays++] = i;
	rng_shuffle_u32(&x->chance, a->order, a->arrays);
	a->pushed = n == 0 ? a->arrays : 0;
	worker_brain_step(a->brain, n, world_rate(x, a->step));
	if (world_marked(a->step))
		worker_brain_mark(a->brain);
	a->phase = PUSH;
}

static void
actor_sum(struct actor *a)
{
	double v[2], want[2] = { 0, 0 };

	if (worker_brain_total(a->brain, v, 2) >= 0)
		return;
	for (uint32_t r = 0; r < a->world->W; r++)
		if (a->world->actor[r].steps >= a->step) {
			want[0] += world_number(a->world, r, a->step);
			want[1] += 1;
		}
	if (memcmp(v, want, sizeof(v)) != 0)
		world_fault(a->world, "a sum over workers is wrong");
	a->summed = true;
	a->phase = STEP;
}

static bool
actor_sums(const struct actor *a)
{
	return a->world->slack == GATE_SYNC && a->world->pieces == 1 && a->step > 0 && a->step % WORLD_EVERY == 0 &&
	    !a->summed;
}

/* One small thing that the worker can do now. */
static void
actor_turn(struct actor *a)
{
	double v[2] = { world_number(a->world, a->o.rank, a->step), 1 };
	bool all = true;

	switch (a->phase) {
	case HELLO:
		for (uint32_t s = 0; s < a->world->S; s++)
			all &= worker_brain_welcome(a->brain, s);
		if (!all)
			return;
		worker_brain_begin(a->brain, a->o.rank == 0 ? &(struct worker_first){ .state = a->state } : NULL, 0);
		a->phase = BEGIN;
		return;
	case BEGIN:
		if (!actor_all_came(a) || worker_brain_aux(a->brain) >= 0)
			return;
		if (worker_brain_begun(a->brain, &a->step) < 0)
			world_fault(a->world, err_line());
		a->last = worker_brain_last(a->brain) ? a->step : 0;
		a->phase = STEP;
		return;
	case STEP:
		if (actor_sums(a)) {
			worker_brain_sum(a->brain, v, 2);
			a->phase = SUM;
		} else if (a->step >= a->steps || a->last > 0) {
			if (worker_brain_aux(a->brain) >= 0)
				return;
			worker_brain_bye(a->brain);
			a->phase = BYE;
		} else {
			actor_step(a);
		}
		return;
	case PUSH:
		/* As worker_push() does: a step waits for the arrays alone, the statistics of the step before may be late. */
		if (worker_brain_settled(a->brain) >= 0)
			return;
		if (a->pushed < a->arrays) {
			worker_brain_push(a->brain, a->order[a->pushed++], a->g);
			return;
		}
		worker_brain_finish(a->brain, a->stats);
		a->phase = WAIT;
		return;
	case WAIT:
		if (!actor_all_came(a))
			return;
		a->step = worker_brain_steps(a->brain);
		a->last = worker_brain_last(a->brain) ? a->step : 0;
		a->summed = false;
		a->phase = STEP;
		return;
	case SUM:
		actor_sum(a);
		return;
	case BYE:
		if (worker_brain_left(a->brain) < 0)
			a->phase = DONE;
		return;
	case DONE:
		return;
	}
}

static void
world_crash(struct world *x)
{
	struct actor *a = &x->actor[rng_below(&x->chance, x->W)];

	if (a->phase == BYE || a->phase == DONE)
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
		e = worker_brain_take(x->actor[to].brain, from - x->W, &m);
	else
		e = server_take(x->host[to - x->W].server, &m);
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
		worker_brain_stop(a->brain);
}

/* One thing happens. */
__attribute__((unused)) static void
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
	if (rng_below(&x->chance, 2))
		world_deliver(x);
	else
		actor_turn(&x->actor[w]);
}

/* Runs to the end, or to a fault.  Returns whether all went well. */
__attribute__((unused)) static bool
world_run(struct world *x)
{
	for (uint32_t turns = 0; !world_over(x) && x->why[0] == 0; turns++) {
		world_turn(x);
		if (turns > WORLD_TURNS)
			world_fault(x, "it does not end");
	}
	for (uint32_t s = 0; s < x->S && x->why[0] == 0; s++)
		if (!server_over(x->host[s].server))
			world_fault(x, "a server waits for more");
	return x->why[0] == 0;
}

static float *
world_floats(size_t n)
{
	return calloc(n + 1, sizeof(float));
}

/* x's fields down to `hyper` say what is wanted. */
__attribute__((unused)) static void
world_open(struct world *x, uint64_t steps)
{
	const struct graph *g = x->graph;

	if (freeze_rules(x->graph, x->freeze) < 0)
		abort();
	x->chance = rng_start(x->seed, 1, 1);
	x->net = pair_new(x->W + x->S, x->seed);
	x->pieces = x->pieces > 0 ? x->pieces : 1;
	for (uint32_t s = 0; s < x->S; s++) {
		struct server_opt so = { .nworkers = x->W, .index = s, .nservers = x->S, .emit = world_to_worker,
		    .arg = &x->host[s] };

		x->host[s] = (struct host){ .world = x, .index = s };
		if (server_new(&so, &x->host[s].server) < 0)
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

__attribute__((unused)) static void
world_close(struct world *x)
{
	for (uint32_t s = 0; s < x->S; s++)
		server_free(x->host[s].server);
	for (uint32_t r = 0; r < x->W; r++) {
		struct actor *a = &x->actor[r];

		worker_brain_free(a->brain);
		free(a->o.w);
		free(a->o.aux);
		free(a->g);
		free(a->stats);
		free(a->state);
	}
	pair_free(x->net);
	graph_free(x->graph);
}

/* The weights, and state [P, states] when not NULL, of all servers joined. */
__attribute__((unused)) static void
world_join(const struct world *x, float *w, float *aux, float *state)
{
	const struct plan *p = server_plan(x->host[0].server);
	uint32_t states = opt_states(x->hyper.rule);

	for (uint32_t i = 0; i < p->n; i++) {
		const struct plan_slice *s = &p->slice[i];
		const float *sw, *sm;

		server_slice(x->host[s->owner].server, i, &sw, &sm);
		memcpy((s->kind == PLAN_AUX ? aux : w) + s->first, sw, s->count * sizeof(float));
		if (state != NULL && s->kind == PLAN_WEIGHTS && !s->frozen)
			memcpy(state + s->first * states, sm, s->count * states * sizeof(float));
	}
}

#endif
