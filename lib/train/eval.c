/* eval - inference: records and weights in, probabilities out. */
#include "train/eval.h"
#include "base/err.h"
#include "engine/split/split.h"

#include <stdlib.h>

struct eval {
	const struct eval_opt	*o;
	const struct graph	*graph;
	const struct engine	*engine;
	struct engine_dev	*dev;
	struct engine_plan	*plan;
	struct batch_reader	*in;
	int32_t			*y;		/* [batch] labels that the engine may see */
	float			*none;		/* [batch,classes] zeros, for samples without targets */
	struct tta		*views;
	float			*p;		/* [batch,classes] */
};

static int
open_eval_data(struct eval *j)
{
	const struct graph_node *x = &j->graph->node[0];
	struct batch_opt d = j->o->data;

	d.aug = aug_plain(&d.aug);
	d.aug.c = x->c;
	d.aug.h = x->h;
	d.aug.w = x->w;
	d.shuffle = d.drop_last = false;
	d.window = d.cache = 0;
	d.classes = 0;
	d.targets = d.unlabelled ? 0 : graph_targets(j->graph);
	d.unit_targets = j->graph->node[j->graph->n - 1].loss == GRAPH_LOSS_SIGMOID;
	return batch_open(&d, &j->in);
}

static int
open_eval_net(struct eval *j)
{
	const struct eval_opt *o = j->o;
	const struct weights *w = o->weights;
	const struct engine *en;
	int e;

	ERR_TRY(split_open(o->devices, o->threads, &j->engine, &j->dev));
	en = j->engine;
	engine_tune(en, j->dev, &o->tune);
	if ((e = engine_plan(en, j->dev, j->graph, j->o->data.batch, j->o->precision, 0, &j->plan)) < 0)
		return e;
	for (uint32_t a = 0; e == 0 && a < j->graph->nw; a++)
		e = en->load(j->plan, a, w->w + j->graph->w[a].first);
	return e == 0 ? en->load_aux(j->plan, w->aux) : e;
}

static int
alloc_eval(struct eval *j)
{
	size_t n = j->o->data.batch;

	j->y = calloc(n, sizeof(*j->y));
	j->p = calloc(n * j->graph->classes, sizeof(*j->p));
	j->none = calloc(n * j->graph->classes, sizeof(*j->none));
	if (j->y == NULL || j->p == NULL || j->none == NULL)
		return err_nomem();
	return tta_open(&j->o->views, j->engine, j->plan, j->graph, j->o->data.batch, &j->views);
}

static int
eval_batch(struct eval *j, const struct batch *b)
{
	size_t classes = j->graph->classes;
	struct samples s = b->s;
	struct engine_result r;
	int e;

	/* The engine accepts only labels of the net's classes; the probabilities do not depend on them. */
	for (uint32_t i = 0; i < s.n; i++)
		j->y[i] = (size_t)s.y[i] < classes ? s.y[i] : 0;
	s.y = j->y;
	if (s.target == NULL && (s.targets = graph_targets(j->graph)) > 0)
		s.target = j->none;
	if ((e = tta_evaluate(j->views, &s, &r, j->p)) < 0)
		return e;
	for (uint32_t i = 0; e == 0 && i < s.n; i++)
		e = j->o->sample(j->o->arg, b->id[i], b->s.y[i],
		    b->s.target != NULL ? b->s.target + i * classes : NULL, j->p + i * classes);
	return e;
}

int
eval_run(const struct eval_opt *o)
{
	struct eval j = { .o = o, .engine = o->engine, .graph = o->weights->graph };
	const struct batch *b;
	int e;

	if ((e = open_eval_data(&j)) == 0 && (e = open_eval_net(&j)) == 0 && (e = alloc_eval(&j)) == 0) {
		batch_start(j.in, 0, 0);
		while ((e = batch_next(j.in, &b)) > 0) {
			for (uint32_t i = 0; i < b->bad; i++)
				o->bad(o->arg, b->why[i]);
			if (b->s.n > 0 && (e = eval_batch(&j, b)) != 0)
				break;
		}
	}
	tta_close(j.views);
	j.engine->plan_free(j.plan);
	j.engine->close(j.dev);
	batch_close(j.in);
	free(j.y);
	free(j.none);
	free(j.p);
	return e;
}
