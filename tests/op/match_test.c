/*
 * match_test - does every engine compute what ref does?  Each kind of layer, random shapes, batches not all full.
 *
 * The measure is the normalised error |a - b| / |b| of each array, in the 2-norm.  Layer by layer it is a few 1e-7 by
 * direct sums in f32 and a few 1e-6 by Winograd's algorithm (Lavin and Gray, CVPR 2016), twice in a row here.
 *
 * In bf16 both round the same numbers, all that layers hand on; one that stands on the edge between two of bf16 (2^-8
 * apart) may fall on either side, what follows of it is that much off, and a relu or a maximum turns here and there.  So
 * it is the median of the seeds that must be near, and none that may be far; slopes by a rounded y are the most of it.
 * Of a GPU, which rounds elsewhere than ref, all gradients together are measured, against ref in f32.
 */
#include "op/nets.h"

#define SEEDS	8
#define BATCH	5
#define BOUND	3e-5
#define HALF	2e-2
#define TURNED	0.1
#define KEPT	5e-2

struct step {
	struct engine_result train, eval;
	float	*g, *stats, *prob;	/* [P], [A], [n, classes] */
};

struct worst {
	double	 error;
	char	 array[GRAPH_NAME + 16];
	uint64_t seed;
};

static struct step
step(const struct engine *e, struct engine_dev *dev, enum engine_precision precision, const struct graph *g,
    const struct nets_numbers *v, uint32_t n)
{
	struct step s = { .g = nets_floats(g->P), .stats = nets_floats(g->A), .prob = nets_floats(n * g->classes) };
	struct engine_plan *p;

	nets_must(e->plan(dev, g, BATCH, precision, &p));
	nets_must(nets_load(e, p, g, v));
	nets_must(e->forward(p, NETS_SAMPLES(g, v->x, v->y, n), NULL, NULL, &s.train));
	nets_must(e->backward(p, s.g, s.stats, NULL));
	nets_must(e->evaluate(p, NETS_SAMPLES(g, v->x, v->y, n), &s.eval, s.prob));
	e->plan_free(p);
	return s;
}

static void
step_free(struct step *s)
{
	free(s->g);
	free(s->stats);
	free(s->prob);
}

static double
norm(const float *a, const float *b, size_t n)
{
	double sum = 0;

	for (size_t j = 0; j < n; j++) {
		double d = (double)a[j] - (b != NULL ? b[j] : 0);

		sum += d * d;
	}
	return sqrt(sum);
}

static void
note(struct worst *w, double error, const char *array, uint64_t seed)
{
	if (error <= w->error)
		return;
	w->error = error;
	w->seed = seed;
	snprintf(w->array, sizeof(w->array), "%s", array);
}

/* An array whose gradient is 0 but for rounding (a bias before batch norm) is measured by a hundredth of all of g. */
static void
compare(const struct graph *g, const struct step *a, const struct step *b, uint32_t n, uint64_t seed, struct worst *w)
{
	double least = norm(b->g, NULL, g->P) / 100;

	note(w, fabs(a->train.loss - b->train.loss) / b->train.loss, "loss", seed);
	note(w, fabs(a->eval.loss - b->eval.loss) / b->eval.loss, "loss in evaluation", seed);
	note(w, a->train.correct != b->train.correct || a->eval.correct != b->eval.correct, "correct", seed);
	note(w, norm(a->prob, b->prob, n * g->classes) / norm(b->prob, NULL, n * g->classes), "prob", seed);
	if (g->A > 0)
		note(w, norm(a->stats, b->stats, g->A) / norm(b->stats, NULL, g->A), "stats", seed);
	for (uint32_t k = 0; k < g->nw; k++) {
		const struct graph_array *x = &g->w[k];
		double size = norm(b->g + x->first, NULL, x->count);

		note(w, norm(a->g + x->first, b->g + x->first, x->count) / fmax(size, least), x->name, seed);
	}
}

static const struct engine *ref;
static struct engine_dev *ref_dev;

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
each(const struct engine *e, struct engine_dev *dev, enum engine_precision precision)
{
	bool half = precision == ENGINE_BF16;

	for (uint64_t c = 0; c < NETS_CASES; c++) {
		struct worst all = { .error = 0 };
		double errors[SEEDS];

		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			struct rng r = rng_start(2, c, seed);
			struct graph *g = nets_graph(&nets_cases[c], &r, true);
			uint32_t n = any(&r, 1, BATCH);
			struct nets_numbers v = nets_numbers(g, &r, n);
			struct step want = step(ref, ref_dev, precision, g, &v, n);
			struct step got = step(e, dev, precision, g, &v, n);
			struct worst w = { .error = 0 };

			compare(g, &got, &want, n, seed, &w);
			errors[seed] = w.error;
			note(&all, w.error, w.array, seed);
			step_free(&want);
			step_free(&got);
			nets_numbers_free(&v);
			graph_free(g);
		}
		qsort(errors, SEEDS, sizeof(*errors), by_value);
		ok(half ? errors[SEEDS / 2] <= HALF && all.error <= TURNED : all.error <= BOUND, "%s as ref%s: %s", e->name,
		    half ? " in bf16" : "", nets_cases[c].name);
		printf("# median %.1e, worst %.1e: %s, seed %llu\n", errors[SEEDS / 2], all.error, all.array,
		    (unsigned long long)all.seed);
	}
}

