/*
 * layer_test - does each engine compute values worked out by hand?  Edges and ties that random nets miss.
 *
 * The test reads a layer's output through the fc after it: for one sample the weight gradient of the fc is dy x and
 * its bias gradient dy, so x is their quotient.
 */
#include "op/nets.h"

#define MOST 64	/* floats of the largest output */

struct bench {
	const struct engine *e;
	struct engine_dev *dev;
	struct engine_plan *p;
	struct graph *g;
	enum engine_precision precision;
	float	 w[512], g_out[512], aux[16], stats[16];
};

/* Completes the net after node x with fc and loss, and plans it.  All weights are 1, but those of fc differ. */
static int
plan(struct bench *b, uint32_t x, uint32_t batch)
{
	const struct graph_array *last;

	x = NODE(b->g, x, FC, .k = 2, .bias = true);
	NODE(b->g, x, SOFTMAX, .k = 0);
	for (size_t j = 0; j < b->g->P; j++)
		b->w[j] = 1;
	last = &b->g->w[b->g->nw - 2];
	for (size_t j = 0; j < last->count; j++)
		b->w[last->first + j] = 0.01f * (float)((j * j + 1) % 11);	/* or a sum over a layer may be 0 */
	return engine_plan(b->e, b->dev, b->g, batch, b->precision, 0, &b->p);
}

static void
ready(struct bench *b, uint32_t x, uint32_t batch)
{
	nets_must(plan(b, x, batch));
}

static void
load(struct bench *b)
{
	struct nets_numbers v = { .w = b->w, .aux = b->aux };

	nets_must(nets_load(b->e, b->p, b->g, &v));
}

static void
clear(struct bench *b)
{
	b->e->plan_free(b->p);
	graph_free(b->g);
	b->p = NULL;
	b->g = NULL;
}

/* Runs one training step on one sample.  out [n] gets the output of the layer before fc. */
static void
outputs(struct bench *b, const float *x, float *out, size_t n)
{
	const struct graph_array *w = &b->g->w[b->g->nw - 2], *bias = &b->g->w[b->g->nw - 1];
	struct engine_result r;

	load(b);
	for (size_t j = 0; j < b->g->P; j++)
		b->g_out[j] = NAN;	/* the engine must overwrite all of it */
	nets_must(b->e->forward(b->p, NETS_SAMPLES(b->g, x, (int32_t[]){ 0 }, 1), NULL, NULL, &r));
	nets_must(b->e->backward(b->p, b->g_out, b->stats, NULL));
	for (size_t j = 0; j < n; j++)
		out[j] = b->g_out[w->first + j] / b->g_out[bias->first];
}

/* Is each value within 2e-6 of the expected one? */
static void
same(const float *got, const float *want, size_t n, const char *engine, const char *what)
{
	size_t bad = n;

	for (size_t j = 0; j < n; j++)
		if (!(fabs((double)got[j] - want[j]) <= 2e-6 * fabs(want[j]) + 1e-12))
			bad = j;
	if (!ok(bad == n, "%s: %s", engine, what))
		printf("# at %zu: got %.9g, want %.9g\n", bad, got[bad], want[bad]);
}

static const float plus[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 }, minus[] = { -1, -2, -3, -4, -5, -6, -7, -8, -9 };

/* Runs one layer on a sample of one channel, 3x3. */
static void
on3x3(struct bench *b, struct graph_node like, const float *w, const float *x, const float *want, size_t n,
	const char *what)
{
	float out[MOST];

	b->g = graph_new(1, 3, 3);
	ready(b, nets_node(b->g, 0, like), 1);
	for (size_t j = 0; w != NULL && j < b->g->w[b->g->nw - 2].first; j++)
		b->w[j] = w[j];
	outputs(b, x, out, n);
	same(out, want, n, b->e->name, what);
	clear(b);
}

static void
pools(struct bench *b)
{
	struct graph_node max = { .op = GRAPH_POOL, .pool = GRAPH_MAX, .r = 2, .s = 2, .stride = GRAPH_BOTH(2) };
	struct graph_node avg = { .op = GRAPH_POOL, .pool = GRAPH_AVG, .r = 2, .s = 2, .stride = GRAPH_BOTH(2) };

	on3x3(b, max, NULL, plus, (float[]){ 5 }, 1, "max rounded down ignores the last line");
	on3x3(b, avg, NULL, plus, (float[]){ 3 }, 1, "average rounded down ignores the last line");
	max.ceil = avg.ceil = true;
	on3x3(b, max, NULL, plus, (float[]){ 5, 6, 8, 9 }, 4, "max rounded up clips the last windows");
	on3x3(b, avg, NULL, plus, (float[]){ 3, 9 / 4.f, 15 / 4.f, 9 / 4.f }, 4,
	    "average rounded up divides clipped windows by r s");
	max.r = max.s = avg.r = avg.s = 3;
	max.pad[0] = max.pad[1] = avg.pad[0] = avg.pad[1] = 1;
	on3x3(b, max, NULL, minus, (float[]){ -1, -2, -4, -5 }, 4, "max: padding never wins over negative values");
	on3x3(b, avg, NULL, plus, (float[]){ 12 / 9.f, 16 / 9.f, 24 / 9.f, 28 / 9.f }, 4,
	    "average divides padded windows by r s");
	avg.r = 2;
	avg.stride[0] = avg.stride[1] = 1;
	on3x3(b, avg, NULL, plus, (float[]){ 3 / 6.f, 6 / 6.f, 5 / 6.f, 12 / 6.f }, 4,
	    "average of windows of 2x3");
}

