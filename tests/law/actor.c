/* actor - a simulated worker: its state machine, and its next action. */
#include "law/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
to_server(void *arg, uint32_t s, const struct msg *m)
{
	struct actor *a = arg;

	if (a->memory.left != NULL || (m->type != MSG_HELLO && (a->broken[s] || a->hailing[s])))
		return;
	if (m->type == MSG_PUSH)
		a->world->floats += m->len / sizeof(float);
	if (m->type == MSG_PUSH && a->sent[m->slice] < m->step + 1)
		a->sent[m->slice] = m->step + 1;
	pair_send(a->world->net, a->o.rank, a->world->W + s, m);
}

/* The worker that starts the job need not be the first. */
static uint32_t
find_starter(const struct actor *a)
{
	return (uint32_t)(a->world->seed % a->world->W);
}

void
actor_start(struct actor *a)
{
	const struct graph *g = a->world->graph;
	struct worker_state_opt bo = { .worker = &a->o, .nservers = a->world->S, .emit = to_server, .arg = a };

	durable_return(&a->memory);
	if (a->world->slack == STALE_SYNC && kept_open(&a->kept, &a->memory.m, 1 + a->o.rank,
	    worker_residuals_size(a->o.mults, g->P)) < 0)
		abort();
	a->o.residuals = a->kept.rest;
	a->o.memory = a->kept.memory;
	a->o.parting = kept_parting(&a->kept);
	worker_state_free(a->worker);
	memset(a->broken, 0, sizeof(a->broken));
	memset(a->hailing, 0, sizeof(a->hailing));
	a->o.incarnation--;		/* no count, no clock */
	memset(a->o.w, 0xff, g->P * sizeof(float));
	memset(a->o.aux, 0xff, g->A * sizeof(float));
	if (a->o.rank == find_starter(a))
		world_first(a->world, a->o.w, a->o.aux, a->state);
	if (worker_state_new(&bo, &a->worker) < 0)
		abort();
	for (uint32_t s = 0; s < a->world->S; s++)
		worker_state_hello(a->worker, s);
	a->phase = HELLO;
	a->asked = 0;
	a->running = 0;
	a->sum = ACTOR_EPOCH;
}

static bool
is_missing(struct actor *a, enum worker_wait what, uint32_t array)
{
	uint32_t server;

	return worker_state_missing(a->worker, what, array, &server) > 0;
}

static bool
all_came(struct actor *a)
{
	bool all = true;

	for (uint32_t i = 0; i < a->world->graph->nw; i++)
		all &= !is_missing(a, WORKER_WAIT_ARRAY, i);
	return all;
}

/* The steps whose gradients it has sent, summed over its incarnations: an upper limit for the servers' clocks. */
static uint64_t
steps_sent(const struct actor *a)
{
	const struct shard_plan *p = worker_state_plan(a->worker);
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < p->nweights; i++)
		if (p->slice[i].count > 0 && !p->slice[i].frozen && a->sent[i] < least)
			least = a->sent[i];
	return least == UINT64_MAX ? 0 : least;
}

double
actor_figure(const struct world *x, uint32_t r, uint64_t step)
{
	return rint(world_number(x, r, 1000 + step) * 0x1p20) * 0x1p-20;
}

double
actor_given(const struct world *x, uint32_t r, uint64_t step, enum actor_sum what)
{
	double running = 0;

	if (what != ACTOR_EPOCH)
		return world_number(x, r, step) + what;
	for (uint64_t t = step - ACTOR_EVERY; t < step; t++)
		running += actor_figure(x, r, t);
	return running;
}

/* Worker 0 asks for other settings. */
static void
ask_for_change(struct actor *a)
{
	const struct setting *s = changes_wanted(&a->world->changes, worker_state_settings(a->worker), &a->asked);

	if (s != NULL)
		worker_state_set(a->worker, s);
}

/* The rate of its step. */
static float
find_rate(struct actor *a)
{
	const struct settings *all = worker_state_settings(a->worker);
	const float rate = changes_rate(all, a->step, world_rate(a->world, a->step));
	const char *wrong = changes_begin(&a->world->changes, all, a->step);

	if (wrong != NULL)
		world_fault(a->world, wrong);
	changes_note_rate(a->rates[a->step], rate);
	return rate;
}

