/* device_opt - the device optimizer: training without servers on an engine that has an optimizer of its own. */
#include "ps/worker/device_opt.h"
#include "base/err.h"
#include "ps/shard_plan.h"

#include <stdlib.h>
#include <string.h>

struct device_opt {
	const struct worker_opt *o;
	struct engine_group	*group;
	uint32_t		 ngroup;
	struct engine_fold	*fold;
	uint32_t		 nfold;
	uint64_t		 step;
	bool			 shown;	/* the plan evaluates with the average */
};

bool
device_opt_may(const struct worker_opt *o)
{
	return o->nservers == 0 && o->nworkers == 1 && o->slack == STALE_SYNC && o->plan != NULL &&
	    o->engine->device_opt != NULL;
}

/* Joins adjacent arrays that learn alike to one group of the engine. */
static void
build_groups(struct device_opt *d, const struct shard_plan *p)
{
	const struct graph *g = d->o->graph;
	const struct engine_group *last = NULL;
	uint32_t at = 0, of = UINT32_MAX;

	for (uint32_t a = 0; a < g->nw; a++) {
		const struct shard_plan_group *from;

		while (p->group[at].first + p->group[at].count <= g->w[a].first)
			at++;
		from = &p->group[at];
		if (g->w[a].frozen)
			continue;
		if (last != NULL && of == at && last->first + last->count == g->w[a].first)
			d->group[d->ngroup - 1].count += g->w[a].count;
		else
			d->group[d->ngroup++] = (struct engine_group){ g->w[a].first, g->w[a].count, from->lr, from->wd,
			    from->rows };
		last = &d->group[d->ngroup - 1];
		of = at;
	}
}

int
device_opt_new(const struct worker_opt *opt, struct device_opt **to)
{
	const struct graph *g = opt->graph;
	struct device_opt *d = calloc(1, sizeof(*d));
	struct shard_plan *p = NULL;
	int e;

	*to = NULL;
	if (d == NULL)
		return err_nomem();
	d->o = opt;
	d->group = calloc(g->nw + 1, sizeof(*d->group));
	d->fold = calloc(g->naux + 1, sizeof(*d->fold));
	e = d->group == NULL || d->fold == NULL ? err_nomem() :
	    shard_plan_new(g, 1, SHARD_PLAN_SLICE, opt->mults, &opt->hyper, &p);
	if (e < 0) {
		device_opt_free(d);
		return e;
	}
	build_groups(d, p);
	for (uint32_t i = 0; i < p->nfold; i++)
		if (!g->aux[i].frozen)
			d->fold[d->nfold++] = (struct engine_fold){ p->fold[i].first, p->fold[i].count,
			    p->fold[i].momentum };
	shard_plan_free(p);
	*to = d;
	return 0;
}

void
device_opt_free(struct device_opt *d)
{
	if (d == NULL)
		return;
	free(d->group);
	free(d->fold);
	free(d);
}

/* Unless *first has an average, it starts as the weights. */
static int
start_learning(struct device_opt *d, const struct worker_first *first, const float *state)
{
	const struct worker_opt *o = d->o;
	size_t P = o->graph->P, A = o->graph->A;
	struct engine_opt how = { .hyper = o->hyper, .group = d->group, .ngroup = d->ngroup, .fold = d->fold,
		.nfold = d->nfold, .state = state, .averaged = first != NULL ? first->averaged : 0,
		.accumulate = o->accumulate };
	float *average = NULL;
	int e;

	if (o->hyper.average.kind != AVERAGE_NONE) {
		if ((average = calloc(P + A + 1, sizeof(*average))) == NULL)
			return err_nomem();
		memcpy(average, first != NULL && first->average != NULL ? first->average : o->w, P * sizeof(float));
		memcpy(average + P, first != NULL && first->average != NULL ? first->average + P : o->aux,
		    A * sizeof(float));
		how.averaged += how.averaged == 0 && o->hyper.average.kind == AVERAGE_LOOKAHEAD;
	}
	how.average = average;
	e = o->engine->device_opt->begin(o->plan, &how);
	free(average);
	return e;
}

int
device_opt_begin(struct device_opt *d, const struct worker_first *first, uint64_t step)
{
	const struct worker_opt *o = d->o;
	const float *given = first != NULL ? first->state : NULL;
	float *zeros = NULL;
	int e = 0;

	d->step = step;
	for (uint32_t a = 0; a < o->graph->nw && e == 0; a++)
		e = o->engine->load(o->plan, a, o->w + o->graph->w[a].first);
	if (e < 0 || (e = o->engine->load_aux(o->plan, o->aux)) < 0)
		return e;
	if (given == NULL && (zeros = calloc(o->graph->P * opt_states(o->hyper.rule) + 1, sizeof(*zeros))) == NULL)
		return err_nomem();
	e = start_learning(d, first, given != NULL ? given : zeros);
	free(zeros);
	return e;
}

int
device_opt_update(struct device_opt *d, uint32_t n, float rate, bool mark)
{
	d->step++;
	return d->o->engine->device_opt->step(d->o->plan, n, rate, d->step, mark);
}

uint64_t
device_opt_steps(const struct device_opt *d)
{
	return d->step;
}

int
device_opt_read(struct device_opt *d)
{
	return d->o->engine->device_opt->fetch(d->o->plan, d->o->w, d->o->aux, NULL, NULL, NULL);
}

int
device_opt_state(struct device_opt *d, float *state)
{
	return d->o->engine->device_opt->fetch(d->o->plan, NULL, NULL, state, NULL, NULL);
}

int
device_opt_average(struct device_opt *d, float *to, uint32_t *n)
{
	const struct worker_opt *o = d->o;
	int e = o->engine->device_opt->fetch(o->plan, NULL, NULL, NULL, to, n);

	return e < 0 || *n > 0 ? e : o->engine->device_opt->fetch(o->plan, to, to + o->graph->P, NULL, NULL, NULL);
}

int
device_opt_show(struct device_opt *d, bool average)
{
	const struct worker_opt *o = d->o;
	uint32_t n = 0;
	int e;

	/* Before the first of them it is the weights, which the plan has. */
	if (average && ((e = o->engine->device_opt->fetch(o->plan, NULL, NULL, NULL, NULL, &n)) < 0 || n == 0))
		return e;
	if (!average && !d->shown)
		return 0;
	d->shown = average;
	return o->engine->device_opt->show_average(o->plan, average);
}
