/*
 * step_test - each engine computes PyTorch's step: loss, gradients, statistics, evaluation.
 *
 * The numbers in step_torch.h are those of another author's code, in f64; step.py is how they were made.
 */
#include "golden/step_torch.h"
#include "op/nets.h"

#define BATCH	(sizeof(step_label) / sizeof(*step_label))
#define CLASSES (sizeof(step_prob) / sizeof(*step_prob) / BATCH)

static struct graph *
net(void)
{
	struct graph *g = graph_new(2, 6, 4);
	uint32_t x, y[3];

	x = NODE(g, 0, CONV, .k = 3, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1), .bias = true);
	x = NODE(g, x, BN, .eps = 1 / 1024.f, .momentum = 0.9f);
	x = NODE(g, x, ACT, .act = GRAPH_RELU);
	y[0] = NODE(g, x, CONV, .k = 2, .r = 3, .s = 3, .stride = GRAPH_BOTH(2), .pad = GRAPH_BOTH(1), .bias = true);
	y[1] = NODE(g, x, POOL, .pool = GRAPH_MAX, .r = 3, .s = 3, .stride = GRAPH_BOTH(2), .ceil = true);
	y[2] = NODE(g, x, POOL, .pool = GRAPH_AVG, .r = 3, .s = 3, .stride = GRAPH_BOTH(2), .pad = GRAPH_BOTH(1));
	x = CONCAT(g, y[0], y[1], y[2]);
	x = NODE(g, x, ACT, .act = GRAPH_TANH);
	x = NODE(g, x, FC, .k = CLASSES, .bias = true);
	NODE(g, x, SOFTMAX, .k = 0);
	return g;
}

static void
step(const struct engine *e, struct engine_plan *p, const struct graph *g)
{
	struct nets_numbers v = { .w = nets_floats(g->P), .aux = nets_floats(g->A) };
	float *d = nets_floats(g->P), *stats = nets_floats(g->A), *prob = nets_floats(BATCH * CLASSES);
	struct engine_result train, eval;

	memcpy(v.w, step_w, sizeof(step_w));
	memcpy(v.aux, step_aux, sizeof(step_aux));
	nets_must(nets_load(e, p, g, &v));
	nets_must(e->forward(p, NETS_SAMPLES(g, step_x, step_label, BATCH), NULL, NULL, &train));
	nets_must(e->backward(p, d, stats, NULL));
	nets_must(e->evaluate(p, NETS_SAMPLES(g, step_x, step_label, BATCH), &eval, prob));
	near(train.loss, step_loss, 1e-5, "%s: the loss is PyTorch's", e->name);
	/* The bias before batch norm has no gradient: what is left is the rounding of sums, in an order of the processor's. */
	for (uint32_t a = 0; a < g->nw; a++)
		nets_same(d + g->w[a].first, step_g + g->w[a].first, g->w[a].count, a == 1 ? 5e-7 : 2e-7, e->name, g->w[a].name);
	nets_same(stats, step_stats, g->A, 2e-7, e->name, "batch statistics");
	near(eval.loss, step_eval_loss, 1e-5, "%s: the loss in evaluation is PyTorch's", e->name);
	nets_same(prob, step_prob, BATCH * CLASSES, 2e-7, e->name, "probabilities in evaluation");
	nets_numbers_free(&v);
	free(d);
	free(stats);
	free(prob);
}

static void
engine(const struct engine *e, struct engine_dev *dev)
{
	struct graph *g = net();
	struct engine_plan *p;

	is(g->P, sizeof(step_w) / sizeof(*step_w), "%s: the net has as many weights as PyTorch's", e->name);
	is(g->A, sizeof(step_aux) / sizeof(*step_aux), "%s: the net has as many statistics as PyTorch's", e->name);
	nets_must(engine_plan(e, dev, g, BATCH, ENGINE_F32, 0, &p));
	step(e, p, g);
	e->plan_free(p);
	graph_free(g);
}

int
main(void)
{
	nets_engines(1, engine);
	return done();
}
