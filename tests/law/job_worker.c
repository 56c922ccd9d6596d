/* job_worker - a worker in simulated time, which trains through worker.h as lib/train does: serves job. */
#include "law/job_in.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The worker computes for a time. */
static void
compute(void)
{
	sim_poll(NULL, 0, sim_now() + rng_below(sim_chance(), SIM_MS >> rng_below(sim_chance(), 10)));
}

static void
log_waiting(void *arg, const char *whom)
{
	(void)arg;
	sim_log("waiting for %s", whom);
}

static int
add_up(struct job_life *l, enum actor_sum what)
{
	const uint32_t rank = l->p->index, phase = what == ACTOR_READY && l->p->job->streams ? 0 : 1 + what;
	double v[2] = { what == ACTOR_EPOCH ? l->running : actor_given(l->x, rank, l->step, what), 1 }, want[2] = { 0, 0 };

	if (!kept_find_sum(&l->kept, l->step, phase, v, 2)) {
		sim_log("sum %" PRIu32 " of step %" PRIu64, phase, l->step);
		ERR_TRY(worker_sum(l->wk, phase, v, 2));
		kept_put_sum(&l->kept, l->step, phase, v, 2);
	}
	for (uint32_t r = 0; r < l->x->W; r++)
		if (l->x->actor[r].steps >= l->step) {
			want[0] += actor_given(l->x, r, l->step, what);
			want[1] += 1;
		}
	/* Each figure of an epoch is that of the steps that its worker took. */
	if (l->x->backup > 0 && what == ACTOR_EPOCH)
		want[0] = v[0];
	if (memcmp(v, want, sizeof(want)) != 0)
		return err_fail(ERR_FORMAT, "sum %d of step %" PRIu64 " is wrong", what, l->step);
	if (what == ACTOR_EPOCH)
		l->running = 0;
	return 0;
}

/* The sums at the end of an epoch. */
static int
end_epoch(struct job_life *l)
{
	if (l->x->slack != STALE_SYNC || l->step == l->first || l->step % ACTOR_EVERY != 0)
		return 0;
	ERR_TRY(add_up(l, ACTOR_EPOCH));
	ERR_TRY(add_up(l, ACTOR_VALIDATION));
	return l->p->job->cut > 0 ? job_cut_epoch(l) : 0;
}

/*
 * The sum before a step: first of all if the job reads streams, as next_micro_batch() in lib/train does, or else last.
 * With backup workers there is one before the first step, as that of train_agree().
 */
static int
begin_step(struct job_life *l, bool first)
{
	const bool sums = l->x->slack == STALE_SYNC && (l->x->backup == 0 || l->step == l->first);

	return sums && first == l->p->job->streams ? add_up(l, ACTOR_READY) : 0;
}

/* With backup workers: goes on where the servers are, if this one is late. */
static int
catch_up(struct job_life *l)
{
	bool renewed;
	uint64_t to;

	ERR_TRY(worker_catch_up(l->wk, &to, &renewed));
	if (to > l->step) {
		sim_log("goes on at step %" PRIu64, to);
		l->step = to;
		kept_put(&l->kept, to, &(struct kept_place){ .loss = l->running });
	}
	return 0;
}

/* No worker may be further ahead of another than the slack. */
static int
check_slack(const struct job_life *l)
{
	const struct job *j = l->p->job;

	const uint32_t slack = changes_slack(&j->x.changes, j->x.slack);

	for (uint32_t i = j->x.S; i < j->n && slack != STALE_ASYNC && j->x.backup == 0; i++)
		if (!j->process[i].complete && l->step > j->process[i].pushed + slack)
			return err_fail(ERR_FORMAT, "is at step %" PRIu64 ", and worker %" PRIu32 " has pushed %" PRIu64,
			    l->step, j->process[i].index, j->process[i].pushed);
	return 0;
}