/* Begins a step: chooses its gradients and their order. */
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
	for (uint32_t p = 0; p < x->accumulate; p++) {
		uint32_t r = x->accumulate > 1 ? p : a->o.rank, k = world_samples(x, r, a->step);

		if (k == 0)
			continue;
		world_gradient(x, r, a->step, a->o.w, one, g->P, 1);
		for (size_t i = 0; i < g->P; i++)
			a->g[i] = n > 0 ? a->g[i] + one[i] : one[i];
		n += k;
	}
	world_gradient(x, a->o.rank, a->step, a->o.w, a->stats, g->A, 2);
	free(one);
	a->running += actor_figure(x, a->o.rank, a->step);
	kept_put(&a->kept, a->step + 1, &(struct kept_place){ .loss = a->running });
	a->arrays = 0;
	for (uint32_t i = 0; i < g->nw; i++)
		if (!g->w[i].frozen)
			a->order[a->arrays++] = i;
	rng_shuffle_u32(&x->chance, a->order, a->arrays);
	a->pushed = n == 0 ? a->arrays : 0;
	worker_state_step(a->worker, n, find_rate(a));
	if (world_marked(a->step))
		worker_state_mark(a->worker);
	a->phase = PUSH;
}

/* The answer to a sum has arrived, or was there. */
static void
sum_answered(struct actor *a, const double v[2])
{
	double want[2] = { 0, 0 };

	for (uint32_t r = 0; r < a->world->W; r++)
		if (a->world->actor[r].steps >= a->step) {
			want[0] += actor_given(a->world, r, a->step, a->sum);
			want[1] += 1;
		}
	/* Each figure of an epoch is that of the steps that its worker took. */
	if (a->world->backup > 0 && a->sum == ACTOR_EPOCH)
		want[0] = v[0];
	if (memcmp(v, want, sizeof(want)) != 0)
		world_fault(a->world, a->sum == ACTOR_EPOCH ? "the figures of an epoch are wrong" :
		    "a sum over workers is wrong");
	if (a->sum == ACTOR_EPOCH)
		a->running = 0;
	a->sum++;
	a->phase = STEP;
}

static void
sum(struct actor *a)
{
	double v[2];

	if (is_missing(a, WORKER_WAIT_SUM, 0))
		return;
	worker_state_total(a->worker, v, 2);
	kept_put_sum(&a->kept, a->step, a->sum, v, 2);
	sum_answered(a, v);
}

/* The next sum at this step, or ACTOR_SUMS.  All workers that reach a step take part in its sums. */
static enum actor_sum
next_sum(const struct actor *a)
{
	bool end = a->step > 0 && a->step % ACTOR_EVERY == 0;

	if (a->world->slack != STALE_SYNC || a->world->accumulate > 1)
		return ACTOR_SUMS;
	if (a->world->backup > 0)
		return end && a->sum < ACTOR_READY ? a->sum : ACTOR_SUMS;
	return a->sum < ACTOR_READY && !end ? ACTOR_READY : a->sum;
}

/* The servers cannot close another step before this worker goes on. */
static void
compare_exact(struct actor *a)
{
	const struct shard_plan *p = worker_state_plan(a->worker);

	for (uint32_t i = 0; i < p->nweights; i++) {
		const struct shard_plan_slice *s = &p->slice[i];
		const struct server_state *server = a->world->host[s->owner].server;
		const float *w, *m;

		/* One that was started again has none before a worker's hello. */
		if (server_state_plan(server) == NULL || s->count == 0)
			continue;
		server_state_slice(server, i, &w, &m);
		if ( memcmp(a->exact + s->first, w, s->count * sizeof(float)) != 0)
			world_fault(a->world, "exact weights are not those of the servers");
	}
}

static void
begin_sum(struct actor *a)
{
	double v[2] = { a->sum == ACTOR_EPOCH ? a->running : actor_given(a->world, a->o.rank, a->step, a->sum), 1 };

	if (kept_find_sum(&a->kept, a->step, a->sum, v, 2)) {
		sum_answered(a, v);
		return;
	}
	/* Nobody goes on before this sum has an answer. */
	if (a->world->backup > 0 && a->sum == ACTOR_EPOCH) {
		memcpy(a->exact, a->o.w, a->world->graph->P * sizeof(float));
		compare_exact(a);
	}
	worker_state_sum(a->worker, a->sum, v, 2);
	a->phase = SUM;
}

/* It has the weights of a step that it or its predecessor was at. */
static void
take_place(struct actor *a)
{
	struct kept_place p = { .loss = 0 };
	uint64_t first;

	a->last = worker_state_last(a->worker) ? a->step : 0;
	a->phase = STEP;
	if (a->world->slack != STALE_SYNC)
		return;
	if (!kept_began(&a->kept, &first))
		kept_begin(&a->kept, a->step, &p);
	else if (a->world->backup > 0 && kept_newest(&a->kept, &first, &p) && first < a->step)
		kept_put(&a->kept, a->step, &p);
	else if (!kept_find(&a->kept, a->step, &p))
		world_fault(a->world, "a worker's memory lacks the step at which it returns");
	a->running = p.loss;
}

