/*
 * split_pass - runs a batch through several plans at once and adds their gradients.
 *
 * split_load() keeps a copy of each array.  A lane loads the copy into its own plan after the caller's hook for the
 * array, so only one thread touches a plan.
 */
#include "engine/split/split_in.h"
#include "base/err.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

int
split_load(struct engine_plan *p, uint32_t a, const float *w)
{
	memcpy(p->w + p->graph->w[a].first, w, p->graph->w[a].count * sizeof(*w));
	p->version[a]++;
	return 0;
}

/* ------ hooks of the lanes ------ */

static int
load_if_new(struct split_lane *l, uint32_t a)
{
	const struct engine_plan *p = l->all;

	if (l->loaded[a] == p->version[a])
		return 0;
	l->loaded[a] = p->version[a];
	return l->engine->load(l->plan, a, p->w + p->graph->w[a].first);
}

int
split_load_lane(struct split_lane *l)
{
	for (uint32_t a = 0; a < l->all->graph->nw; a++)
		ERR_TRY(load_if_new(l, a));
	return 0;
}

/* Lane 0 calls the caller's hook; the other lanes wait until it has returned. */
static int
ask_param(void *arg, uint32_t a)
{
	struct split_lane *l = arg;
	struct engine_plan *p = l->all;
	bool stop;
	int e = l->k == 0 ? p->hook->param_needed(p->hook->arg, a) : 0;

	if (e != 0)
		return e;
	pthread_mutex_lock(&p->lock);
	if (l->k == 0) {
		p->param_ready[a] = true;
		pthread_cond_broadcast(&p->changed);
	}
	while (!p->param_ready[a] && !p->stop)
		pthread_cond_wait(&p->changed, &p->lock);
	stop = !p->param_ready[a];
	pthread_mutex_unlock(&p->lock);
	return stop ? ERR_STOP : load_if_new(l, a);
}

/* Records the error of a lane's thread on this thread. */
static int
note_lane_error(const struct split_lane *l)
{
	err_note(0, "%s", l->why);
	return l->err;
}

static int
await_gradient(struct split_lane *l, uint32_t a)
{
	struct engine_plan *p = l->all;
	bool ready;

	pthread_mutex_lock(&p->lock);
	while (!l->grad_ready[a] && l->busy)
		pthread_cond_wait(&p->changed, &p->lock);
	ready = l->grad_ready[a];
	pthread_mutex_unlock(&p->lock);
	return ready ? 0 : note_lane_error(l);
}

static void
add_gradient(float *restrict sum, const float *restrict g, size_t n)
{
	#pragma omp parallel for if (n > 65536)
	for (size_t i = 0; i < n; i++)
		sum[i] += g[i];
}

static int
add_lane_gradient(void *arg, uint32_t a)
{
	struct split_lane *l = arg;
	struct engine_plan *p = l->all;
	const struct graph_array *r = &p->graph->w[a];
	int e;

	if (l->k > 0) {
		pthread_mutex_lock(&p->lock);
		l->grad_ready[a] = true;
		e = p->stop ? ERR_STOP : 0;
		pthread_cond_broadcast(&p->changed);
		pthread_mutex_unlock(&p->lock);
		return e;
	}
	for (uint32_t k = 1; k < p->used && !p->joined; k++) {
		if ((e = await_gradient(&p->lane[k], a)) != 0)
			return e;
		add_gradient(l->g + r->first, p->lane[k].g + r->first, r->count);
	}
	return p->hook != NULL && p->hook->grad_ready != NULL ? p->hook->grad_ready(p->hook->arg, a) : 0;
}

/* Lanes report one at a time, as engine.h promises. */
static int
report_output(void *arg, uint32_t node, bool finite)
{
	struct engine_plan *p = ((struct split_lane *)arg)->all;
	int e;

	pthread_mutex_lock(&p->lock);
	e = p->hook->output_ready(p->hook->arg, node, finite);
	pthread_mutex_unlock(&p->lock);
	return e;
}

/* ------ passes ------ */

static int
run_lane(struct split_lane *l)
{
	const struct engine_plan *p = l->all;
	const struct engine_hook hook = {
		.arg = l,
		.param_needed = p->hook != NULL && p->hook->param_needed != NULL ? ask_param : NULL,
		.grad_ready = add_lane_gradient,
		.output_ready = p->hook != NULL && p->hook->output_ready != NULL ? report_output : NULL,
		.joined = p->joined,
	};
	struct engine_draw draw = p->draw;

	if (p->job == SPLIT_BACKWARD && p->learning)
		return l->engine->backward(l->plan, NULL, NULL, NULL);
	if (p->job == SPLIT_BACKWARD)
		return l->engine->backward(l->plan, l->g, l->stats, &hook);
	if (p->job == SPLIT_SETTLE)
		return l->engine->device_opt->settle(l->plan);
	if (hook.param_needed == NULL)
		ERR_TRY(split_load_lane(l));
	draw.first += l->first;
	if (p->job == SPLIT_FORWARD)
		return l->engine->forward(l->plan, &l->in, &draw, &hook, &l->result);
	return l->engine->evaluate(l->plan, &l->in, &l->result,
	    p->prob != NULL ? p->prob + (size_t)l->first * p->graph->classes : NULL);
}

