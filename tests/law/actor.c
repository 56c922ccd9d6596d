/* actor - a worker of a world: its brain, and what it does next. */
#include "law/world.h"

#include <stdlib.h>
#include <string.h>

static void
to_server(void *arg, uint32_t s, const struct msg *m)
{
	struct actor *a = arg;

	if (m->type == MSG_PUSH)
		a->world->floats += m->len / sizeof(float);
	if (m->type == MSG_PUSH && a->sent[m->slice] < m->step + 1)
		a->sent[m->slice] = m->step + 1;
	pair_send(a->world->net, a->o.rank, a->world->W + s, m);
}

void
actor_start(struct actor *a)
{
	const struct graph *g = a->world->graph;
	struct worker_state_opt bo = { .worker = &a->o, .nservers = a->world->S, .emit = to_server, .arg = a };

	worker_state_free(a->brain);
	a->o.incarnation--;		/* no count, no clock */
	memset(a->o.w, 0xff, g->P * sizeof(float));
	memset(a->o.aux, 0xff, g->A * sizeof(float));
	if (a->o.rank == 0)
		world_first(a->world, a->o.w, a->o.aux, a->state);
	if (worker_state_new(&bo, &a->brain) < 0)
		abort();
	for (uint32_t s = 0; s < a->world->S; s++)
		worker_state_hello(a->brain, s);
	a->phase = HELLO;
	a->summed = false;
}

static bool
all_came(struct actor *a)
{
	bool all = true;

	for (uint32_t i = 0; i < a->world->graph->nw; i++)
		all &= worker_state_missing(a->brain, WORKER_WAIT_ARRAY, i) < 0;
	return all;
}

/* The steps whose weights' gradients it has sent, all lives together: what the gate may count. */
static uint64_t
steps_sent(const struct actor *a)
{
	const struct shard_plan *p = server_state_plan(a->world->host[0].server);
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; p != NULL && i < p->nweights; i++)
		if (p->slice[i].count > 0 && !p->slice[i].frozen && a->sent[i] < least)
			least = a->sent[i];
	return least == UINT64_MAX ? 0 : least;
}

/* Begins a step: what is pushed is made now, in which order too. */
static void
step(struct actor *a)
{
	struct world *x = a->world;
	const struct graph *g = x->graph;
	float *one = malloc((g->P + g->A + 1) * sizeof(float));
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->W; i++) {
		const struct actor *b = &x->actor[i];
		uint64_t done = steps_sent(b);

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
	worker_state_step(a->brain, n, world_rate(x, a->step));
	if (world_marked(a->step))
		worker_state_mark(a->brain);
	a->phase = PUSH;
}

static void
sum(struct actor *a)
{
	double v[2], want[2] = { 0, 0 };

	if (worker_state_missing(a->brain, WORKER_WAIT_SUM, 0) >= 0)
		return;
	worker_state_total(a->brain, v, 2);
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
sums(const struct actor *a)
{
	return a->world->slack == STALE_SYNC && a->world->pieces == 1 && a->step > 0 && a->step % ACTOR_EVERY == 0 &&
	    !a->summed;
}

void
actor_turn(struct actor *a)
{
	double v[2] = { world_number(a->world, a->o.rank, a->step), 1 };
	bool all = true;

	switch (a->phase) {
	case HELLO:
		for (uint32_t s = 0; s < a->world->S; s++)
			all &= worker_state_welcome(a->brain, s);
		if (!all)
			return;
		worker_state_begin(a->brain, a->o.rank == 0 ? &(struct worker_first){ .state = a->state } : NULL, 0);
		a->phase = BEGIN;
		return;
	case BEGIN:
		if (!all_came(a) || worker_state_missing(a->brain, WORKER_WAIT_ALL, 0) >= 0)
			return;
		if (worker_state_begun(a->brain, &a->step) < 0)
			world_fault(a->world, err_line());
		a->last = worker_state_last(a->brain) ? a->step : 0;
		a->phase = STEP;
		return;
	case STEP:
		if (sums(a)) {
			worker_state_sum(a->brain, v, 2);
			a->phase = SUM;
		} else if (a->step >= a->steps || a->last > 0) {
			if (worker_state_missing(a->brain, WORKER_WAIT_ALL, 0) >= 0)
				return;
			worker_state_bye(a->brain);
			a->phase = BYE;
		} else {
			step(a);
		}
		return;
	case PUSH:
		/* As worker_push() does: a step waits for the arrays alone, the statistics of the step before may be late. */
		if (worker_state_missing(a->brain, WORKER_WAIT_STATS, 0) >= 0)
			return;
		if (a->pushed < a->arrays) {
			worker_state_push(a->brain, a->order[a->pushed++], a->g);
			return;
		}
		worker_state_finish(a->brain, a->stats);
		a->phase = WAIT;
		return;
	case WAIT:
		if (!all_came(a))
			return;
		a->step = worker_state_steps(a->brain);
		a->last = worker_state_last(a->brain) ? a->step : 0;
		a->summed = false;
		a->phase = STEP;
		return;
	case SUM:
		sum(a);
		return;
	case BYE:
		if (worker_state_missing(a->brain, WORKER_WAIT_BYE, 0) < 0)
			a->phase = DONE;
		return;
	case DONE:
		return;
	}
}