/* With backup workers: whether it is at the servers' step, with all weights. */
static bool
catch_up(struct actor *a)
{
	struct staleness s;
	bool renewed;
	uint64_t to;

	if (is_missing(a, WORKER_WAIT_STEP, 0))
		return false;
	if ((to = worker_state_catch_up(a->worker, &renewed)) > a->step) {
		a->step = to;
		a->sum = ACTOR_EPOCH;
		kept_put(&a->kept, to, &(struct kept_place){ .loss = a->running });
	}
	s = worker_state_staleness(a->worker);
	a->world->taken += s.bin[0];
	a->world->late += s.n - s.bin[0];
	return all_came(a) && !is_missing(a, WORKER_WAIT_ALL, 0);
}

/* Connects again to servers that died, once all is read that they had sent. */
static void
reconnect(struct actor *a)
{
	for (uint32_t s = 0; s < a->world->S; s++) {
		if (!a->broken[s] || pair_queued(a->world->net, a->world->W + s, a->o.rank) > 0)
			continue;
		a->broken[s] = false;
		worker_state_keep(a->worker, s);
		a->hailing[s] = !worker_state_parted(a->worker, s);
		if (a->hailing[s])
			worker_state_hello(a->worker, s);
	}
}

void
actor_welcomed(struct actor *a, uint32_t s)
{
	if (!a->hailing[s])
		return;
	a->hailing[s] = false;
	worker_state_repeat(a->worker, s);
}

void
actor_turn(struct actor *a)
{
	bool all = true;

	if (a->phase != DONE)
		reconnect(a);
	switch (a->phase) {
	case HELLO:
		for (uint32_t s = 0; s < a->world->S; s++)
			all &= worker_state_welcome(a->worker, s);
		if (!all)
			return;
		if (kept_parting(&a->kept)) {
			worker_state_bye(a->worker);
			a->blind = true;
			a->phase = BYE;
			return;
		}
		worker_state_begin(a->worker, &(struct worker_first){ .starter = find_starter(a), .state = a->state }, 0);
		a->phase = BEGIN;
		return;
	case BEGIN:
		if (!all_came(a) || is_missing(a, WORKER_WAIT_ALL, 0))
			return;
		if (worker_state_begun(a->worker, &a->step) < 0)
			world_fault(a->world, err_line());
		take_place(a);
		return;
	case STEP:
		if (a->world->backup > 0 && !catch_up(a))
			return;
		if ((a->sum = next_sum(a)) < ACTOR_SUMS) {
			begin_sum(a);
		} else if (a->step >= a->steps || a->last > 0) {
			if (is_missing(a, WORKER_WAIT_ALL, 0))
				return;
			kept_part(&a->kept);
			worker_state_bye(a->worker);
			a->phase = BYE;
		} else if (!is_missing(a, WORKER_WAIT_STATS, 0)) {
			/* As worker_step() does: the arrays are there, the statistics of the step before may be late. */
			if (a->o.rank == 0)
				ask_for_change(a);
			step(a);
		}
		return;
	case PUSH:
		if (a->pushed < a->arrays) {
			worker_state_encode(a->worker, a->order[a->pushed], a->g);
			worker_state_push(a->worker, a->order[a->pushed++], a->g);
			return;
		}
		worker_state_finish(a->worker, a->stats);
		a->phase = WAIT;
		return;
	case WAIT:
		if (!all_came(a))
			return;
		a->step = worker_state_steps(a->worker);
		a->last = worker_state_last(a->worker) ? a->step : 0;
		a->sum = ACTOR_EPOCH;
		a->phase = STEP;
		if (a->world->slack == STALE_SYNC && a->o.rank == 0 && a->step % ACTOR_EVERY == 0) {
			worker_state_exact(a->worker, a->exact);
			a->phase = EXACT;
		}
		return;
	case EXACT:
		if (is_missing(a, WORKER_WAIT_STATE, 0))
			return;
		compare_exact(a);
		a->phase = STEP;
		return;
	case SUM:
		sum(a);
		return;
	case BYE:
		if (!is_missing(a, WORKER_WAIT_BYE, 0))
			a->phase = DONE;
		return;
	case DONE:
		return;
	}
}
