/*
 * split_pass - a batch through several plans at once, and their gradients into one.
 *
 * Arrays are copied when they are loaded, and each lane takes them over when its
 * plan reads them, behind the caller's hook: no plan is touched by two threads.
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
catch_up(struct split_lane *l, uint32_t a)
{
	const struct engine_plan *p = l->all;

	if (l->have[a] == p->version[a])
		return 0;
	l->have[a] = p->version[a];
	return l->engine->load(l->plan, a, p->w + p->graph->w[a].first);
}

static int
catch_up_all(struct split_lane *l)
{
	int e = 0;

	for (uint32_t a = 0; a < l->all->graph->nw && e == 0; a++)
		e = catch_up(l, a);
	return e;
}

/* Lane 0 asks the caller, the others wait for it to have done so. */
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
		p->passed[a] = true;
		pthread_cond_broadcast(&p->turn);
	}
	while (!p->passed[a] && !p->stop)
		pthread_cond_wait(&p->turn, &p->lock);
	stop = !p->passed[a];
	pthread_mutex_unlock(&p->lock);
	return stop ? ERR_STOP : catch_up(l, a);
}

/* Notes here what ended a lane, which is another thread. */
static int
note_lane_error(const struct split_lane *l)
{
	err_note(0, "%s", l->why);
	return l->err;
}

static int
await_born(struct split_lane *l, uint32_t a)
{
	struct engine_plan *p = l->all;
	bool born;

	pthread_mutex_lock(&p->lock);
	while (!l->born[a] && l->busy)
		pthread_cond_wait(&p->turn, &p->lock);
	born = l->born[a];
	pthread_mutex_unlock(&p->lock);
	return born ? 0 : note_lane_error(l);
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
		l->born[a] = true;
		e = p->stop ? ERR_STOP : 0;
		pthread_cond_broadcast(&p->turn);
		pthread_mutex_unlock(&p->lock);
		return e;
	}
	for (uint32_t k = 1; k < p->used && !p->joined; k++) {
		if ((e = await_born(&p->lane[k], a)) != 0)
			return e;
		add_gradient(l->g + r->first, p->lane[k].g + r->first, r->count);
	}
	return p->hook != NULL && p->hook->grad_ready != NULL ? p->hook->grad_ready(p->hook->arg, a) : 0;
}

/* Told one at a time. */
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
run_lane_forward(struct split_lane *l, const struct engine_hook *hook)
{
	struct engine_draw draw = l->all->draw;
	int e = hook->param_needed != NULL ? 0 : catch_up_all(l);

	draw.first += l->first;
	return e == 0 ? l->engine->forward(l->plan, &l->in, &draw, hook, &l->result) : e;
}

static int
run_lane_evaluate(struct split_lane *l)
{
	const struct engine_plan *p = l->all;
	float *prob = p->prob != NULL ? p->prob + (size_t)l->first * p->graph->classes : NULL;
	int e = catch_up_all(l);

	return e == 0 ? l->engine->evaluate(l->plan, &l->in, &l->result, prob) : e;
}

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

	switch (p->job) {
	case SPLIT_FORWARD:
		return run_lane_forward(l, &hook);
	case SPLIT_BACKWARD:
		return l->engine->backward(l->plan, l->g, l->stats, &hook);
	default:
		return run_lane_evaluate(l);
	}
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
			pthread_cond_wait(&p->turn, &p->lock);
		if (p->job == SPLIT_END)
			break;
		pthread_mutex_unlock(&p->lock);
		if ((e = run_lane(l)) != 0)
			snprintf(l->why, sizeof(l->why), "%s", err_line());
		pthread_mutex_lock(&p->lock);
		l->err = e;
		l->busy = false;
		pthread_cond_broadcast(&p->turn);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* A pass of all lanes in use: returns what lane 0's came to, or the first other's that failed. */