static int
run_step(struct job_life *l, float *w)
{
	const struct graph *g = l->x->graph;
	const uint32_t rank = l->p->index;
	uint32_t order[16], arrays = 0, n;
	float rate;

	if (l->p->job->cut > 0)
		ERR_TRY(job_cut_step(l));
	if (l->x->shares)
		ERR_TRY(job_share_step(l));
	n = world_samples(l->x, rank, l->step);
	sim_log("step %" PRIu64 ", %" PRIu32 " samples", l->step, n);
	world_gradient(l->x, rank, l->step, w, l->stats, g->A, 2);
	if (l->x->local > 0)
		ERR_TRY(job_local_run(l, n));
	else
		world_gradient(l->x, rank, l->step, w, l->g, g->P, 1);
	ERR_TRY(job_set_rate(l, &rate));
	ERR_TRY(worker_step(l->wk, n, l->x->local > 0 ? 1 : rate));
	ERR_TRY(check_slack(l));
	if (l->p->job->cut > 0)
		job_cut_keep(l, actor_figure(l->x, rank, l->step));
	else
		kept_put(&l->kept, l->step + 1,
		    &(struct kept_place){ .loss = l->running + actor_figure(l->x, rank, l->step) });
	l->running += actor_figure(l->x, rank, l->step);
	if (world_marked(l->step))
		worker_mark(l->wk);
	for (uint32_t a = 0; a < g->nw && n > 0; a++)
		if (!g->w[a].frozen)
			order[arrays++] = a;
	rng_shuffle_u32(sim_chance(), order, arrays);
	if (l->step >= l->p->pushed)
		l->p->pushed = l->step + 1;
	for (uint32_t i = 0; i < arrays; i++) {
		compute();
		ERR_TRY(worker_push(l->wk, order[i], l->g));
	}
	if (l->p->job->shm)
		job_fault_worker(l->p, SIM_MS);
	if (rng_below(sim_chance(), 1000) < l->x->stops)
		ERR_TRY(worker_stop(l->wk));
	ERR_TRY(worker_finish(l->wk, l->stats));
	if (l->x->shares)
		job_share_time(l, n);
	l->step++;
	return 0;
}

static int
need_arrays(struct job_life *l)
{
	for (uint32_t a = 0; a < l->x->graph->nw; a++)
		ERR_TRY(worker_need(l->wk, a));
	return 0;
}

static int
join_job(struct job_life *l)
{
	const uint32_t starter = (uint32_t)(l->x->seed % l->x->W);
	struct worker_first first = { .starter = starter, .state = l->state };
	struct kept_place place = { .loss = 0 };
	struct job_process *p = l->p;
	uint64_t newest;

	memset(p->w, 0xff, l->x->graph->P * sizeof(float));
	memset(p->aux, 0xff, l->x->graph->A * sizeof(float));
	if (p->job->cut > 0)
		ERR_TRY(job_cut_first(l, &first));
	else if (p->index == starter && !l->returned)
		world_first(l->x, p->w, p->aux, l->state);
	if (rng_below(sim_chance(), 4) == 0)
		job_fault_soon(p->job);
	ERR_TRY(worker_begin(l->wk, &first, &l->step));
	if (l->x->slack != STALE_SYNC)
		return 0;
	if (p->job->cut > 0)
		ERR_TRY(job_cut_join(l));
	else if (!l->returned)
		kept_begin(&l->kept, l->step, &place);
	else if (l->x->backup > 0 && kept_newest(&l->kept, &newest, &place) && newest < l->step)
		kept_put(&l->kept, l->step, &place);
	else if (!kept_find(&l->kept, l->step, &place))
		return err_fail(ERR_ARG, "its memory lacks step %" PRIu64 ", at which it returns", l->step);
	l->running = p->job->cut > 0 ? l->running : place.loss;
	sim_log("joins at step %" PRIu64, l->step);
	return 0;
}

/* In a job that is not synchronous, worker 0 gets the weights after the last push of all by a step without samples. */
static int
await_others(struct job_life *l)
{
	const struct job *j = l->p->job;

	for (uint32_t i = j->x.S + 1; i < j->n;) {
		i += j->process[i].complete;
		sim_poll(NULL, 0, sim_now() + SIM_MS);
	}
	ERR_TRY(worker_step(l->wk, 0, 1));
	ERR_TRY(worker_finish(l->wk, l->stats));
	return worker_ready(l->wk);
}

/* Reads all that the job has after the last step. */
static int
read_results(struct job_life *l)
{
	struct job_process *p = l->p;

	ERR_TRY(worker_ready(l->wk));
	if (l->x->slack != STALE_SYNC && p->index == 0)
		ERR_TRY(await_others(l));
	ERR_TRY(worker_exact(l->wk, p->exact));
	memset(p->state, 0, l->x->graph->P * OPT_STATES * sizeof(float));
	ERR_TRY(worker_pull_state(l->wk, p->state));
	p->averaged = 0;
	if (l->x->hyper.average.kind != AVERAGE_NONE)
		ERR_TRY(worker_average(l->wk, p->average, &p->averaged));
	p->last = l->step;
	p->complete = true;
	return 0;
}

