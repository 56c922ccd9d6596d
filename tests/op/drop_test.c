/*
 * drop_test - dropout's masks: their density, their dependence on the draw alone, and none in evaluation.
 *
 * The test reads a layer's mask through the fc after it, whose weight gradient is dy x for one sample.
 */
#include "op/nets.h"

#define C	40	/* two and a half blocks of 16 */
#define SIDE	9
#define FLOATS	(C * SIDE * SIDE)
#define DROP	0.3f
#define BATCH	4

struct bench {
	const struct engine *e;
	struct engine_plan *p;
	struct graph *g;
	struct nets_numbers v;
	float	 *d;
};

/* data -> dropout -> fc -> loss, with all data 1. */
static struct bench
bench(const struct engine *e, struct engine_dev *dev)
{
	struct bench b = { .e = e, .g = graph_new(C, SIDE, SIDE) };
	struct rng r = rng_start(1, 2, 3);
	uint32_t x = NODE(b.g, 0, DROPOUT, .drop = DROP);

	x = NODE(b.g, x, FC, .k = 2, .bias = true);
	NODE(b.g, x, SOFTMAX, .k = 0);
	b.v = nets_numbers(b.g, &r, BATCH);
	for (size_t j = 0; j < BATCH * FLOATS; j++)
		b.v.x[j] = 1;
	b.d = nets_floats(b.g->P);
	nets_must(engine_plan(e, dev, b.g, BATCH, ENGINE_F32, 0, &b.p));
	nets_must(nets_load(e, b.p, b.g, &b.v));
	return b;
}

static void
bench_free(struct bench *b)
{
	b->e->plan_free(b->p);
	nets_numbers_free(&b->v);
	graph_free(b->g);
	free(b->d);
}

/* out = the mask times its scale, for a batch of one. */
static void
mask(struct bench *b, const struct engine_draw *draw, float out[FLOATS])
{
	struct engine_result r;

	nets_must(b->e->forward(b->p, NETS_SAMPLES(b->g, b->v.x, b->v.y, 1), draw, NULL, &r));
	nets_must(b->e->backward(b->p, b->d, NULL, NULL));
	for (size_t j = 0; j < FLOATS; j++)
		out[j] = b->d[j] / b->d[2 * FLOATS];
}

static double
kept(const float m[FLOATS], const char *engine)
{
	size_t n = 0, odd = 0;

	for (size_t j = 0; j < FLOATS; j++) {
		n += m[j] != 0;
		odd += m[j] != 0 && fabsf(m[j] * (1 - DROP) - 1) > 1e-5f;
	}
	is(odd, 0, "%s: the kept elements are scaled", engine);
	return (double)n / FLOATS;
}

static float first[FLOATS], again[FLOATS], of_ref[FLOATS];

static double
alike(const float a[FLOATS], const float b[FLOATS])
{
	size_t n = 0;

	for (size_t j = 0; j < FLOATS; j++)
		n += (a[j] != 0) == (b[j] != 0);
	return (double)n / FLOATS;
}

/* Independent masks agree as often as by chance. */
static void
differ(struct bench *b, struct engine_draw draw, const char *what)
{
	mask(b, &draw, again);
	near(alike(first, again), DROP * DROP + (1 - DROP) * (1 - DROP), 0.04, "%s: another %s gives another mask",
	    b->e->name, what);
}

/* The loss of samples 1 and 2 of a batch that starts at 10 is that of a batch of these two that starts at 11. */
static void
numbering(struct bench *b)
{
	const struct engine_draw ten = { 5, 6, 10 }, eleven = { 5, 6, 11 }, thirteen = { 5, 6, 13 };
	struct engine_result all, head, middle, tail;

	nets_must(b->e->forward(b->p, NETS_SAMPLES(b->g, b->v.x, b->v.y, 4), &ten, NULL, &all));
	nets_must(b->e->forward(b->p, NETS_SAMPLES(b->g, b->v.x, b->v.y, 1), &ten, NULL, &head));
	nets_must(b->e->forward(b->p, NETS_SAMPLES(b->g, b->v.x, b->v.y + 1, 2), &eleven, NULL, &middle));
	nets_must(b->e->forward(b->p, NETS_SAMPLES(b->g, b->v.x, b->v.y + 3, 1), &thirteen, NULL, &tail));
	near(head.loss + middle.loss + tail.loss, all.loss, 1e-5 * all.loss,
	    "%s: masks depend on the sample, not on its batch", b->e->name);
	ok(fabs(head.loss - tail.loss) > 1e-6 || b->v.y[0] != b->v.y[3], "%s: samples have different masks",
	    b->e->name);
}

static void
engine(const struct engine *e, struct engine_dev *dev)
{
	const struct engine_draw draw = { 1, 2, 3 };
	struct bench b = bench(e, dev);
	struct engine_result one, two;
	float prob[2];

	mask(&b, &draw, first);
	near(kept(first, e->name), 1 - DROP, 0.03, "%s: the rate of dropped elements is as requested", e->name);
	mask(&b, &draw, again);
	ok(memcmp(first, again, sizeof(first)) == 0, "%s: the same draw gives the same mask", e->name);
	differ(&b, (struct engine_draw){ 2, 2, 3 }, "seed");
	differ(&b, (struct engine_draw){ 1, 3, 3 }, "step");
	differ(&b, (struct engine_draw){ 1, 2, 4 }, "sample");
	numbering(&b);
	nets_must(e->evaluate(b.p, NETS_SAMPLES(b.g, b.v.x, b.v.y, 1), &one, prob));
	nets_must(e->forward(b.p, NETS_SAMPLES(b.g, b.v.x, b.v.y, 1), &(struct engine_draw){ 9, 9, 9 }, NULL, &two));
	nets_must(e->evaluate(b.p, NETS_SAMPLES(b.g, b.v.x, b.v.y, 1), &two, prob));
	ok(one.loss == two.loss, "%s: evaluation has no dropout", e->name);
	if (e == engine_find("ref"))
		memcpy(of_ref, first, sizeof(first));
	bench_free(&b);
}

static void
same_as_ref(const struct engine *e, struct engine_dev *dev)
{
	const struct engine_draw draw = { 1, 2, 3 };
	struct bench b = bench(e, dev);

	mask(&b, &draw, first);
	ok(alike(first, of_ref) == 1, "%s: the mask is that of ref", e->name);
	bench_free(&b);
}

int
main(void)
{
	nets_engines(2, engine);
	nets_engines(2, same_as_ref);
	return done();
}