/* Are these numbers those of bf16: far from f32's, and the same in two runs? */
static void
half(const struct engine *e, struct engine_dev *dev)
{
	struct rng r = rng_start(3, 0, 0);
	struct graph *g = nets_graph(&nets_cases[1], &r, true);
	struct nets_numbers v = nets_numbers(g, &r, BATCH);
	struct step full = step(e, dev, ENGINE_F32, g, &v, BATCH), a = step(e, dev, ENGINE_BF16, g, &v, BATCH);
	struct step b = step(e, dev, ENGINE_BF16, g, &v, BATCH);
	double off = norm(a.g, full.g, g->P) / norm(full.g, NULL, g->P);

	ok(off > 1e-4 && off < 3e-2, "%s: bf16 is %.1e from f32", e->name, off);
	ok(memcmp(a.g, b.g, g->P * sizeof(*a.g)) == 0 && a.train.loss == b.train.loss, "%s: bf16 twice: the same bits",
	    e->name);
	step_free(&full);
	step_free(&a);
	step_free(&b);
	nets_numbers_free(&v);
	graph_free(g);
}

/* An engine that keeps 16 bits: how far all gradients are from ref's in f32. */
static void
kept(const struct engine *e, struct engine_dev *dev, enum engine_precision precision)
{
	for (uint64_t c = 0; c < NETS_CASES; c++) {
		double off[SEEDS], loss = 0;

		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			struct rng r = rng_start(2, c, seed);
			struct graph *g = nets_graph(&nets_cases[c], &r, true);
			uint32_t n = any(&r, 1, BATCH);
			struct nets_numbers v = nets_numbers(g, &r, n);
			struct step want = step(ref, ref_dev, ENGINE_F32, g, &v, n), got = step(e, dev, precision, g, &v, n);

			off[seed] = nets_distance(got.g, want.g, g->P);
			loss = fmax(loss, fabs(got.train.loss / want.train.loss - 1));
			step_free(&want);
			step_free(&got);
			nets_numbers_free(&v);
			graph_free(g);
		}
		qsort(off, SEEDS, sizeof(*off), by_value);
		ok(off[SEEDS / 2] < KEPT && loss < 2 * KEPT, "%s in %s near ref in f32: %s", e->name,
		    engine_precision_name(precision), nets_cases[c].name);
		printf("# gradients %.1e off in the median, %.1e at worst; loss %.1e\n", off[SEEDS / 2], off[SEEDS - 1], loss);
	}
}

/* Gradients beyond f16's largest number once they are scaled: they come out all the same. */
static void
large(const struct engine *e, struct engine_dev *dev)
{
	struct rng r = rng_start(2, 0, 0);
	struct graph *g = nets_graph(&nets_cases[0], &r, true);
	struct nets_numbers v = nets_numbers(g, &r, BATCH);
	struct step want, got;

	for (size_t j = 0; j < (size_t)BATCH * g->node[0].c * g->node[0].h * g->node[0].w; j++)
		v.x[j] *= 1000;
	for (size_t j = 0; j < g->P; j++)
		v.w[j] *= 0.03f;
	want = step(ref, ref_dev, ENGINE_F32, g, &v, BATCH);
	got = step(e, dev, ENGINE_F16, g, &v, BATCH);
	ok(nets_distance(got.g, want.g, g->P) < KEPT, "%s: gradients too large for f16 as they are scaled: %.1e off", e->name,
	    nets_distance(got.g, want.g, g->P));
	step_free(&want);
	step_free(&got);
	nets_numbers_free(&v);
	graph_free(g);
}

static bool
plans(const struct engine *e, struct engine_dev *dev, const struct graph *g, enum engine_precision precision)
{
	struct engine_plan *p = NULL;
	int err = e->plan(dev, g, 1, precision, &p);

	e->plan_free(p);
	return err == 0;
}

static void
engine(const struct engine *e, struct engine_dev *dev)
{
	struct graph *g = graph_new(1, 1, 1);
	bool bf16, f16;

	NODE(g, 0, SOFTMAX, .k = 0);
	if (e != ref)
		each(e, dev, ENGINE_F32);
	f16 = plans(e, dev, g, ENGINE_F16);
	bf16 = plans(e, dev, g, ENGINE_BF16);
	graph_free(g);
	if (!bf16)
		skip("bf16", err_line());
	else
		half(e, dev);
	/* What computes in f16 is a GPU. */
	if (bf16 && e != ref)
		f16 ? kept(e, dev, ENGINE_BF16) : each(e, dev, ENGINE_BF16);
	if (f16) {
		kept(e, dev, ENGINE_F16);
		large(e, dev);
	}
}

int
main(void)
{
	ref = engine_find("ref");
	nets_must(ref != NULL ? ref->open(0, 1, &ref_dev) : ERR_NOTSUP);
	nets_engines(2, engine);
	ref->close(ref_dev);
	if (tap_run == 0)
		skip("engines against ref", "ref is the only one");
	return done();
}
