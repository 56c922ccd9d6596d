/*
 * fold_test - does evaluation give the same bits where a convolution's kernel computes its batch norm, too?
 *
 * forward() computes a frozen batch norm by its running statistics, in a pass of its own, so its loss must be that of
 * evaluate().
 */
#include "op/nets.h"

#include "base/isa.h"
#include "net/freeze.h"

#define BATCH	3

struct shape {
	const char *name;
	uint32_t    c, side, k, taps, stride, groups;
	bool	    bias, relu;
	bool	    joined;	/* the batch norm writes into a concatenation */
	enum isa    folds;	/* the first set with which it does on x86; 0: none */
};

static const struct shape shapes[] = {
	{ "3x3 by Winograd", 32, 14, 64, 3, 1, 1, false, true, false, ISA_SSE41 },
	{ "3x3 by Winograd, a bias, channels that fill no block", 40, 9, 39, 3, 1, 1, true, false, false, ISA_SSE41 },
	{ "3x3 by Winograd, half a block", 24, 9, 40, 3, 1, 1, true, true, false, ISA_SSE41 },
	{ "1x1", 32, 14, 48, 1, 1, 1, false, true, false, ISA_SSE41 },
	{ "1x1 with a bias", 32, 14, 48, 1, 1, 1, true, true, false, ISA_SSE41 },
	{ "1x1 with a stride", 64, 14, 64, 1, 2, 1, false, false, false, ISA_SSE41 },
	{ "5x5", 32, 12, 32, 5, 1, 1, false, true, false, ISA_SSE41 },
	{ "7x7 with a stride, of an image", 3, 28, 64, 7, 2, 1, false, true, false, ISA_SSE41 },
	{ "3x3 with a stride and channels that fill no block", 24, 15, 40, 3, 2, 1, true, true, false, ISA_SSE41 },
	{ "depthwise", 32, 14, 32, 3, 1, 32, false, true, false, ISA_SSE41 },
	{ "one pixel", 32, 1, 32, 1, 1, 1, false, true, false, ISA_SSE41 },
	{ "3x3 by Winograd into a concatenation", 32, 14, 32, 3, 1, 1, false, true, true, ISA_SSE41 },
	{ "1x1 into a concatenation", 32, 14, 32, 1, 1, 1, false, true, true, ISA_AVX512 },
	{ "a small map", 32, 2, 32, 3, 1, 1, false, true, false, 0 },
};

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static struct graph *
make_net(const struct shape *s)
{
	struct graph *g = graph_new(s->c, s->side, s->side);
	uint32_t x;

	nets_must(g != NULL ? 0 : ERR_NOMEM);
	x = NODE(g, 0, CONV, .k = s->k, .r = s->taps, .s = s->taps, .stride = GRAPH_BOTH(s->stride),
	    .pad = GRAPH_BOTH(s->taps / 2), .groups = s->groups, .bias = s->bias);
	x = BN(g, x, .fix_gamma = false);
	if (s->relu)
		x = NODE(g, x, ACT, .act = GRAPH_RELU);
	if (s->joined)
		x = CONCAT(g, x, BN(g, 0, .fix_gamma = false));
	x = NODE(g, x, FC, .k = 10, .bias = true);
	NODE(g, x, SOFTMAX, .loss = GRAPH_LOSS_SOFTMAX);
	/* No step but the convolution reads its input, so that the memory of the input may have other uses after it. */
	nets_must(freeze_rules(g, "freeze:n1*;freeze:*gamma;freeze:*beta"));
	return g;
}

static double
evaluate(const struct engine *e, struct engine_plan *p, const struct samples *s)
{
	struct engine_result r;

	nets_must(e->evaluate(p, s, &r, NULL));
	return r.loss;
}

static void
compare_net(const struct engine *e, struct engine_dev *dev, const struct shape *s, enum engine_precision precision)
{
	struct rng r = rng_start(11, (uint64_t)(s - shapes), 0);
	struct graph *g = make_net(s);
	struct nets_numbers v = nets_numbers(g, &r, BATCH);
	struct engine_result apart;
	struct engine_plan *p = nets_plan(e, dev, g, BATCH, precision, s->name);
	const bool folds = s->folds != 0 && isa_level() >= s->folds;
	double joined, again, some;

	if (p == NULL) {
		nets_numbers_free(&v);
		graph_free(g);
		return;
	}
	nets_must(nets_load(e, p, g, &v));
	joined = evaluate(e, p, NETS_BATCH(g, &v, BATCH));
	nets_must(e->forward(p, NETS_BATCH(g, &v, BATCH), NULL, NULL, &apart));
	again = evaluate(e, p, NETS_BATCH(g, &v, BATCH));
	some = evaluate(e, p, NETS_BATCH(g, &v, 1));
	if (precision == ENGINE_F32) {
		if (!ok(joined == apart.loss, "%s: evaluation has the bits of a batch norm apart", s->name))
			printf("# %.9g, apart %.9g\n", joined, apart.loss);
		nets_must(e->forward(p, NETS_BATCH(g, &v, 1), NULL, NULL, &apart));
		ok(some == apart.loss, "%s: a short batch, too", s->name);
		ok(nets_explains(e, p, "+bn") == folds, "%s: the convolution %s the batch norm", s->name,
		    folds ? "computes" : "does not compute");
	} else
		ok(fabs(joined - apart.loss) <= 0.01 * apart.loss, "%s: bf16 is near a batch norm apart", s->name);
	ok(again == joined, "%s: a training pass between changes no bit of evaluation", s->name);
	e->plan_free(p);
	nets_numbers_free(&v);
	graph_free(g);
}

int
main(void)
{
	const struct engine *e = engine_find("cpu");
	struct engine_dev *dev;

	nets_must(e->open(0, 2, &dev));
	for (size_t i = 0; i < SHAPES; i++)
		compare_net(e, dev, &shapes[i], ENGINE_F32);
	for (size_t i = 0; i < SHAPES; i++)
		compare_net(e, dev, &shapes[i], ENGINE_BF16);
	e->close(dev);
	return done();
}