void *
split_lane_main(void *lane)
{
	struct split_lane *l = lane;
	struct engine_plan *p = l->all;
	int e;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (!l->busy)
			pthread_cond_wait(&p->changed, &p->lock);
		if (p->job == SPLIT_END)
			break;
		pthread_mutex_unlock(&p->lock);
		if ((e = run_lane(l)) != 0)
			snprintf(l->why, sizeof(l->why), "%s", err_line());
		pthread_mutex_lock(&p->lock);
		l->err = e;
		l->busy = false;
		pthread_cond_broadcast(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/*
 * Runs a pass on all lanes in use.  Returns lane 0's error, or else that of the first other lane.  ERR_STOP gives way
 * to other errors: it is the result of a lane that stopped because another failed.
 */
static int
run_lanes(struct engine_plan *p, enum split_job job)
{
	uint32_t nw = p->graph->nw;
	int e;

	pthread_mutex_lock(&p->lock);
	p->job = job;
	p->stop = false;
	memset(p->param_ready, 0, nw * sizeof(*p->param_ready));
	for (uint32_t k = 1; k < p->used; k++) {
		memset(p->lane[k].grad_ready, 0, nw * sizeof(*p->lane[k].grad_ready));
		p->lane[k].busy = true;
	}
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	e = run_lane(&p->lane[0]);
	pthread_mutex_lock(&p->lock);
	p->stop = e != 0;
	pthread_cond_broadcast(&p->changed);
	for (uint32_t k = 1; k < p->used; k++)
		while (p->lane[k].busy)
			pthread_cond_wait(&p->changed, &p->lock);
	pthread_mutex_unlock(&p->lock);
	for (uint32_t k = 1; k < p->used; k++)
		if (p->lane[k].err != 0 && (e == 0 || (e == ERR_STOP && p->lane[k].err != ERR_STOP)))
			e = note_lane_error(&p->lane[k]);
	return e;
}

int
split_settle(struct engine_plan *p)
{
	int e;

	p->used = p->n;
	e = run_lanes(p, SPLIT_SETTLE);
	p->used = 0;
	return e;
}

/* The samples of lane k, none if the batch is too small; *first is the number of its first sample. */
static struct samples
take_part_of_batch(const struct engine_plan *p, const struct samples *s, uint32_t k, uint32_t *first)
{
	uint32_t each = s->n / p->n, more = s->n % p->n;

	*first = k * each + (k < more ? k : more);
	return samples_part(s, *first, each + (k < more));
}

void
split_prefetch(struct engine_plan *p, const struct samples *s)
{
	for (uint32_t k = 0; k < p->n; k++) {
		const struct split_lane *l = &p->lane[k];
		struct samples part = { 0 };
		uint32_t first;

		if (s != NULL)
			part = take_part_of_batch(p, s, k, &first);
		if (l->engine->accel != NULL)
			l->engine->accel->prefetch(l->plan, part.n > 0 ? &part : NULL);
	}
}

static int
run_batch(struct engine_plan *p, enum split_job job, const struct samples *s, const struct engine_hook *hook,
    struct engine_result *result)
{
	int e;

	/* A pass on all lanes settles them. */
	if (p->learning && s->n < p->n)
		ERR_TRY(split_settle(p));
	p->used = s->n < p->n ? s->n : p->n;
	for (uint32_t k = 0; k < p->used; k++)
		p->lane[k].in = take_part_of_batch(p, s, k, &p->lane[k].first);
	p->hook = hook;
	if ((e = run_lanes(p, job)) != 0)
		return e;
	*result = p->lane[0].result;
	for (uint32_t k = 1; k < p->used; k++) {
		result->loss += p->lane[k].result.loss;
		result->correct += p->lane[k].result.correct;
		result->top5 += p->lane[k].result.top5;
	}
	return 0;
}

int
split_forward(struct engine_plan *p, const struct samples *s, const struct engine_draw *draw,
    const struct engine_hook *hook, struct engine_result *result)
{
	int e;

	p->draw = draw != NULL ? *draw : (struct engine_draw){ 0 };
	if ((e = run_batch(p, SPLIT_FORWARD, s, hook, result)) != 0)
		p->used = 0;
	return e;
}

/* The mean of the lanes' statistics, weighted by their samples. */
static void
average_statistics(const struct engine_plan *p, float *stats)
{
	for (size_t i = 0; i < p->graph->A; i++) {
		uint32_t n = 0;

		stats[i] = 0;
		for (uint32_t k = 0; k < p->used; k++) {
			stats[i] += p->lane[k].stats[i] * (float)p->lane[k].in.n;
			n += p->lane[k].in.n;
		}
		stats[i] /= (float)n;
	}
}

int
split_backward(struct engine_plan *p, float *g, float *stats, const struct engine_hook *hook)
{
	int e;

	assert(p->used > 0);
	if (p->learning) {
		p->used = p->n;	/* a lane without samples adds nothing, but takes part */
		e = run_lanes(p, SPLIT_BACKWARD);
		p->used = 0;
		return e;
	}
	p->lane[0].g = g;
	p->hook = hook;
	/* Joined devices must all take part, so with fewer samples than devices the host adds the gradients. */
	p->joined = p->dev->joined && p->used == p->dev->n;
	if ((e = run_lanes(p, SPLIT_BACKWARD)) == 0)
		average_statistics(p, stats);
	p->joined = false;
	p->used = 0;
	return e;
}

int
split_evaluate(struct engine_plan *p, const struct samples *s, struct engine_result *result, float *prob)
{
	int e;

	p->prob = prob;
	e = run_batch(p, SPLIT_EVALUATE, s, NULL, result);
	p->used = 0;
	return e;
}