static int
run_lanes(struct engine_plan *p, enum split_job job)
{
	uint32_t nw = p->graph->nw;
	int e;

	pthread_mutex_lock(&p->lock);
	p->job = job;
	p->stop = false;
	memset(p->passed, 0, nw * sizeof(*p->passed));
	for (uint32_t k = 1; k < p->used; k++) {
		memset(p->lane[k].born, 0, nw * sizeof(*p->lane[k].born));
		p->lane[k].busy = true;
	}
	pthread_cond_broadcast(&p->turn);
	pthread_mutex_unlock(&p->lock);
	e = run_lane(&p->lane[0]);
	pthread_mutex_lock(&p->lock);
	p->stop = e != 0;
	pthread_cond_broadcast(&p->turn);
	for (uint32_t k = 1; k < p->used; k++)
		while (p->lane[k].busy)
			pthread_cond_wait(&p->turn, &p->lock);
	pthread_mutex_unlock(&p->lock);
	/* A lane that was told to stop was so for what another says. */
	for (uint32_t k = 1; k < p->used && (e == 0 || e == ERR_STOP); k++)
		if (p->lane[k].err != 0 && p->lane[k].err != ERR_STOP)
			e = note_lane_error(&p->lane[k]);
	for (uint32_t k = 1; k < p->used && e == 0; k++)
		if (p->lane[k].err != 0)
			e = note_lane_error(&p->lane[k]);
	return e;
}

static void
deal_samples(struct engine_plan *p, const struct samples *s)
{
	uint32_t first = 0;

	p->used = s->n < p->n ? s->n : p->n;
	for (uint32_t k = 0; k < p->used; first += p->lane[k++].in.n) {
		p->lane[k].first = first;
		p->lane[k].in = samples_part(s, first, s->n / p->n + (k < s->n % p->n));
	}
}

void
split_prefetch(struct engine_plan *p, const struct samples *s)
{
	uint32_t first = 0, used = s == NULL ? 0 : s->n < p->n ? s->n : p->n;

	for (uint32_t k = 0; k < p->n; k++) {
		struct split_lane *l = &p->lane[k];
		uint32_t n = k < used ? s->n / p->n + (k < s->n % p->n) : 0;
		struct samples part = n > 0 ? samples_part(s, first, n) : (struct samples){ 0 };

		if (l->engine->accel != NULL)
			l->engine->accel->prefetch(l->plan, n > 0 ? &part : NULL);
		first += n;
	}
}

static struct engine_result
total_results(const struct engine_plan *p)
{
	struct engine_result r = p->lane[0].result;

	for (uint32_t k = 1; k < p->used; k++) {
		r.loss += p->lane[k].result.loss;
		r.correct += p->lane[k].result.correct;
		r.top5 += p->lane[k].result.top5;
	}
	return r;
}

int
split_forward(struct engine_plan *p, const struct samples *s, const struct engine_draw *draw,
    const struct engine_hook *hook, struct engine_result *result)
{
	int e;

	deal_samples(p, s);
	p->draw = draw != NULL ? *draw : (struct engine_draw){ 0 };
	p->hook = hook;
	if ((e = run_lanes(p, SPLIT_FORWARD)) == 0)
		*result = total_results(p);
	else
		p->used = 0;
	return e;
}

int
split_backward(struct engine_plan *p, float *g, float *stats, const struct engine_hook *hook)
{
	size_t A = p->graph->A;
	uint32_t n = 0;
	int e;

	assert(p->used > 0);
	p->lane[0].g = g;
	p->hook = hook;
	/* A batch of fewer samples than devices is added up here, as none of them may be missing there. */
	p->joined = p->dev->joined && p->used == p->dev->n;
	e = run_lanes(p, SPLIT_BACKWARD);
	p->joined = false;
	for (size_t i = 0; i < A && e == 0; i++)
		stats[i] = 0;
	for (uint32_t k = 0; k < p->used && e == 0; k++) {
		const struct split_lane *l = &p->lane[k];

		for (size_t i = 0; i < A; i++)
			stats[i] += l->stats[i] * (float)l->in.n;
		n += l->in.n;
	}
	for (size_t i = 0; i < A && e == 0; i++)
		stats[i] /= (float)n;
	p->used = 0;
	return e;
}

int
split_evaluate(struct engine_plan *p, const struct samples *s, struct engine_result *result, float *prob)
{
	int e;

	deal_samples(p, s);
	p->prob = prob;
	p->hook = NULL;
	if ((e = run_lanes(p, SPLIT_EVALUATE)) == 0)
		*result = total_results(p);
	p->used = 0;
	return e;
}
