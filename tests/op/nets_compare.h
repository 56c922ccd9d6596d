/* nets_compare - compares a training step of a plan with that of the engine ref. */
#ifndef TESTS_OP_NETS_COMPARE_H
#define TESTS_OP_NETS_COMPARE_H

#include "op/nets.h"

#include "net/freeze.h"

static const struct engine *nets_ref;
static struct engine_dev *nets_ref_dev;

static void
nets_ref_open(void)
{
	nets_ref = engine_find("ref");
	nets_must(nets_ref->open(0, 1, &nets_ref_dev));
}

static void
nets_ref_close(void)
{
	nets_ref->close(nets_ref_dev);
}

/* A convolution of taps x taps with stride 1, whose output is as large as its input. */
static uint32_t
nets_convolve(struct graph *g, uint32_t x, uint32_t k, uint32_t taps, bool bias)
{
	return NODE(g, x, CONV, .k = k, .r = taps, .s = taps, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(taps / 2),
	    .bias = bias);
}

/* Only ref computes the gradients of frozen arrays. */
static void
nets_clear_frozen(const struct graph *g, float *d)
{
	for (uint32_t i = 0; i < g->n; i++) {
		const struct graph_node *l = &g->node[i];

		if (l->op != GRAPH_BN || !freeze_node(g, i))
			continue;
		memset(d + g->w[l->gamma].first, 0, l->c * sizeof(*d));
		memset(d + g->w[l->beta].first, 0, l->c * sizeof(*d));
	}
}

static double
nets_norm(const float *p, size_t n)
{
	double sum = 0;

	for (size_t j = 0; j < n; j++)
		sum += (double)p[j] * p[j];
	return sqrt(sum);
}

/*
 * The largest relative error of an array's gradient, in the 2-norm; NaN if one is NaN.  An array whose gradient is less
 * than a hundredth of all counts as if it were that.
 */
static double
nets_array_error(const struct graph *g, const float *got, const float *want)
{
	const double least = 0.01 * nets_norm(want, g->P);
	double worst = 0;

	for (uint32_t a = 0; a < g->nw; a++) {
		double size = nets_norm(want + g->w[a].first, g->w[a].count), off = 0;

		for (size_t j = g->w[a].first; j < g->w[a].first + g->w[a].count; j++)
			off += ((double)got[j] - want[j]) * ((double)got[j] - want[j]);
		off = sqrt(off) / (size > least ? size : least);
		worst = off <= worst ? worst : off;
		if (worst != worst)
			break;
	}
	return worst;
}

/*
 * Compares loss, gradients and scores of n samples.  The plan p has room for `batch`.  The bound is that of relative
 * errors of scores, loss and all gradients together.  That of one array may be three times as large, because values near
 * the corner of a ReLU or maximum change sides.
 */
static void
nets_compare(const struct engine *e, struct engine_plan *p, const char *name, const struct graph *g,
    const struct nets_numbers *v, uint32_t batch, uint32_t n, double bound)
{
	struct engine_plan *ref_plan;
	struct nets_step got = nets_step_new(g, n), want = nets_step_new(g, n);
	double gradient, array, prob, loss;

	nets_must(engine_plan(nets_ref, nets_ref_dev, g, batch, ENGINE_F32, 0, &ref_plan));
	nets_step_run(e, p, g, v, n, &got);
	nets_step_run(nets_ref, ref_plan, g, v, n, &want);
	nets_clear_frozen(g, want.g);
	gradient = nets_distance(got.g, want.g, g->P);
	array = nets_array_error(g, got.g, want.g);
	prob = nets_distance(got.prob, want.prob, n * g->classes);
	loss = fabs(got.train.loss - want.train.loss) / want.train.loss;
	if (!ok(gradient <= bound && array <= 3 * bound && prob <= bound && loss <= bound,
	    "%s: a batch of %u is as ref", name, n))
		printf("# relative errors %.1e of gradients, %.1e of an array, %.1e of scores, %.1e of the loss\n", gradient,
		    array, prob, loss);
	nets_ref->plan_free(ref_plan);
	nets_step_free(&got);
	nets_step_free(&want);
}

/*
 * Compares a full batch and a short one of the net g, which it frees, and checks whether the plan has this step.  also:
 * further checks of the plan, or NULL.
 */
static void
nets_compare_net(const struct engine *e, struct engine_dev *dev, struct graph *g, enum engine_precision precision,
    const char *net, uint64_t seed, uint32_t how, const char *step, bool has,
    void (*also)(const struct engine *e, const struct engine_plan *p, const struct graph *g, const char *name))
{
	const uint32_t batch = 5;
	const double bound = precision == ENGINE_F32 ? 1e-5 : 0.1;
	struct rng r = rng_start(seed, how, 0);
	struct nets_numbers v = nets_numbers(g, &r, batch);
	struct engine_plan *p;
	char name[80];

	snprintf(name, sizeof(name), "%s%s", net, precision == ENGINE_F32 ? "" : " in bf16");
	if ((p = nets_plan(e, dev, g, batch, precision, name)) != NULL) {
		nets_compare(e, p, name, g, &v, batch, batch, bound);
		nets_compare(e, p, name, g, &v, batch, 2, bound);
		ok(nets_explains(e, p, step) == has, "%s: there is %s step %s", name, has ? "a" : "no", step);
		if (also != NULL)
			also(e, p, g, name);
		e->plan_free(p);
	}
	nets_numbers_free(&v);
	graph_free(g);
}

/* Calls compare() for the cases [0, cases) in both precisions, with a device of two threads. */
static void
nets_compare_cases(uint32_t cases,
    void (*compare)(const struct engine *e, struct engine_dev *dev, uint32_t how, enum engine_precision precision))
{
	const struct engine *e = engine_find("cpu");
	struct engine_dev *dev;

	nets_ref_open();
	nets_must(e->open(0, 2, &dev));
	for (uint32_t how = 0; how < cases; how++) {
		compare(e, dev, how, ENGINE_F32);
		compare(e, dev, how, ENGINE_BF16);
	}
	e->close(dev);
	nets_ref_close();
}

#endif
