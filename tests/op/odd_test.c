/*
 * odd_test - convolutions that some kernels of oneDNN compute wrongly, in f32, and in bf16 without AMX: 1x1 with odd
 * numbers of channels or with strides, samples narrower than the stride, one channel into one column.
 */
#include "op/nets.h"

#define BATCH	3

/* A convolution of c channels and h x w. */
struct odd {
	uint32_t c, h, w, k, r, stride[2], pad;
};

static struct graph *
net(const struct odd *o)
{
	struct graph *g = graph_new(3, o->h, o->w);
	uint32_t x;

	nets_must(g != NULL ? 0 : ERR_NOMEM);
	x = NODE(g, 0, CONV, .k = o->c, .r = 1, .s = 1, .stride = GRAPH_BOTH(1), .bias = true);
	x = NODE(g, x, CONV, .k = o->k, .r = o->r, .s = o->r, .stride = { o->stride[0], o->stride[1] },
	    .pad = GRAPH_BOTH(o->pad), .bias = true);
	x = BN(g, x, .fix_gamma = false);
	x = NODE(g, x, FC, .k = 4, .bias = true);
	NODE(g, x, SOFTMAX, .smooth = 0);
	return g;
}

static float *
gradients(const char *name, enum engine_precision precision, const struct graph *g, const struct nets_numbers *v)
{
	const struct engine *e = engine_find(name);
	float *to = nets_floats(g->P), *stats = nets_floats(g->A);
	struct engine_result result;
	struct engine_dev *dev;
	struct engine_plan *p;

	nets_must(e != NULL ? e->open(0, 1, &dev) : ERR_NOTSUP);
	nets_must(engine_plan(e, dev, g, BATCH, precision, 0, &p));
	nets_must(nets_load(e, p, g, v));
	nets_must(e->forward(p, NETS_SAMPLES(g, v->x, v->y, BATCH), NULL, NULL, &result));
	nets_must(e->backward(p, to, stats, NULL));
	e->plan_free(p);
	e->close(dev);
	free(stats);
	return to;
}

static void
check(enum engine_precision precision, struct odd o)
{
	struct rng r = rng_start(5, o.k, o.h);
	struct graph *g = net(&o);
	struct nets_numbers v = nets_numbers(g, &r, BATCH);
	float *got = gradients("cpu", precision, g, &v), *want = gradients("ref", precision, g, &v);
	double off = nets_distance(got, want, g->P);

	ok(off < (precision == ENGINE_BF16 ? 5e-3 : 1e-5),
	    "%s: %u channels of %ux%u to %u, %ux%u stride %u,%u: error %.1e",
	    engine_precision_name(precision), o.c, o.h, o.w, o.k, o.r, o.r, o.stride[0], o.stride[1], off);
	free(got);
	free(want);
	nets_numbers_free(&v);
	graph_free(g);
}

static void
check_all(enum engine_precision precision)
{
	for (uint32_t k = 19; k <= 45; k += 13)
		for (uint32_t side = 14; side <= 15; side++)
			check(precision, (struct odd){ 31, side, side, k, 1, { 1, 1 }, 0 });
	check(precision, (struct odd){ 31, 15, 15, 21, 1, { 1, 1 }, 0 });
	check(precision, (struct odd){ 31, 30, 30, 31, 1, { 1, 1 }, 0 });
	check(precision, (struct odd){ 6, 6, 14, 12, 1, { 2, 2 }, 0 });
	check(precision, (struct odd){ 11, 8, 34, 34, 1, { 2, 2 }, 0 });
	check(precision, (struct odd){ 33, 17, 1, 16, 5, { 2, 2 }, 2 });
	check(precision, (struct odd){ 16, 5, 2, 32, 3, { 3, 3 }, 1 });
	check(precision, (struct odd){ 1, 5, 1, 48, 3, { 1, 3 }, 2 });
	check(precision, (struct odd){ 1, 8, 2, 22, 3, { 1, 2 }, 1 });
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
	err = engine_plan(e, dev, g, 1, ENGINE_BF16, 0, &p);
	e->plan_free(p);
	e->close(dev);
	graph_free(g);
	return err == 0;
}

int
main(void)
{
	setenv("TALLY_MAX_ISA", "avx512_core_bf16", 1);
	check_all(ENGINE_F32);
	if (has_bf16())
		check_all(ENGINE_BF16);
	else
		skip("odd convolutions in bf16", err_line());
	return done();
}
