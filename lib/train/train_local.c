/* train_local - steps of a worker's own optimizer between two exchanges with the servers: serves train. */
#include "train/train_in.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

#define COUNT	(sizeof(uint64_t) / sizeof(float))	/* floats in which a state has the number of its updates */

/* The states before even and odd steps: a step reads one of them and writes the other, as a successor may repeat it. */
static size_t
count_state_floats(const struct train_opt *o)
{
	const size_t states = opt_states(o->local_hyper.rule);

	return states > 0 ? o->ps.graph->P * states + COUNT : 0;
}

/* The number of the next update of a state, from 1.  It is not that of the run: no checkpoint has the state. */
static uint64_t
count_update(const struct train_opt *o, const float *from, float *to)
{
	const size_t at = o->ps.graph->P * opt_states(o->local_hyper.rule);
	uint64_t n = 0;

	if (count_state_floats(o) == 0)
		return 1;
	memcpy(&n, from + at, sizeof(n));
	n++;
	memcpy(to + at, &n, sizeof(n));
	return n;
}

size_t
train_local_size(const struct train_opt *o)
{
	return o->local ? 2 * count_state_floats(o) * sizeof(float) : 0;
}

int
train_local_open(struct train *t)
{
	const struct train_opt *o = t->o;
	struct train_local *l = &t->local;
	size_t n = count_state_floats(o);

	if (!o->local)
		return 0;
	ERR_TRY(shard_plan_new(t->graph, 1, SHARD_PLAN_MOST, o->local_mults, &o->local_hyper, &l->plan));
	l->start = calloc(t->graph->P + 1, sizeof(*l->start));
	if (t->kept == NULL)
		l->own = calloc(2 * n + 1, sizeof(*l->own));
	if (l->start == NULL || (t->kept == NULL && l->own == NULL))
		return err_nomem();
	l->state[0] = l->own != NULL ? l->own :
	    (float *)((char *)t->kept->rest + worker_residuals_size(o->ps.mults, t->graph->P));
	l->state[1] = l->state[0] + n;
	return 0;
}

void
train_local_close(struct train *t)
{
	shard_plan_free(t->local.plan);
	free(t->local.start);
	free(t->local.own);
}

int
train_local_begin(struct train *t)
{
	struct train_local *l = &t->local;

	ERR_TRY(worker_ready(t->wk));
	ERR_TRY(train_learn_settings(t));
	memcpy(l->start, t->w, t->graph->P * sizeof(*l->start));
	l->updates = 0;
	return 0;
}

/* The parameter group of an array. */
static const struct shard_plan_group *
find_group(const struct shard_plan *p, const struct graph_array *a)
{
	uint32_t i = 0;

	while (p->group[i].first + p->group[i].count <= a->first)
		i++;
	return &p->group[i];
}

void
train_local_update(struct train *t, uint32_t n)
{
	const struct train_opt *o = t->o;
	struct train_local *l = &t->local;
	const uint32_t states = opt_states(o->local_hyper.rule);
	const float *from = l->state[(t->step + (l->updates > 0)) % 2];
	float *to = l->state[(t->step + 1) % 2];
	const float rate = train_lr(t, t->step);
	const uint64_t update = count_update(o, from, to);
	uint64_t began = trace_now(t->trace);

	for (uint32_t i = 0; i < t->graph->nw; i++) {
		const struct graph_array *a = &t->graph->w[i];
		const struct shard_plan_group *p;
		struct opt_hyper h = o->local_hyper;

		if (a->frozen || a->count == 0)
			continue;
		p = find_group(l->plan, a);
		h.t = update;
		h.lr = rate * p->lr;
		h.wd *= p->wd;
		opt_step_to(t->w + a->first, from + a->first * states, t->g + a->first, a->count, n, &h,
		    t->w + a->first, to + a->first * states);
		t->loaded[i] = 0;
	}
	if (t->kept != NULL)
		memory_report_change(t->kept->memory, to, count_state_floats(o) * sizeof(*to));
	l->updates++;
	trace_span(t->trace, TRACE_STEPS, began, "optimizer");
}

void
train_local_end(struct train *t, double n)
{
	const struct train_local *l = &t->local;
	const size_t size = count_state_floats(t->o) * sizeof(float);
	float *to = l->state[(t->step + 1) % 2];

	if (l->updates == 0 && size > 0) {
		memcpy(to, l->state[t->step % 2], size);
		if (t->kept != NULL)
			memory_report_change(t->kept->memory, to, size);
	}
	for (size_t i = 0; l->updates > 0 && i < t->graph->P; i++)
		t->sum[i] = (float)n * (l->start[i] - t->w[i]);
}