/* Padded: 0 0 0 0 0 | 0 1 2 3 0 | 0 4 5 6 0 | 0 7 8 9 0 | ..., windows at lines 0 and 2, columns 0 and 2. */
static void
conv(struct bench *b)
{
	struct graph_node like = { .op = GRAPH_CONV, .k = 1, .r = 2, .s = 3, .stride = GRAPH_BOTH(2),
	    .pad = GRAPH_BOTH(1), .bias = true };
	const float w[] = { 0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.5f };

	on3x3(b, like, w, plus, (float[]){ 2.2f, 2.8f, 11.1f, 9.9f }, 4,
	    "convolution of 2x3 with stride 2 and pad 1 does not rotate its weights");
}

/* From the saturation on one side to that on the other, with values near 0. */
static void
acts(struct bench *b)
{
	const float x[] = { -100, -20, -0.7f, -1e-3f, 0, 1e-6f, 0.6f, 3, 100 };
	const char *const what[] = { "relu", "tanh", "sigmoid" };

	for (int act = GRAPH_RELU; act <= GRAPH_SIGMOID; act++) {
		float want[9];

		for (int j = 0; j < 9; j++)
			want[j] = act == GRAPH_RELU ? fmaxf(x[j], 0) : act == GRAPH_TANH ? (float)tanh(x[j]) :
			    (float)(1 / (1 + exp(-(double)x[j])));
		on3x3(b, (struct graph_node){ .op = GRAPH_ACT, .act = (enum graph_act)act }, NULL, x, want, 9,
		    what[act]);
	}
}

/* A window of 300x300 has more elements than 16 bits can number.  The largest is the last.  An average numbers none. */
static void
wide_pool(struct bench *b, enum graph_pool pool, const char *what)
{
	enum { SIDE = 300, ALL = SIDE * SIDE };
	float *x = nets_floats(2 * ALL);
	struct engine_result r;
	uint32_t at;

	b->g = graph_new(2, SIDE, SIDE);
	at = NODE(b->g, 0, CONV, .k = 1, .r = 1, .s = 1, .stride = GRAPH_BOTH(1));
	at = NODE(b->g, at, POOL, .pool = pool, .r = SIDE, .s = SIDE, .stride = GRAPH_BOTH(1));
	if (plan(b, at, 1) == ERR_NOTSUP) {
		ok(strstr(err_line(), "n2") != NULL && (pool == GRAPH_MAX || strcmp(b->e->name, "cpu") != 0),
		    "%s: the plan refuses %s of 300x300: %s", b->e->name, what, err_line());
	} else {
		b->w[1] = 0;
		x[ALL - 1] = 0.5f;
		x[2 * ALL - 1] = 1;
		load(b);
		nets_must(b->e->forward(b->p, NETS_SAMPLES(b->g, x, (int32_t[]){ 0 }, 1), NULL, NULL, &r));
		nets_must(b->e->backward(b->p, b->g_out, b->stats, NULL));
		near(b->g_out[0] / b->g_out[1], 0.5, 1e-6, "%s: %s of 300x300", b->e->name, what);
	}
	free(x);
	clear(b);
}

/* 1..9: mean 5, variance 60/9. */
static void
bn_train(struct bench *b)
{
	const struct graph_node like = { .op = GRAPH_BN, .eps = 0.05f, .momentum = 0.9f };
	struct graph_node fixed = like;
	float want[9], fixed_want[9], far[9];

	fixed.fix_gamma = true;
	for (int j = 0; j < 9; j++) {
		fixed_want[j] = (plus[j] - 5) / sqrtf(60 / 9.f + 0.05f) + 0.25f;
		want[j] = 2 * (fixed_want[j] - 0.25f) + 0.25f;
	}
	on3x3(b, like, (float[]){ 2, 0.25f }, plus, want, 9, "batch norm uses the batch's mean and biased variance");
	same(b->stats, (float[]){ 5, 60 / 9.f }, 2, b->e->name, "backward returns the batch's mean and variance");
	ok(b->g_out[0] != 0, "%s: gamma has a gradient", b->e->name);
	for (int j = 0; j < 9; j++)
		far[j] = plus[j] + 65536;
	on3x3(b, like, (float[]){ 2, 0.25f }, far, far, 0, "batch norm of values far from 0");
	same(b->stats, (float[]){ 65541, 60 / 9.f }, 2, b->e->name,
	    "the variance of values far from 0 keeps its digits");
	on3x3(b, fixed, (float[]){ 2, 0.25f }, plus, fixed_want, 9, "a fixed gamma is 1, whatever was loaded");
	ok(b->g_out[0] == 0, "%s: the gradient of a fixed gamma is 0", b->e->name);
}

