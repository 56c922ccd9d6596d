/*
 * net_test - does each engine train the nets of share/nets as ref does?
 *
 * In a deep net a difference of 1e-6 flips some relu or max, and gradients move by thousandths.  match_test compares
 * the layers closely; this test compares the whole net loosely, and checks that the loss falls.
 */
#include "op/nets.h"

#include "net/graph/script.h"

#define STEPS	2

struct run {
	double	 loss[STEPS + 1];	/* before each step, and after the last */
	float	*g, *stats;		/* of the first step */
};

/* Runs a few steps on one batch. */
static struct run
run(const struct engine *e, struct engine_dev *dev, const struct graph *g, const struct nets_numbers *v, uint32_t n)
{
	const struct opt_hyper hyper = { .lr = 0.05f, .momentum = 0.9f, .wd = 1e-4f };
	struct run r = { .g = nets_floats(g->P), .stats = nets_floats(g->A) };
	struct nets_numbers now = { .w = nets_floats(g->P), .aux = v->aux };
	float *d = nets_floats(g->P), *m = nets_floats(g->P);
	struct engine_result result;
	struct engine_plan *p;

	memcpy(now.w, v->w, g->P * sizeof(float));
	nets_must(engine_plan(e, dev, g, n, ENGINE_F32, 0, &p));
	for (int k = 0; k <= STEPS; k++) {
		nets_must(nets_load(e, p, g, &now));
		nets_must(e->forward(p, NETS_SAMPLES(g, v->x, v->y, n), NULL, NULL, &result));
		r.loss[k] = result.loss;
		if (k == STEPS)
			break;
		nets_must(e->backward(p, d, r.stats, NULL));
		if (k == 0)
			memcpy(r.g, d, g->P * sizeof(float));
		nets_must(e->update(dev, now.w, m, d, g->P, n, &hyper));
	}
	e->plan_free(p);
	free(now.w);
	free(d);
	free(m);
	return r;
}

static void
run_free(struct run *r)
{
	free(r->g);
	free(r->stats);
}

static const struct engine *ref;
static struct engine_dev *ref_dev;
static struct run want;
static struct graph *graph;
static struct nets_numbers numbers;
static uint32_t batch;
static char name[32];

static void
engine(const struct engine *e, struct engine_dev *dev)
{
	struct run got = e == ref ? want : run(e, dev, graph, &numbers, batch);

	/* With smoothed labels the loss falls less. */
	ok(got.loss[STEPS] < (graph->node[graph->n - 1].smooth > 0 ? 0.95 : 0.8) * got.loss[0],
	    "%s: %s: the loss falls", e->name, name);
	printf("# loss %g, %g, %g\n", got.loss[0], got.loss[1], got.loss[2]);
	if (e == ref)
		return;
	near(got.loss[0] / want.loss[0], 1, 1e-5, "%s: %s: the loss is that of ref", e->name, name);
	near(nets_distance(got.g, want.g, graph->P), 0, 1e-2, "%s: %s: gradients are near those of ref",
	    e->name, name);
	near(nets_distance(got.stats, want.stats, graph->A), 0, 1e-2, "%s: %s: statistics are near those of ref",
	    e->name, name);
	near(got.loss[STEPS] / want.loss[STEPS], 1, 1e-2, "%s: %s: the last loss is near that of ref",
	    e->name, name);
	run_free(&got);
}

/* key NULL: no option.  side 0: the script's own shape; else 3 x side x side and 10 classes. */
static void
net(const char *script, const char *key, const char *value, uint32_t side, uint32_t n)
{
	const struct script_opt opt = { key, value };
	struct rng r = rng_start(5, 0, 0);

	batch = n;
	snprintf(name, sizeof(name), "%s%s%s", script, key != NULL ? " " : "", key != NULL ? value : "");
	nets_must(script_run(script, side > 0 ? 3 : 0, side, side, side > 0 ? 10 : 0, &opt, key != NULL, &graph));
	numbers = nets_numbers(graph, &r, batch);
	want = run(ref, ref_dev, graph, &numbers, batch);
	nets_engines(2, engine);
	run_free(&want);
	nets_numbers_free(&numbers);
	graph_free(graph);
}

int
main(void)
{
	ref = engine_find("ref");
	nets_must(ref != NULL ? ref->open(0, 1, &ref_dev) : ERR_NOTSUP);
	net("mlp", NULL, NULL, 0, 4);
	net("mlp", "dropout", "0.2", 0, 4);
	net("lenet", NULL, NULL, 0, 4);
	net("lenet", "variant", "bn", 0, 4);
	net("inception", NULL, NULL, 0, 2);
	net("resnet", "layers", "8", 14, 4);
	net("resnet", "variant", "small", 12, 4);
	net("fast", "widths", "24,16,20", 31, 4);
	ref->close(ref_dev);
	return done();
}
