/* stats - records and weights in, statistics of batch norm out. */
#include "train/stats.h"
#include "base/err.h"
#include "engine/split/split.h"

#include <stdlib.h>

struct stats {
	const struct stats_opt	*o;
	const struct graph	*graph;
	const struct engine	*engine;
	struct engine_dev	*dev;
	struct engine_plan	*plan;
	struct batch_reader	*in;
	int32_t			*y;		/* [batch] zeros */
	float			*target;	/* [batch,graph_targets()] zeros */
	float			*batch;		/* [A] statistics of one batch */
	double			*sum;		/* [A] means; and squares about them, summed over samples */
	uint64_t		 n;		/* samples so far */
};

static int
open_stats_data(struct stats *s)
{
	const struct graph_node *x = &s->graph->node[0];
	struct batch_opt d = s->o->data;

	d.aug.c = x->c;
	d.aug.h = x->h;
	d.aug.w = x->w;
	d.cache = 0;
	d.classes = 0;
	d.unlabelled = true;
	return batch_open(&d, &s->in);
}

static int
open_stats_net(struct stats *s)
{
	const struct stats_opt *o = s->o;
	const struct engine *en;
	int e;

	ERR_TRY(split_open(o->device, o->threads, &s->engine, &s->dev));
	en = s->engine;
	engine_tune(en, s->dev, &o->tune);
	if ((e = engine_plan(en, s->dev, s->graph, o->data.batch, o->precision, 0, &s->plan)) < 0)
		return e;
	for (uint32_t a = 0; e == 0 && a < s->graph->nw; a++)
		e = en->load(s->plan, a, o->weights->w + s->graph->w[a].first);
	return e;
}

static int
alloc_stats(struct stats *s)
{
	s->y = calloc(s->o->data.batch, sizeof(*s->y));
	s->target = calloc((size_t)s->o->data.batch * graph_targets(s->graph) + 1, sizeof(*s->target));
	s->batch = calloc(s->graph->A + 1, sizeof(*s->batch));
	s->sum = calloc(s->graph->A + 1, sizeof(*s->sum));
	return s->y != NULL && s->target != NULL && s->batch != NULL && s->sum != NULL ? 0 : err_nomem();
}

/*
 * Joins the batch's n samples to those before.  Source: Chan, Golub, LeVeque, "Updating formulae and a pairwise
 * algorithm for computing sample variances", 1979: no difference of large sums.
 */
static void
join_batch(struct stats *s, double n)
{
	double before = (double)s->n, all = before + n;

	for (uint32_t i = 0; i < s->graph->n; i++) {
		const struct graph_node *l = &s->graph->node[i];

		for (uint32_t c = 0; l->op == GRAPH_BN && c < l->c; c++) {
			size_t mean = s->graph->aux[l->mean].first + c, var = s->graph->aux[l->var].first + c;
			double off = s->batch[mean] - s->sum[mean];

			s->sum[mean] += off * n / all;
			s->sum[var] += n * s->batch[var] + off * off * before * n / all;
		}
	}
	s->n += (uint64_t)n;
}

static int
measure_batch(struct stats *s, const struct batch *b)
{
	const struct engine_draw draw = { .seed = s->o->seed, .step = b->step };
	struct samples in = b->s;
	struct engine_result r;

	in.y = s->y;
	in.mix = NULL;
	in.targets = graph_targets(s->graph);
	in.target = in.targets > 0 ? s->target : NULL;
	ERR_TRY(s->engine->forward(s->plan, &in, &draw, NULL, &r));
	ERR_TRY(s->engine->statistics(s->plan, s->batch));
	join_batch(s, in.n);
	return 0;
}

static int
measure_batches(struct stats *s)
{
	uint64_t most = s->o->steps > 0 ? s->o->steps : UINT64_MAX;
	const struct batch *b;
	int e = 0;

	batch_start(s->in, 0, 0);
	for (uint64_t i = 0; e == 0 && i < most && (e = batch_next(s->in, &b)) > 0; i++) {
		e = 0;
		if (b->bad > 0)
			s->o->bad(s->o->arg, b->bad, b->why[0]);
		if (b->s.n > 0)
			e = measure_batch(s, b);
	}
	if (e == 0 && s->n == 0)
		e = err_fail(ERR_FORMAT, "no image to measure statistics of");
	return e;
}

static void
finish_stats(const struct stats *s, float *aux)
{
	for (uint32_t i = 0; i < s->graph->n; i++) {
		const struct graph_node *l = &s->graph->node[i];

		for (uint32_t c = 0; l->op == GRAPH_BN && c < l->c; c++) {
			size_t mean = s->graph->aux[l->mean].first + c, var = s->graph->aux[l->var].first + c;

			aux[mean] = (float)s->sum[mean];
			aux[var] = (float)(s->sum[var] / (double)s->n);
		}
	}
}

int
stats_run(const struct stats_opt *o, float *aux, uint64_t *samples)
{
	struct stats s = { .o = o, .engine = o->engine, .graph = o->weights->graph };
	int e;

	if ((e = open_stats_data(&s)) == 0 && (e = open_stats_net(&s)) == 0 && (e = alloc_stats(&s)) == 0 &&
	    (e = measure_batches(&s)) == 0)
		finish_stats(&s, aux);
	*samples = s.n;
	s.engine->plan_free(s.plan);
	s.engine->close(s.dev);
	batch_close(s.in);
	free(s.y);
	free(s.target);
	free(s.batch);
	free(s.sum);
	return e;
}
