/* cost_test - the costs that a profiler reports: times within the step's, and the graph's multiply-adds. */
#include "op/nets.h"

#include "base/clk.h"

#define BATCH	8
#define STEPS	4

/* The sums of all rows. */
struct costs {
	const struct graph *g;
	uint64_t ns, macs[ENGINE_DIRECTIONS];
	unsigned rows, wrong, idle;	/* wrong: rows with other multiply-adds than the graph's; idle: without bytes */
};

static int
add_cost(void *arg, const struct engine_cost *c)
{
	struct costs *sum = arg;

	sum->rows++;
	sum->ns += c->ns;
	sum->macs[c->direction] += c->macs;
	sum->wrong += c->macs != STEPS * BATCH * graph_node_macs(sum->g, c->node);
	sum->idle += c->bytes == 0;
	return 0;
}

static int
fail_row(void *arg, const struct engine_cost *c)
{
	(void)c;
	++*(int *)arg;
	return 42;
}

static void
steps(const struct engine *e, struct engine_plan *p, const struct graph *g, const struct nets_numbers *v, float *d,
    float *stats)
{
	struct engine_result r;

	for (int i = 0; i < STEPS; i++) {
		nets_must(e->forward(p, NETS_SAMPLES(g, v->x, v->y, BATCH), NULL, NULL, &r));
		nets_must(e->backward(p, d, stats, NULL));
	}
}

static struct graph *
net(void)
{
	struct graph *g = graph_new(3, 32, 32);
	uint32_t x = NODE(g, 0, CONV, .k = 48, .r = 5, .s = 5, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(2));

	x = NODE(g, BN(g, x, .fix_gamma = false), ACT, .act = GRAPH_RELU);
	x = NODE(g, x, CONV, .k = 40, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1), .bias = true);
	x = NODE(g, x, ACT, .act = GRAPH_TANH);
	x = NODE(g, x, POOL, .pool = GRAPH_MAX, .r = 2, .s = 2, .stride = GRAPH_BOTH(2));
	x = NODE(g, x, FC, .k = 10, .bias = true);
	NODE(g, x, SOFTMAX, .k = 0);
	return g;
}

static void
profile(const struct engine *e, struct engine_dev *dev)
{
	struct rng r = rng_start(8, 0, 0);
	struct graph *g = net();
	struct nets_numbers v = nets_numbers(g, &r, BATCH);
	float *d = nets_floats(g->P), *stats = nets_floats(g->A);
	struct costs sum = { .g = g }, none = { .g = g };
	const uint64_t all = STEPS * BATCH * graph_macs(g);
	struct engine_peaks peaks;
	struct engine_plan *p;
	uint64_t from, whole;
	int calls = 0;

	nets_must(engine_plan(e, dev, g, BATCH, ENGINE_F32, 0, &p));
	nets_must(nets_load(e, p, g, &v));
	steps(e, p, g, &v, d, stats);
	nets_must(e->profiler->start(p));
	from = clk_ns();
	steps(e, p, g, &v, d, stats);
	whole = clk_ns() - from;
	is(e->profiler->stop(p, add_cost, &sum), 0, "%s: the profiler reports the costs of steps", e->name);
	ok(sum.ns <= whole, "%s: the layers take no longer than the steps", e->name);
	ok(sum.ns >= whole * 7 / 10, "%s: the layers take at least 7 tenths of the steps' time", e->name);
	printf("# %.1f %% of %.1f ms\n", 100.0 * (double)sum.ns / (double)whole, (double)whole * 1e-6);
	is(sum.macs[ENGINE_FORWARD], all, "%s: the multiply-adds forward are the graph's", e->name);
	is(sum.macs[ENGINE_WEIGHT], all, "%s: the multiply-adds of the weight gradients are the graph's", e->name);
	is(sum.macs[ENGINE_DATA], all - STEPS * BATCH * graph_node_macs(g, 1),
	    "%s: the multiply-adds of the data gradients are the graph's without the first layer", e->name);
	is(sum.macs[ENGINE_BACKWARD] + sum.wrong, 0, "%s: the multiply-adds of each layer are the graph's", e->name);
	is(sum.idle, 0, "%s: each row has bytes", e->name);
	nets_must(e->profiler->start(p));
	is(e->profiler->stop(p, add_cost, &none) + (int)none.rows, 0,
	    "%s: a profile without a pass has no row", e->name);
	nets_must(e->profiler->start(p));
	steps(e, p, g, &v, d, stats);
	is(e->profiler->stop(p, fail_row, &calls), 42,
	    "%s: stop() returns the result of a failing callback", e->name);
	is(calls, 1, "%s: a failing callback ends the profile at once", e->name);
	is(e->profiler->peaks(p, &peaks), 0, "%s: the profiler measures the peaks of the device", e->name);
	ok(peaks.macs_per_s > 1e7 && peaks.bytes_per_s > 1e7,
	    "%s: the peaks are above a floor: %.1f GFLOP/s and %.1f GB/s", e->name, peaks.macs_per_s * 2e-9,
	    peaks.bytes_per_s * 1e-9);
	e->plan_free(p);
	free(d);
	free(stats);
	nets_numbers_free(&v);
	graph_free(g);
}

static void
engine(const struct engine *e, struct engine_dev *dev)
{
	if (e->profiler == NULL)
		skip(e->name, "has no profiler");
	else
		profile(e, dev);
}

int
main(void)
{
	nets_engines(2, engine);
	return done();
}
