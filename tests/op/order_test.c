/* order_test - calls in an unusual order: what an engine has uploaded, captured or expected must not be used wrongly. */
#include "op/nets.h"

#define BATCH	4
#define SMALL	2	/* another size of batch */

struct order {
	const struct engine *e;
	struct engine_dev *dev;
	struct graph	*g;
	struct nets_numbers v;
	float		*d, *stats;	/* gradients [P], statistics [A] */
};

/* Convolutions with a batch norm after them, which evaluation folds into one kernel. */
static void
begin(struct order *o, const struct engine *e, struct engine_dev *dev)
{
	struct rng r = rng_start(3, 0, 0);
	uint32_t x;

	*o = (struct order){ .e = e, .dev = dev, .g = graph_new(3, 6, 6) };
	x = NODE(o->g, 0, CONV, .k = 4, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1));
	x = NODE(o->g, BN(o->g, x, .fix_gamma = false), ACT, .act = GRAPH_RELU);
	NODE(o->g, NODE(o->g, x, FC, .k = 3, .bias = true), SOFTMAX, .k = 0);
	o->v = nets_numbers(o->g, &r, BATCH);
	o->d = nets_floats(o->g->P);
	o->stats = nets_floats(o->g->A);
}

static void
end(struct order *o)
{
	nets_numbers_free(&o->v);
	graph_free(o->g);
	free(o->d);
	free(o->stats);
}

static struct engine_plan *
plan_order(const struct order *o)
{
	struct engine_plan *p;

	nets_must(engine_plan(o->e, o->dev, o->g, BATCH, ENGINE_F32, 0, &p));
	nets_must(nets_load(o->e, p, o->g, &o->v));
	return p;
}

static double
evaluate(const struct order *o, struct engine_plan *p)
{
	struct engine_result r;

	nets_must(o->e->evaluate(p, NETS_SAMPLES(o->g, o->v.x, o->v.y, BATCH), &r, NULL));
	return r.loss;
}

/* A step of n samples, whose gradients are in o->d. */
static void
train(struct order *o, struct engine_plan *p, uint32_t n)
{
	struct engine_result r;

	nets_must(o->e->forward(p, NETS_SAMPLES(o->g, o->v.x, o->v.y, n), NULL, NULL, &r));
	nets_must(o->e->backward(p, o->d, o->stats, NULL));
}

/* Statistics that are loaded while the upload of others may not be complete. */
static void
load_twice(struct order *o)
{
	struct engine_plan *p = plan_order(o);
	float *other = nets_floats(o->g->A);
	double want = evaluate(o, p);

	for (size_t i = 0; i < o->g->A; i++)
		other[i] = 2 * fabsf(o->v.aux[i]) + 1;
	nets_must(o->e->load_aux(p, other));
	ok(fabs(evaluate(o, p) - want) > 1e-3, "%s: other statistics have another loss", o->e->name);
	nets_must(o->e->load_aux(p, other));
	nets_must(o->e->load_aux(p, o->v.aux));
	is(evaluate(o, p), want, "%s: the second of two load_aux() in a row counts", o->e->name);
	o->e->plan_free(p);
	free(other);
}

/* A batch of f32 after one of pixels, with the upload of other pixels on its way. */
static void
replace_prefetched(struct order *o)
{
	struct engine_plan *p = plan_order(o);
	const size_t numbers = BATCH * (size_t)o->g->node[0].c * o->g->node[0].h * o->g->node[0].w;
	uint8_t *pixel = calloc(2, numbers);
	struct samples s = { .n = BATCH, .c = o->g->node[0].c, .h = o->g->node[0].h, .w = o->g->node[0].w,
		.pixel = pixel, .y = o->v.y, .norm = { .by = { 0.01f, 0.01f, 0.01f } } }, next = s;
	float *want = nets_floats(o->g->P);
	struct engine_result r;

	for (size_t i = 0; i < 2 * numbers; i++)
		pixel[i] = (uint8_t)(i * 37);
	next.pixel = pixel + numbers;
	train(o, p, BATCH);
	memcpy(want, o->d, o->g->P * sizeof(*want));
	nets_must(o->e->forward(p, &s, NULL, NULL, &r));
	if (o->e->accel != NULL && o->e->accel->prefetch != NULL)
		o->e->accel->prefetch(p, &next);
	nets_must(o->e->backward(p, o->d, o->stats, NULL));
	train(o, p, BATCH);
	ok(memcmp(want, o->d, o->g->P * sizeof(*want)) == 0,
	    "%s: a batch of f32 has its own gradients although pixels were prefetched", o->e->name);
	o->e->plan_free(p);
	free(pixel);
	free(want);
}