static int
train(struct job_life *l)
{
	const struct job_process *p = l->p;

	ERR_TRY(join_job(l));
	l->t.step = l->step;
	l->t.first = l->returned ? l->first : l->step;
	if (l->x->shares)
		train_join_batches(&l->t);
	ERR_TRY(train_open_settings(&l->t));
	/* A step is done, and the job may be told to end, once its weights are there. */
	for (;;) {
		if (l->x->backup > 0)
			ERR_TRY(catch_up(l));
		ERR_TRY(begin_step(l, true));
		ERR_TRY(need_arrays(l));
		if (worker_last(l->wk))
			break;
		ERR_TRY(end_epoch(l));
		ERR_TRY(job_set_step(l));
		ERR_TRY(begin_step(l, false));
		if (l->step >= l->x->actor[p->index].steps)
			break;
		ERR_TRY(run_step(l, p->w));
	}
	ERR_TRY(read_results(l));
	if (p->job->cut > 0)
		ERR_TRY(job_cut_end(l));
	job_fault_soon(p->job);
	kept_part(&l->kept);
	job_fault_parting(l->p);
	return worker_bye(l->wk);
}

/* What lib/train needs of a run. */
static void
open_train(struct job_life *l, const struct worker_opt *ps)
{
	l->o = (struct train_opt){ .ps = *ps, .seed = l->x->seed, .accumulate = 1, .data = { .batch = 1 }, .kept = &l->kept,
	    .mailbox = ps->rank == 0 ? &l->p->job->box : NULL };
	l->t = (struct train){ .o = &l->o, .graph = l->x->graph, .w = l->p->w, .aux = l->p->aux, .steps = ACTOR_EVERY,
	    .sync = l->x->slack == STALE_SYNC, .kept = &l->kept };
	job_local_options(l);
	if (l->x->shares)
		job_share_options(l);
}

static int
run_life(struct job_life *l)
{
	struct job_process *p = l->p;
	const bool sync = l->x->slack == STALE_SYNC;
	struct worker_opt o = { .graph = l->x->graph, .rank = p->index, .nworkers = l->x->W, .slack = l->x->slack,
	    .backup = l->x->backup, .hyper = l->x->hyper, .mults = l->x->rules, .incarnation = rng_u64(sim_chance()),
	    .server = p->job->server, .nservers = l->x->S,
	    .transport = p->job->shm ? CONN_AUTO : CONN_TCP, .lends = p->job->shm ? &l->lends : NULL, .silence_s = JOB_SILENCE_S(p->job),
	    .slice = l->x->slice, .w = p->w, .aux = p->aux, .kept = sync, .waiting = log_waiting,
	    .settings = &p->job->given };

	open_train(l, &o);
	if (sync)
		ERR_TRY(kept_open(&l->kept, &p->memory, 1 + p->index,
		    worker_residuals_size(o.mults, l->x->graph->P) + train_local_size(&l->o)));
	o.residuals = l->kept.rest;
	o.memory = l->kept.memory;
	o.parting = kept_parting(&l->kept);
	o.returns = l->returned = kept_began(&l->kept, &l->first) || o.parting;
	l->t.returned = l->returned;
	l->t.first = l->first;
	ERR_TRY(job_local_open(l));
	ERR_TRY(train_open_batches(&l->t));
	if (p->job->cut > 0 && !o.parting)
		ERR_TRY(job_cut_open(l));
	ERR_TRY(worker_open(&o, &l->wk));
	l->t.wk = l->wk;
	return o.parting ? worker_bye(l->wk) : train(l);
}

void
job_worker_main(void *arg)
{
	struct job_process *p = arg;
	struct world *x = &p->job->x;
	struct job_life l = { .p = p, .x = x,
	    .stats = world_floats(x->graph->A), .state = world_floats(x->graph->P * OPT_STATES) };
	char why[ERR_LINE];

	if (loan_make((x->graph->P + 1) * sizeof(float), &l.lends) < 0)
		abort();
	l.g = l.lends.p;
	if (run_life(&l) < 0) {
		snprintf(why, sizeof(why), "worker %" PRIu32 ": %.200s", p->index, err_line());
		world_fault(x, why);
	}
	job_cut_close(&l);
	job_local_close(&l);
	free(l.t.batches);
	free(l.t.sizes);
	worker_close(l.wk);
	loan_free(&l.lends);
	free(l.stats);
	free(l.state);
}
