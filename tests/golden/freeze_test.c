/*
 * freeze_test - each engine omits the gradients of frozen arrays as PyTorch does, and has its gradients of the others.
 *
 * The numbers in freeze_torch.h are those of another author's code, in f64; freeze.py is how they were made.
 */
#include "golden/freeze_torch.h"
#include "op/nets.h"

#include "net/freeze.h"

#define BATCH	(sizeof(freeze_label) / sizeof(*freeze_label))

static struct graph *
net(void)
{
	struct graph *g = graph_new(2, 5, 4);
	uint32_t x = 0;

	for (uint32_t i = 0; i < 2; i++) {
		x = NODE(g, x, CONV, .k = 4 - i, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1), .bias = true);
		x = NODE(g, x, BN, .eps = 1 / 1024.f, .momentum = 0.9f);
		x = NODE(g, x, ACT, .act = GRAPH_RELU);
	}
	x = NODE(g, x, FC, .k = 3, .bias = true);
	NODE(g, x, SOFTMAX, .k = 0);
	return g;
}

static void
one(const struct engine *e, struct engine_dev *dev, const char *rules, double loss, const float *want)
{
	struct graph *g = net();
	struct nets_numbers v = { .w = nets_floats(g->P), .aux = nets_floats(g->A) };
	float *d = nets_floats(g->P), *stats = nets_floats(g->A);
	struct engine_result r;
	struct engine_plan *p;

	nets_must(freeze_rules(g, rules));
	is(g->P, sizeof(freeze_w) / sizeof(*freeze_w), "%s: the net frozen by %s has PyTorch's weights", e->name, rules);
	memcpy(v.w, freeze_w, sizeof(freeze_w));
	memcpy(v.aux, freeze_aux, sizeof(freeze_aux));
	nets_must(engine_plan(e, dev, g, BATCH, ENGINE_F32, 0, &p));
	nets_must(nets_load(e, p, g, &v));
	nets_must(e->forward(p, NETS_SAMPLES(g, freeze_x, freeze_label, BATCH), NULL, NULL, &r));
	nets_must(e->backward(p, d, stats, NULL));
	near(r.loss, loss, 1e-5, "%s: the loss is PyTorch's", e->name);
	for (uint32_t a = 0; a < g->nw; a++)
		if (!g->w[a].frozen)
			nets_same(d + g->w[a].first, want + g->w[a].first, g->w[a].count, 2e-6, e->name, g->w[a].name);
	e->plan_free(p);
	nets_numbers_free(&v);
	free(d);
	free(stats);
	graph_free(g);
}

static void
engine(const struct engine *e, struct engine_dev *dev)
{
	one(e, dev, "freeze-to:n2_beta", freeze_first_loss, freeze_first_g);
	one(e, dev, "freeze:n5_*", freeze_norm_loss, freeze_norm_g);
}

int
main(void)
{
	nets_engines(1, engine);
	return done();
}
