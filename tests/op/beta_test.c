/*
 * beta_test - is the gradient of beta that of ref, in a batch norm of samples whose gamma is fixed and which only a
 * convolution reads?
 *
 * The cpu engine computes it from the gradient of the convolution's output, and no gradient of its input.
 */
#include "op/nets.h"

#define BATCH	5

struct shape {
	const char *name;
	uint32_t    c, h, w, k, r, s, stride[2], pad[2], dilate[2];
	bool	    bias, relu, beta_only;
};

static const struct shape shapes[] = {
	{ "7x7 with a stride, as of ResNet", 3, 28, 28, 64, 7, 7, { 2, 2 }, { 3, 3 }, { 1, 1 }, false, false, true },
	{ "3x3", 3, 14, 11, 16, 3, 3, { 1, 1 }, { 1, 1 }, { 1, 1 }, true, true, true },
	{ "no edge", 2, 9, 8, 20, 3, 2, { 1, 1 }, { 0, 0 }, { 1, 1 }, false, false, true },
	{ "wide edges", 4, 6, 7, 33, 5, 4, { 1, 2 }, { 4, 3 }, { 1, 1 }, true, false, true },
	{ "taps that no output shares", 1, 3, 4, 8, 5, 7, { 2, 1 }, { 3, 4 }, { 1, 1 }, false, false, true },
	{ "dilated", 3, 13, 12, 24, 3, 3, { 1, 2 }, { 3, 2 }, { 3, 2 }, true, true, true },
	{ "11x11", 3, 31, 30, 48, 11, 11, { 4, 4 }, { 2, 2 }, { 1, 1 }, true, true, true },
	{ "one tap of many channels", 40, 5, 5, 12, 1, 1, { 1, 1 }, { 0, 0 }, { 1, 1 }, false, false, true },
	{ "more taps than it has sums for", 2, 14, 14, 8, 13, 3, { 1, 1 }, { 6, 1 }, { 1, 1 }, false, false, false },
};

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static const struct engine *ref;
static struct engine_dev *ref_dev;

/* In bf16 a ReLU lets gradients through that it stops in f32. */
static struct graph *
make_net(const struct shape *s, bool relu)
{
	struct graph *g = graph_new(s->c, s->h, s->w);
	uint32_t x;

	nets_must(g != NULL ? 0 : ERR_NOMEM);
	x = BN(g, 0, .fix_gamma = true);
	x = NODE(g, x, CONV, .k = s->k, .r = s->r, .s = s->s, .stride = { s->stride[0], s->stride[1] },
	    .pad = { s->pad[0], s->pad[1] }, .dilate = { s->dilate[0], s->dilate[1] }, .bias = s->bias);
	if (s->relu && relu)
		x = NODE(g, x, ACT, .act = GRAPH_RELU);
	x = NODE(g, x, FC, .k = 10, .bias = true);
	NODE(g, x, SOFTMAX, .loss = GRAPH_LOSS_SOFTMAX);
	return g;
}

/* The relative error of the gradients of beta and of all arrays, for a batch of n. */
static void
compare_batch(const struct engine *e, struct engine_plan *p, const struct shape *s, const struct graph *g,
    const struct nets_numbers *v, uint32_t n, double bound)
{
	const struct graph_array *beta = &g->w[g->node[1].beta];
	struct engine_plan *ref_plan;
	struct nets_step got = nets_step_new(g, n), want = nets_step_new(g, n);
	double off;

	nets_must(engine_plan(ref, ref_dev, g, BATCH, ENGINE_F32, 0, &ref_plan));
	nets_step_run(e, p, g, v, n, &got);
	nets_step_run(ref, ref_plan, g, v, n, &want);
	off = fmax(nets_distance(got.g + beta->first, want.g + beta->first, beta->count),
	    nets_distance(got.g, want.g, g->P));
	if (!ok(off <= bound, "%s: a batch of %u is as ref", s->name, n))
		printf("# relative error %.1e\n", off);
	ref->plan_free(ref_plan);
	nets_step_free(&got);
	nets_step_free(&want);
}

static void
compare_shape(const struct engine *e, struct engine_dev *dev, const struct shape *s, enum engine_precision precision)
{
	struct rng r = rng_start(13, (uint64_t)(s - shapes), 0);
	struct graph *g = make_net(s, precision == ENGINE_F32);
	struct nets_numbers v = nets_numbers(g, &r, BATCH);
	const double bound = precision == ENGINE_F32 ? 1e-5 : 0.03;
	struct engine_plan *p = nets_plan(e, dev, g, BATCH, precision, s->name);

	if (p != NULL) {
		compare_batch(e, p, s, g, &v, BATCH, bound);
		compare_batch(e, p, s, g, &v, 2, bound);
		ok((nets_explains(e, p, "own:beta") && !nets_explains(e, p, "n2 data")) == s->beta_only, "%s: %s", s->name,
		    s->beta_only ? "no gradient of the input is computed" : "the gradient of the input is computed");
		e->plan_free(p);
	}
	nets_numbers_free(&v);
	graph_free(g);
}

int
main(void)
{
	const struct engine *e = engine_find("cpu");
	struct engine_dev *dev;

	ref = engine_find("ref");
	nets_must(ref->open(0, 1, &ref_dev));
	nets_must(e->open(0, 2, &dev));
	for (size_t i = 0; i < SHAPES; i++)
		compare_shape(e, dev, &shapes[i], ENGINE_F32);
	for (size_t i = 0; i < SHAPES; i++)
		compare_shape(e, dev, &shapes[i], ENGINE_BF16);
	e->close(dev);
	ref->close(ref_dev);
	return done();
}
