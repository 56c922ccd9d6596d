/* job_local - steps of the workers' own optimizers between two exchanges, in jobs of whole processes: serves job. */
#include "law/job_in.h"

#include <stdlib.h>

#define OFTEN	6u	/* one job in so many */
#define MOST	3u	/* local steps */

/* A cut has no state of these optimizers. */
void
job_local_draw(struct job *j)
{
	static const enum opt_rule rules[] = { OPT_SGD, OPT_NESTEROV, OPT_ADAM, OPT_ADAMW, OPT_RMSPROP,
		OPT_DESCENT };
	struct rng c = rng_start(j->x.seed, 3, 6);
	struct opt_hyper *h = &j->x.local_hyper;

	if (j->x.counting || j->x.slack != STALE_SYNC || j->x.slice == JOB_LENT_LEAST || rng_below(&c, OFTEN) > 0)
		return;
	j->x.local = 1 + (uint32_t)rng_below(&c, MOST);
	*h = (struct opt_hyper){ .wd = 1e-3f };
	opt_usual(rules[rng_below(&c, sizeof(rules) / sizeof(*rules))], h);
	if (j->cut > 0)
		*h = (struct opt_hyper){ .rule = OPT_SGD, .wd = 1e-3f };
	j->x.hyper = (struct opt_hyper){ .rule = OPT_DESCENT, .average = j->x.hyper.average };
}

void
job_local_options(struct job_life *l)
{
	const struct world *x = l->x;

	l->o.local = x->local > 0;
	l->o.accumulate = x->local > 0 ? x->local : 1;
	l->o.local_hyper = x->local_hyper;
	l->o.local_mults = x->rules;
}

int
job_local_open(struct job_life *l)
{
	l->t.g = world_floats(l->x->graph->P);
	l->t.sum = l->g;
	l->t.loaded = calloc(l->x->graph->nw, sizeof(*l->t.loaded));
	return train_local_open(&l->t);
}

void
job_local_close(struct job_life *l)
{
	train_local_close(&l->t);
	free(l->t.g);
	free(l->t.loaded);
}

/* As train_step(): sets what is pushed. */
int
job_local_run(struct job_life *l, uint32_t samples)
{
	struct train *t = &l->t;
	bool any = false;

	l->o.sched.base = (double)world_rate(l->x, l->step);
	for (uint32_t k = 0; k < l->x->local; k++) {
		const uint32_t n = world_micro(l->x, l->p->index, l->step, k);

		if (n == 0)
			continue;
		if (!any)
			ERR_TRY(train_local_begin(t));
		any = true;
		world_gradient(l->x, l->p->index, l->step, t->w, t->g, t->graph->P, WORLD_MICRO + k);
		train_local_update(t, n);
		l->p->job->figures->locals++;
	}
	if (!any)
		t->local.updates = 0;
	train_local_end(t, samples);
	return 0;
}