/* data -> bn -> fc with weights (1, 0): log(p0 / p1) is the output of bn. */
static void
bn_evaluate(struct bench *b)
{
	struct engine_result r;
	float prob[6], x[] = { -1, 0.5f, 3 }, y[3], want[3];
	int32_t label[] = { 0, 1, 0 };
	uint32_t at;

	b->g = graph_new(1, 1, 1);
	at = NODE(b->g, 0, BN, .eps = 0.05f, .momentum = 0.9f);
	ready(b, at, 3);
	memcpy(b->w, (float[]){ 2, 0.25f, 1, 0, 0, 0 }, 6 * sizeof(float));
	memcpy(b->aux, (float[]){ 0.5f, 1.5f }, 2 * sizeof(float));
	load(b);
	nets_must(b->e->evaluate(b->p, NETS_SAMPLES(b->g, x, label, 3), &r, prob));
	for (int j = 0; j < 3; j++) {
		y[j] = logf(prob[2 * j] / prob[2 * j + 1]);
		want[j] = 2 * (x[j] - 0.5f) / sqrtf(1.55f) + 0.25f;
	}
	same(y, want, 3, b->e->name, "evaluation uses the running mean and variance");
	clear(b);
}

/* Runs a net whose two scores are w0 and w1. */
static struct engine_result
scores(struct bench *b, float w0, float w1, int32_t label, float prob[2])
{
	struct engine_result train, eval;

	b->g = graph_new(1, 1, 1);
	ready(b, 0, 1);
	memcpy(b->w, (float[]){ w0, w1, 0, 0 }, 4 * sizeof(float));
	load(b);
	nets_must(b->e->forward(b->p, NETS_SAMPLES(b->g, (float[]){ 1 }, &label, 1), NULL, NULL, &train));
	nets_must(b->e->backward(b->p, b->g_out, b->stats, NULL));
	nets_must(b->e->evaluate(b->p, NETS_SAMPLES(b->g, (float[]){ 1 }, &label, 1), &eval, prob));
	ok((fabs(train.loss - eval.loss) < 1e-6 || isnan(w0)) && train.correct == eval.correct,
	    "%s: scores %g and %g: training and evaluation agree", b->e->name, w0, w1);
	clear(b);
	return train;
}

static void
softmax(struct bench *b)
{
	const char *name = b->e->name;
	struct engine_result r;
	float prob[2];

	r = scores(b, 2, 1, 1, prob);
	near(r.loss, 1 + log1p(exp(-1)), 1e-6, "%s: the loss is -log p[label]", name);
	near(prob[0] + prob[1], 1, 1e-6, "%s: probabilities add up to 1", name);
	near(b->g_out[0], prob[0], 1e-6, "%s: the gradient of another class is p", name);
	near(b->g_out[1], prob[1] - 1.0, 1e-6, "%s: the gradient of the label is p - 1", name);
	is(r.correct, 0, "%s: the larger score wins", name);
	r = scores(b, 3, 3, 0, prob);
	is(r.correct, 1, "%s: the lowest class of equal probabilities wins", name);
	is(scores(b, 3, 3, 1, prob).correct, 0, "%s: no other class of equal probabilities wins", name);
	is(scores(b, (float)NAN, 3, 0, prob).correct, 0, "%s: NaN scores are not correct", name);
	r = scores(b, 1000, -1000, 1, prob);
	near(r.loss, 2000, 1e-3, "%s: the loss of scores 2000 apart is large, not infinite", name);
	ok(prob[0] == 1 && prob[1] == 0, "%s: the probabilities of scores 2000 apart are finite", name);
	near(b->g_out[1], -1, 1e-6, "%s: the gradient of scores 2000 apart is finite", name);
}

