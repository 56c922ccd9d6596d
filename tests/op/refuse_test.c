/*
 * refuse_test - the cuda engine counts the CUDA graphs that a GPU refuses, and refuses outputs too large for an index
 * of 32 bits.
 */
#include "op/nets.h"

#include "base/buf.h"

#define BATCH	3
#define STEPS	4

/* The losses of some steps, and the line on CUDA graphs of explain() after them. */
struct run {
	double	 loss[STEPS];
	char	 line[128];
};

static void
steps(const struct engine *e, struct engine_dev *dev, struct run *run)
{
	struct rng r = rng_start(1, 2, 3);
	struct graph *g = nets_graph(&nets_cases[0], &r, false);
	struct nets_numbers v = nets_numbers(g, &r, BATCH);
	float *d = nets_floats(g->P), *stats = nets_floats(g->A);
	struct engine_result result;
	struct engine_plan *p;
	struct buf text = { 0 };
	const char *last;

	*run = (struct run){ .line = "" };
	nets_must(e->plan(dev, g, BATCH, ENGINE_F32, &p));
	for (int k = 0; k < STEPS; k++) {
		nets_must(nets_load(e, p, g, &v));
		nets_must(e->forward(p, NETS_SAMPLES(g, v.x, v.y, BATCH), NULL, NULL, &result));
		nets_must(e->backward(p, d, stats, NULL));
		run->loss[k] = result.loss;
		for (size_t i = 0; i < g->P; i++)
			v.w[i] -= 0.1f * d[i];
	}
	nets_must(e->explain(p, &text));
	nets_must(buf_terminate(&text));
	if ((last = strstr((const char *)text.p, "CUDA graphs")) != NULL)
		snprintf(run->line, sizeof(run->line), "%s", last);
	e->plan_free(p);
	buf_free(&text);
	nets_numbers_free(&v);
	graph_free(g);
	free(d);
	free(stats);
}

static void
graphs(const struct engine *e, struct engine_dev *dev)
{
	unsigned captured = 0, refused = 0;
	const struct engine *other = engine_find("cuda");
	struct engine_dev *without;
	struct run a, b;

	nets_must(other != NULL ? engine_open(&other, 0, 1, &without) : ERR_NOTSUP);
	steps(e, dev, &a);
	sscanf(a.line, "CUDA graphs captured %u, refused %u", &captured, &refused);
	ok(captured >= 3 && refused == 0,
	    "CUDA graphs capture the weights, the forward and the backward pass: %u graphs", captured);
	for (int k = 0; k < 2; k++) {
		setenv("TALLY_EMU", k == 0 ? "nocapture" : "nograph", 1);
		steps(other, without, &b);
		unsetenv("TALLY_EMU");
		refused = 0;
		sscanf(b.line, "CUDA graphs captured %u, refused %u", &captured, &refused);
		ok(captured == 0 && refused >= 3, "each graph counts as refused on a device that %s none: %u graphs",
		    k == 0 ? "captures" : "instantiates", refused);
		is(memcmp(a.loss, b.loss, sizeof(a.loss)), 0, "the losses have the same bits with and without CUDA graphs");
	}
	other->close(without);
}

/* 8 channels of 64x64 pixels: a batch of 65536 has 2^31 values, one of 65535 does not fit the memory. */
static void
sizes(const struct engine *e, struct engine_dev *dev)
{
	struct graph *g = graph_new(8, 64, 64);
	struct engine_plan *p;

	NODE(g, NODE(g, 0, FC, .k = 2), SOFTMAX, .k = 0);
	setenv("TALLY_EMU_MB", "1", 1);
	is(e->plan(dev, g, 65536, ENGINE_F32, &p), ERR_LIMIT, "plan() refuses an output of 2^31 values");
	ok(strstr(err_line(), "data: its output for a batch of 65536 has 2^31 values or more") != NULL,
	    "plan() names the layer with an output of 2^31 values: %s", err_line());
	is(e->plan(dev, g, 65535, ENGINE_F32, &p), ERR_NOMEM,
	    "plan() refuses an output below 2^31 values only for lack of memory");
	unsetenv("TALLY_EMU_MB");
	graph_free(g);
}

static void
engine(const struct engine *e, struct engine_dev *dev)
{
	if (!nets_emulated(e, dev)) {
		skip("the emulated device reports what it refuses", "not the emulated device");
		return;
	}
	graphs(e, dev);
	sizes(e, dev);
}

int
main(void)
{
	nets_engines(1, engine);
	return done();
}
