/*
 * odd_test - convolutions of 1x1 to odd numbers of channels, in bf16 where there is no AMX: oneDNN has a kernel for these
 * that adds numbers of other pixels to gradients.
 */
#include "op/nets.h"

#define BATCH	3
#define NEAR	5e-3

static struct graph *
net(uint32_t k, uint32_t side)
{
	struct graph *g = graph_new(3, 4, side);
	uint32_t x;

	nets_must(g != NULL ? 0 : ERR_NOMEM);
	x = NODE(g, 0, CONV, .k = 31, .r = 1, .s = 1, .stride = GRAPH_BOTH(1), .bias = true);
	x = NODE(g, x, CONV, .k = k, .r = 1, .s = 1, .stride = GRAPH_BOTH(1), .bias = true);
	x = BN(g, x, .fix_gamma = false);
	x = NODE(g, x, FC, .k = 4, .bias = true);
	NODE(g, x, SOFTMAX, .smooth = 0);
	return g;
}

static float *
gradients(const char *name, const struct graph *g, const struct nets_numbers *v)
{
	const struct engine *e = engine_find(name);
	float *to = nets_floats(g->P), *stats = nets_floats(g->A);
	struct engine_result result;
	struct engine_dev *dev;
	struct engine_plan *p;

	nets_must(e != NULL ? e->open(0, 1, &dev) : ERR_NOTSUP);
	nets_must(e->plan(dev, g, BATCH, ENGINE_BF16, &p));
	nets_must(nets_load(e, p, g, v));
	nets_must(e->forward(p, NETS_SAMPLES(g, v->x, v->y, BATCH), NULL, NULL, &result));
	nets_must(e->backward(p, to, stats, NULL));
	e->plan_free(p);
	e->close(dev);
	free(stats);
	return to;
}

static void
compared(uint32_t k, uint32_t side)
{
	struct rng r = rng_start(5, k, side);
	struct graph *g = net(k, side);
	struct nets_numbers v = nets_numbers(g, &r, BATCH);
	float *got = gradients("cpu", g, &v), *want = gradients("ref", g, &v);
	double off = nets_distance(got, want, g->P);

	ok(off < NEAR, "%u channels of 4x%u: %.1e off", k, side, off);
	free(got);
	free(want);
	nets_numbers_free(&v);
	graph_free(g);
}

static bool
has_bf16(void)
{
	const struct engine *e = engine_find("cpu");
	struct rng r = rng_start(5, 0, 0);
	struct graph *g = nets_graph(&nets_cases[0], &r, false);
	struct engine_plan *p = NULL;
	struct engine_dev *dev;
	int err;

	if (e == NULL || e->open(0, 1, &dev) < 0) {
		graph_free(g);
		return false;
	}
	err = e->plan(dev, g, 1, ENGINE_BF16, &p);
	e->plan_free(p);
	e->close(dev);
	graph_free(g);
	return err == 0;
}

int
main(void)
{
	setenv("TALLY_MAX_ISA", "avx512_core_bf16", 1);
	if (!has_bf16()) {
		skip("odd channels in bf16", err_line());
		return done();
	}
	for (uint32_t k = 19; k <= 45; k += 13)
		for (uint32_t side = 14; side <= 15; side++)
			compared(k, side);
	compared(21, 15);
	compared(31, 30);
	return done();
}