/* The gradient of a 1x1 convolution's weight is the sum of x dx, so x shows which elements got the gradient. */
static void
ties(struct bench *b)
{
	const float x[8] = { 1, 2, 4, 8, 1, 1, 1, 1 };
	struct engine_result r;
	uint32_t at;

	b->g = graph_new(2, 2, 2);
	at = NODE(b->g, 0, CONV, .k = 1, .r = 1, .s = 1, .stride = GRAPH_BOTH(1));
	at = NODE(b->g, at, POOL, .pool = GRAPH_MAX, .r = 2, .s = 2, .stride = GRAPH_BOTH(1));
	ready(b, at, 1);
	b->w[0] = 0;	/* all four are equal: 0 x + 1 */
	load(b);
	nets_must(b->e->forward(b->p, NETS_SAMPLES(b->g, x, (int32_t[]){ 0 }, 1), NULL, NULL, &r));
	nets_must(b->e->backward(b->p, b->g_out, b->stats, NULL));
	near(b->g_out[0] / b->g_out[1], 1, 1e-6, "%s: max gives the gradient to the first of equal values", b->e->name);
	clear(b);
}

static void
corner(struct bench *b)
{
	uint32_t at;

	b->g = graph_new(1, 2, 2);
	at = NODE(b->g, 0, CONV, .k = 1, .r = 1, .s = 1, .stride = GRAPH_BOTH(1));
	at = NODE(b->g, at, ACT, .act = GRAPH_RELU);
	ready(b, at, 1);
	b->w[0] = 0;
	outputs(b, (float[]){ 1, 2, 3, 4 }, (float[1]){ 0 }, 1);
	ok(b->g_out[0] == 0, "%s: relu's derivative at 0 is 0", b->e->name);
	clear(b);
}

/* NaN reaches the loss in training and evaluation, so that a broken net does not predict. */
static void
check_nan(struct bench *b, uint32_t x, const float sample[9], const char *what)
{
	struct engine_result train, eval;
	int32_t label = 0;

	ready(b, x, 1);
	load(b);
	nets_must(b->e->forward(b->p, NETS_SAMPLES(b->g, sample, &label, 1), NULL, NULL, &train));
	nets_must(b->e->evaluate(b->p, NETS_SAMPLES(b->g, sample, &label, 1), &eval, NULL));
	ok(isnan(train.loss) && isnan(eval.loss) && train.correct + eval.correct == 0,
	    "%s: %s: %s passes NaN on", b->e->name, engine_precision_name(b->precision), what);
	clear(b);
}

static uint32_t
fresh(struct bench *b)
{
	b->g = graph_new(1, 3, 3);
	return 0;
}

static void
nan_layers(struct bench *b)
{
	const struct graph_node relu = { .op = GRAPH_ACT, .act = GRAPH_RELU };
	float x[9];
	uint32_t at;

	for (size_t j = 0; j < 9; j++) {
		memcpy(x, j % 2 == 0 ? plus : minus, sizeof(x));
		x[j] = (float)NAN;
		at = fresh(b);
		at = NODE(b->g, at, POOL, .pool = GRAPH_MAX, .r = 3, .s = 3, .stride = GRAPH_BOTH(1));
		check_nan(b, at, x, "max");
	}
	at = fresh(b);
	check_nan(b, nets_node(b->g, at, relu), x, "relu");
	at = fresh(b);
	at = BN(b->g, at, .fix_gamma = false);
	check_nan(b, nets_node(b->g, at, relu), x, "relu after batch norm");
	at = fresh(b);
	at = NODE(b->g, at, ACT, .act = GRAPH_TANH);
	check_nan(b, nets_node(b->g, ADD(b->g, 0, at), relu), x, "relu after a sum");
	at = fresh(b);
	at = NODE(b->g, at, ACT, .act = GRAPH_TANH);
	check_nan(b, nets_node(b->g, MUL(b->g, 0, at), relu), x, "relu after a product");
	at = fresh(b);
	check_nan(b, NODE(b->g, at, LRN, .size = 3, .alpha = 1, .power = 0.5f, .knorm = 1), x, "lrn");
	for (int act = GRAPH_TANH; act <= GRAPH_SWISH; act++) {
		at = fresh(b);
		check_nan(b, NODE(b->g, at, ACT, .act = (enum graph_act)act, .alpha = 0.5f), x, "an activation");
	}
}

static void
engine(const struct engine *e, struct engine_dev *dev)
{
	struct bench b = { .e = e, .dev = dev }, bf16 = { .e = e, .dev = dev, .precision = ENGINE_BF16 };

	conv(&b);
	acts(&b);
	corner(&b);
	pools(&b);
	ties(&b);
	wide_pool(&b, GRAPH_MAX, "max");
	wide_pool(&b, GRAPH_AVG, "average");
	bn_train(&b);
	bn_evaluate(&b);
	softmax(&b);
	nan_layers(&b);
	if (plan(&bf16, fresh(&bf16), 1) == ERR_NOTSUP) {
		skip("NaN in bf16", err_line());
		clear(&bf16);
	} else {
		clear(&bf16);
		nan_layers(&bf16);
	}
}

int
main(void)
{
	nets_engines(1, engine);
	return done();
}
