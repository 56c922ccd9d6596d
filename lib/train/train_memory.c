/* train_memory - the memory of a run besides the engine's plan, from its options: serves train. */
#include "train/train_in.h"
#include "ps/shard_plan.h"

uint32_t
train_largest_batch(const struct train_opt *o)
{
	return o->data.batch * (o->balance != NULL ? BALANCE_TIMES : 1);
}

static uint64_t
count_sample_bytes(const struct train_opt *o)
{
	const struct graph_node *x = &o->ps.graph->node[0];
	struct batch_opt d = o->data, val = o->data;

	d.batch = val.batch = train_largest_batch(o);
	d.aug.c = x->c;
	d.aug.h = x->h;
	d.aug.w = x->w;
	val.aug = aug_plain(&d.aug);
	return batch_takes(&d) + (o->val != NULL ? batch_takes(&val) : 0);
}

uint64_t
train_memory(const struct train_opt *o, struct train_memory *m)
{
	const struct graph *g = o->ps.graph;
	bool average = o->ps.hyper.average.kind != AVERAGE_NONE, within = o->ps.nservers == 0;
	const bool coded = worker_residuals_size(o->ps.mults, 1) > 0, recodes = shard_plan_recodes(o->ps.mults);
	uint64_t states = opt_states(o->ps.hyper.rule), learns = 0;

	for (uint32_t a = 0; a < g->nw; a++)
		learns += g->w[a].frozen ? 0 : g->w[a].count;
	*m = (struct train_memory){
		.weights = (within ? 3 : 2) * g->P,
		/* The server within reads the worker's gradients where they are, but not encoded ones. */
		.gradients = (1u + (o->accumulate > 1 || o->skip_nan || o->local)) * g->P +
		    (coded ? 2 * g->P + (recodes ? learns : learns / 2) + (within ? learns : 0) : 0),
		.optimizer = (within ? states * learns : 0) + (average ? g->P + (within ? learns : 0) : 0),
		.checkpoint = (o->save != NULL && o->ps.rank == 0) || train_copies_cuts(o) ?
		    (1 + states + average) * g->P : 0,
	};
	m->weights *= sizeof(float);
	m->gradients *= sizeof(float);
	m->optimizer *= sizeof(float);
	m->optimizer += train_local_size(o) + (o->local ? g->P * sizeof(float) : 0);
	m->checkpoint *= sizeof(float);
	m->samples = count_sample_bytes(o);
	return m->weights + m->gradients + m->optimizer + m->checkpoint + m->samples;
}
