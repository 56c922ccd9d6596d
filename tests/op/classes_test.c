/* classes_test - losses, ranks and probabilities of many classes agree with ref, also of mixed samples. */
#include "op/nets.h"

#define BATCH	5

static struct graph *
net(uint32_t classes)
{
	struct graph *g = graph_new(1, 4, 4);

	NODE(g, NODE(g, 0, FC, .k = classes, .bias = true), SOFTMAX, .smooth = 0.1f);
	return g;
}

struct outcome {
	struct engine_result train, eval;
	float	*prob, *d;
};

static struct outcome
run_classes(const struct engine *e, struct engine_dev *dev, const struct graph *g, const struct nets_numbers *v)
{
	struct outcome o = { .prob = nets_floats(BATCH * (size_t)g->classes), .d = nets_floats(g->P) };
	struct samples mixed = *NETS_SAMPLES(g, v->x, v->y, BATCH);
	struct samples_mix mix[BATCH];
	float *stats = nets_floats(0);
	struct engine_plan *p;

	/* Targets of two classes, as of mixed images, and weights. */
	for (int i = 0; i < BATCH; i++)
		mix[i] = (struct samples_mix){ (v->y[i] + 1 + i) % (int32_t)g->classes, 0.2f * (float)i, 0.5f + (float)i / 4 };
	mixed.mix = mix;
	nets_must(engine_plan(e, dev, g, BATCH, ENGINE_F32, 0, &p));
	nets_must(nets_load(e, p, g, v));
	nets_must(e->forward(p, &mixed, NULL, NULL, &o.train));
	nets_must(e->backward(p, o.d, stats, NULL));
	/* Ranks must not add up from pass to pass. */
	for (int k = 0; k < 6; k++)
		nets_must(e->evaluate(p, NETS_SAMPLES(g, v->x, v->y, BATCH), &o.eval, o.prob));
	e->plan_free(p);
	free(stats);
	return o;
}

static void
compare(const struct engine *e, struct engine_dev *dev, uint32_t classes)
{
	struct rng r = rng_start(classes, 0, 0);
	struct graph *g = net(classes);
	struct nets_numbers v = nets_numbers(g, &r, BATCH);
	const struct engine *ref = engine_find("ref");
	struct engine_dev *judge;
	struct outcome got, want;

	nets_must(engine_open(&ref, 0, 1, &judge));
	/* The highest scores tie: class 0, the right one of sample 0, whose rank is 1, and the last one. */
	for (size_t i = 0; i < 16; i++)
		v.w[i] = v.w[(size_t)(classes - 1) * 16 + i] = v.w[(size_t)(classes / 2) * 16 + i];
	v.w[(size_t)classes * 16] = v.w[(size_t)classes * 17 - 1] = v.w[(size_t)classes * 16 + classes / 2] = 5;
	v.y[0] = (int32_t)(classes / 2);
	v.y[1] = 0;
	got = run_classes(e, dev, g, &v);
	want = run_classes(ref, judge, g, &v);
	ok(fabs(got.train.loss - want.train.loss) <= 1e-5 * want.train.loss, "%s: %u classes: the loss agrees with ref",
	    e->name, classes);
	ok(got.train.correct == want.train.correct && got.train.top5 == want.train.top5 &&
	    got.eval.correct == want.eval.correct && got.eval.top5 == want.eval.top5,
	    "%s: %u classes: the ranks agree with ref", e->name, classes);
	nets_same(got.prob, want.prob, BATCH * (size_t)classes, 1e-9, e->name, "the probabilities agree with ref");
	nets_same(got.d, want.d, g->P, 1e-8, e->name, "the gradients agree with ref");
	free(got.prob);
	free(got.d);
	v.x[3] = NAN;
	got = run_classes(e, dev, g, &v);
	ok(isnan(got.train.loss) && isnan(got.prob[classes - 1]), "%s: %u classes: a NaN reaches loss and probabilities",
	    e->name, classes);
	ok(!isnan(got.prob[2 * classes - 1]), "%s: %u classes: a NaN stays in its sample", e->name, classes);
	free(got.prob);
	free(got.d);
	free(want.prob);
	free(want.d);
	ref->close(judge);
	nets_numbers_free(&v);
	graph_free(g);
}

static void
engine(const struct engine *e, struct engine_dev *dev)
{
	const uint32_t classes[] = { 10, 63, 64, 100, 1000 };

	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		compare(e, dev, classes[i]);
}

int
main(void)
{
	nets_engines(2, engine);
	return done();
}
