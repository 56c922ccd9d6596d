/* device_opt - learning without servers on an engine that learns where its weights are. */
#include "ps/worker/device_opt.h"
#include "base/err.h"
#include "ps/shard_plan.h"

#include <stdlib.h>
#include <string.h>

struct device_opt {
	const struct worker_opt *o;
	struct engine_range	*range;
	uint32_t		 nrange;
	struct engine_fold	*fold;
	uint32_t		 nfold;
	uint64_t		 step;
	bool			 shown;	/* the average, by the plan */
};

bool
device_opt_may(const struct worker_opt *o)
{
	return o->nservers == 0 && o->nworkers == 1 && o->slack == STALE_SYNC && o->plan != NULL && o->engine->learn != NULL;
}

/* Arrays that learn at one pace and stand side by side are one range; of several where the optimizer tells arrays apart. */
static void
ranges(struct device_opt *h, const struct shard_plan *p)
{
	const struct graph *g = h->o->graph;
	const struct engine_range *last = NULL;
	uint32_t at = 0, of = UINT32_MAX;

	for (uint32_t a = 0; a < g->nw; a++) {
		const struct shard_plan_group *pace;

		while (p->pace[at].first + p->pace[at].count <= g->w[a].first)
			at++;
		pace = &p->pace[at];
		if (g->w[a].frozen)
			continue;
		if (last != NULL && of == at && last->first + last->count == g->w[a].first)
			h->range[h->nrange - 1].count += g->w[a].count;
		else
			h->range[h->nrange++] = (struct engine_range){ g->w[a].first, g->w[a].count, pace->lr, pace->wd, pace->rows };
		last = &h->range[h->nrange - 1];
		of = at;
	}
}

int
device_opt_new(const struct worker_opt *opt, struct device_opt **home)
{
	const struct graph *g = opt->graph;
	struct device_opt *h = calloc(1, sizeof(*h));
	struct shard_plan *p = NULL;
	int e;

	*home = NULL;
	if (h == NULL)
		return err_nomem();
	h->o = opt;
	h->range = calloc(g->nw + 1, sizeof(*h->range));
	h->fold = calloc(g->naux + 1, sizeof(*h->fold));
	e = h->range == NULL || h->fold == NULL ? err_nomem() : shard_plan_new(g, 1, SHARD_PLAN_SLICE, opt->mults, &opt->hyper, &p);
	if (e < 0) {
		device_opt_free(h);
		return e;
	}
	ranges(h, p);
	for (uint32_t i = 0; i < p->nfold; i++)
		if (!g->aux[i].frozen)
			h->fold[h->nfold++] = (struct engine_fold){ p->fold[i].first, p->fold[i].count, p->fold[i].momentum };
	shard_plan_free(p);
	*home = h;
	return 0;
}

void
device_opt_free(struct device_opt *h)
{
	if (h == NULL)
		return;
	free(h->range);
	free(h->fold);
	free(h);
}

/* The average begins as the weights. */
static int
begin(struct device_opt *h, const struct worker_first *first, const float *state)
{
	const struct worker_opt *o = h->o;
	size_t P = o->graph->P, A = o->graph->A;
	struct engine_learn how = { .hyper = o->hyper, .range = h->range, .nrange = h->nrange, .fold = h->fold,
		.nfold = h->nfold, .state = state, .averaged = first != NULL ? first->averaged : 0, .pieces = o->pieces };
	float *average = NULL;
	int e;

	if (o->hyper.average.kind != AVERAGE_NONE) {
		if ((average = calloc(P + A + 1, sizeof(*average))) == NULL)
			return err_nomem();
		memcpy(average, first != NULL && first->average != NULL ? first->average : o->w, P * sizeof(float));
		memcpy(average + P, first != NULL && first->average != NULL ? first->average + P : o->aux, A * sizeof(float));
		how.averaged += how.averaged == 0 && o->hyper.average.kind == AVERAGE_LOOKAHEAD;
	}
	how.average = average;
	e = o->engine->learn(o->plan, &how);
	free(average);
	return e;
}

int
device_opt_begin(struct device_opt *h, const struct worker_first *first, uint64_t step)
{
	const struct worker_opt *o = h->o;
	const float *given = first != NULL ? first->state : NULL;
	float *zeros = NULL;
	int e = 0;

	h->step = step;
	for (uint32_t a = 0; a < o->graph->nw && e == 0; a++)
		e = o->engine->load(o->plan, a, o->w + o->graph->w[a].first);
	if (e < 0 || (e = o->engine->load_aux(o->plan, o->aux)) < 0)
		return e;
	if (given == NULL && (zeros = calloc(o->graph->P * opt_states(o->hyper.rule) + 1, sizeof(*zeros))) == NULL)
		return err_nomem();
	e = begin(h, first, given != NULL ? given : zeros);
	free(zeros);
	return e;
}

int
device_opt_update(struct device_opt *h, uint32_t n, float rate, bool mark)
{
	h->step++;
	return h->o->engine->advance(h->o->plan, n, rate, h->step, mark);
}

uint64_t
device_opt_steps(const struct device_opt *h)
{
	return h->step;
}

int
device_opt_read(struct device_opt *h)
{
	return h->o->engine->fetch(h->o->plan, h->o->w, h->o->aux, NULL, NULL, NULL);
}

int
device_opt_state(struct device_opt *h, float *state)
{
	return h->o->engine->fetch(h->o->plan, NULL, NULL, state, NULL, NULL);
}

int
device_opt_average(struct device_opt *h, float *to, uint32_t *n)
{
	const struct worker_opt *o = h->o;
	int e = o->engine->fetch(o->plan, NULL, NULL, NULL, to, n);

	return e < 0 || *n > 0 ? e : o->engine->fetch(o->plan, to, to + o->graph->P, NULL, NULL, NULL);
}

int
device_opt_show(struct device_opt *h, bool average)
{
	const struct worker_opt *o = h->o;
	uint32_t n = 0;
	int e;

	/* Before the first of them it is the weights, which the plan has. */
	if (average && ((e = o->engine->fetch(o->plan, NULL, NULL, NULL, NULL, &n)) < 0 || n == 0))
		return e;
	if (!average && !h->shown)
		return 0;
	h->shown = average;
	return o->engine->show(o->plan, average);
}