/* Evaluations right after another: of the weights, of the average that is shown in their place, and of the weights. */
static void
show_between(struct order *o, struct engine_plan *p)
{
	double want = evaluate(o, p), shown;

	nets_must(o->e->device_opt->show_average(p, true));
	shown = evaluate(o, p);
	nets_must(o->e->device_opt->show_average(p, false));
	ok(fabs(shown - want) > 1e-4 && evaluate(o, p) == want,
	    "%s: an evaluation after another has the average while it is shown, and then the weights", o->e->name);
}

/* An update, and a mark for the average before anything waits for it. */
static void
mark_at_once(struct order *o)
{
	struct engine_plan *p;
	const struct engine_group range = { 0, o->g->P, 1, 1, 0 };
	float *zeros = nets_floats(o->g->P), *average = nets_floats(o->g->P + o->g->A), *w = nets_floats(o->g->P);
	struct engine_opt how = { .group = &range, .ngroup = 1, .state = zeros, .average = average };
	struct engine_result r;
	uint32_t averaged;

	if (o->e->device_opt == NULL) {
		skip("a mark without samples", "this engine has no device optimizer");
	} else {
		p = plan_order(o);
		opt_usual(OPT_SGD, &how.hyper);
		how.hyper.average.kind = AVERAGE_SWA;
		nets_must(o->e->device_opt->begin(p, &how));
		nets_must(o->e->forward(p, NETS_SAMPLES(o->g, o->v.x, o->v.y, BATCH), NULL, NULL, &r));
		nets_must(o->e->backward(p, NULL, NULL, NULL));
		nets_must(o->e->device_opt->step(p, BATCH, 0.1f, 1, false));
		nets_must(o->e->device_opt->step(p, 0, 0.1f, 1, true));
		nets_must(o->e->device_opt->fetch(p, w, NULL, NULL, average, &averaged));
		ok(averaged == 1 && memcmp(average, w, o->g->P * sizeof(*w)) == 0 &&
		    memcmp(w, o->v.w, o->g->P * sizeof(*w)) != 0,
		    "%s: a mark right after an update takes the updated weights", o->e->name);
		nets_must(o->e->forward(p, NETS_SAMPLES(o->g, o->v.x, o->v.y, BATCH), NULL, NULL, &r));
		nets_must(o->e->backward(p, NULL, NULL, NULL));
		nets_must(o->e->device_opt->step(p, BATCH, 0.1f, 2, false));
		show_between(o, p);
		o->e->plan_free(p);
	}
	free(zeros);
	free(average);
	free(w);
}

/* Steps of two sizes, an evaluation whose kernels may want more memory, and the same steps again. */
static void
evaluate_between(struct order *o)
{
	struct engine_plan *p = plan_order(o);
	const size_t bytes = o->g->P * sizeof(float);
	float *want[2] = { nets_floats(o->g->P), nets_floats(o->g->P) };
	int wrong = 0;

	for (int round = 0; round < 6; round++) {
		for (int k = 0; k < 2; k++) {
			train(o, p, k == 0 ? BATCH : SMALL);
			if (round == 0)
				memcpy(want[k], o->d, bytes);
			wrong += memcmp(want[k], o->d, bytes) != 0;
		}
		if (round == 3)
			evaluate(o, p);
	}
	is(wrong, 0, "%s: steps of two sizes have the same bits before and after an evaluation", o->e->name);
	o->e->plan_free(p);
	free(want[0]);
	free(want[1]);
}

static void
engine(const struct engine *e, struct engine_dev *dev)
{
	struct order o;

	begin(&o, e, dev);
	load_twice(&o);
	replace_prefetched(&o);
	mark_at_once(&o);
	evaluate_between(&o);
	end(&o);
}

int
main(void)
{
	nets_engines(2, engine);
	return done();
}
