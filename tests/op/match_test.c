/*
 * match_test - does every engine compute what ref does?  Each kind of layer, random shapes, full and partial batches.
 *
 * The measure is the normalised error |a - b| / |b| of each array, in the 2-norm.  It is a few 1e-7 for direct sums in
 * f32, and a few 1e-6 for Winograd's algorithm (Lavin and Gray, CVPR 2016), which some nets use twice in a row.
 *
 * In bf16 both engines round the values between layers.  A value near the middle of two bf16 (2^-8 apart) may be
 * rounded to either, and the difference may flip a relu or a maximum.  The bound is therefore on the median of the
 * seeds, with a loose bound on each.  Most of the error comes from derivatives that are computed from a rounded y.
 * GPUs round at other places than ref; for them all gradients together are compared with ref in f32.  Rounding flips a
 * part of the relus and maxima in proportion to the step of the type, and the error is its root.  By exact sums inception
 * blocks have a median of 3.1e-2 and at worst 4.5e-2 in bf16, 1.7e-2 and 2.7e-2 in f16.  A device that rounds otherwise
 * flips others.  The bounds on the median are therefore twice the worst; a line or a tap that is left out costs more.
 */
#include "op/nets.h"

#define SEEDS	8

/* TEST_SEEDS: fewer seeds than SEEDS, for a quick run. */
static uint64_t
seeds(void)
{
	const char *few = getenv("TEST_SEEDS");
	uint64_t n = few != NULL ? strtoull(few, NULL, 10) : SEEDS;

	return n > 0 && n < SEEDS ? n : SEEDS;
}
#define BATCH	5
#define BOUND	3e-5
#define BF16_BOUND	2e-2
#define BF16_WORST	0.1
#define BF16_WINOGRAD	0.3	/* of the blocks alone, whose 3x3 convolutions are wide enough for Winograd's algorithm */
#define GPU_BF16	9e-2
#define GPU_F16	5e-2

struct worst {
	double	 error;
	char	 array[GRAPH_NAME + 16];
	uint64_t seed;
};

static struct nets_step
step(const struct engine *e, struct engine_dev *dev, enum engine_precision precision, const struct graph *g,
    const struct nets_numbers *v, uint32_t n)
{
	struct nets_step s = nets_step_new(g, n);
	struct engine_plan *p;

	nets_must(engine_plan(e, dev, g, BATCH, precision, 0, &p));
	nets_step_run(e, p, g, v, n, &s);
	e->plan_free(p);
	return s;
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

/* A gradient that is 0 but for rounding (a bias before batch norm) is compared with a hundredth of |g|. */
static void
compare(const struct graph *g, const struct nets_step *a, const struct nets_step *b, uint32_t n, uint64_t seed,
    struct worst *w)
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
check_layers(const struct engine *e, struct engine_dev *dev, enum engine_precision precision)
{
	bool bf16 = precision == ENGINE_BF16;

	for (uint64_t c = 0; c < NETS_CASES; c++) {
		struct worst all = { .error = 0 };
		double errors[SEEDS];
		const double most = nets_cases[c].layers == nets_block ? BF16_WINOGRAD : BF16_WORST;

		for (uint64_t seed = 0; seed < seeds(); seed++) {
			struct rng r = rng_start(2, c, seed);
			struct graph *g = nets_graph(&nets_cases[c], &r, true);
			uint32_t n = any(&r, 1, BATCH);
			struct nets_numbers v = nets_numbers(g, &r, n);
			struct nets_step want = step(ref, ref_dev, precision, g, &v, n);
			struct nets_step got = step(e, dev, precision, g, &v, n);
			struct worst w = { .error = 0 };

			compare(g, &got, &want, n, seed, &w);
			errors[seed] = w.error;
			note(&all, w.error, w.array, seed);
			nets_step_free(&want);
			nets_step_free(&got);
			nets_numbers_free(&v);
			graph_free(g);
		}
		qsort(errors, seeds(), sizeof(*errors), by_value);
		ok(bf16 ? errors[seeds() / 2] <= BF16_BOUND && all.error <= most : all.error <= BOUND,
		    "%s is as ref%s: %s", e->name, bf16 ? " in bf16" : "", nets_cases[c].name);
		printf("# median %.1e, worst %.1e: %s, seed %llu\n", errors[seeds() / 2], all.error, all.array,
		    (unsigned long long)all.seed);
	}
}

/* Does bf16 round, and give the same bits in two runs? */
static void
check_bf16(const struct engine *e, struct engine_dev *dev)
{
	struct rng r = rng_start(3, 0, 0);
	struct graph *g = nets_graph(&nets_cases[1], &r, true);
	struct nets_numbers v = nets_numbers(g, &r, BATCH);
	struct nets_step full = step(e, dev, ENGINE_F32, g, &v, BATCH), a = step(e, dev, ENGINE_BF16, g, &v, BATCH);
	struct nets_step b = step(e, dev, ENGINE_BF16, g, &v, BATCH);
	double off = norm(a.g, full.g, g->P) / norm(full.g, NULL, g->P);

	ok(off > 1e-4 && off < 3e-2, "%s: bf16 is %.1e from f32", e->name, off);
	ok(memcmp(a.g, b.g, g->P * sizeof(*a.g)) == 0 && a.train.loss == b.train.loss,
	    "%s: bf16 gives the same bits twice", e->name);
	nets_step_free(&full);
	nets_step_free(&a);
	nets_step_free(&b);
	nets_numbers_free(&v);
	graph_free(g);
}

/* Are the 16-bit gradients of a GPU near those of ref in f32? */
static void
check_gpu(const struct engine *e, struct engine_dev *dev, enum engine_precision precision)
{
	const double bound = precision == ENGINE_BF16 ? GPU_BF16 : GPU_F16;

	for (uint64_t c = 0; c < NETS_CASES; c++) {
		double off[SEEDS], loss = 0;

		for (uint64_t seed = 0; seed < seeds(); seed++) {
			struct rng r = rng_start(2, c, seed);
			struct graph *g = nets_graph(&nets_cases[c], &r, true);
			uint32_t n = any(&r, 1, BATCH);
			struct nets_numbers v = nets_numbers(g, &r, n);
			struct nets_step want = step(ref, ref_dev, ENGINE_F32, g, &v, n);
			struct nets_step got = step(e, dev, precision, g, &v, n);

			off[seed] = nets_distance(got.g, want.g, g->P);
			loss = fmax(loss, fabs(got.train.loss / want.train.loss - 1));
			nets_step_free(&want);
			nets_step_free(&got);
			nets_numbers_free(&v);
			graph_free(g);
		}
		qsort(off, seeds(), sizeof(*off), by_value);
		ok(off[seeds() / 2] < bound && loss < bound, "%s in %s is near ref in f32: %s", e->name,
		    engine_precision_name(precision), nets_cases[c].name);
		printf("# error of gradients: median %.1e, worst %.1e; of the loss %.1e\n", off[seeds() / 2],
		    off[seeds() - 1], loss);
	}
}

/* Gradients whose scaled values overflow f16. */
static void
check_overflow(const struct engine *e, struct engine_dev *dev)
{
	struct rng r = rng_start(2, 0, 0);
	struct graph *g = nets_graph(&nets_cases[0], &r, true);
	struct nets_numbers v = nets_numbers(g, &r, BATCH);
	struct nets_step want, got;

	for (size_t j = 0; j < (size_t)BATCH * g->node[0].c * g->node[0].h * g->node[0].w; j++)
		v.x[j] *= 1000;
	for (size_t j = 0; j < g->P; j++)
		v.w[j] *= 0.03f;
	want = step(ref, ref_dev, ENGINE_F32, g, &v, BATCH);
	got = step(e, dev, ENGINE_F16, g, &v, BATCH);
	ok(nets_distance(got.g, want.g, g->P) < GPU_F16,
	    "%s: gradients that overflow f16 when they are scaled: error %.1e", e->name,
	    nets_distance(got.g, want.g, g->P));
	nets_step_free(&want);
	nets_step_free(&got);
	nets_numbers_free(&v);
	graph_free(g);
}

static bool
plans(const struct engine *e, struct engine_dev *dev, const struct graph *g, enum engine_precision precision)
{
	struct engine_plan *p = NULL;
	int err = engine_plan(e, dev, g, 1, precision, 0, &p);

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
		check_layers(e, dev, ENGINE_F32);
	f16 = plans(e, dev, g, ENGINE_F16);
	bf16 = plans(e, dev, g, ENGINE_BF16);
	graph_free(g);
	if (!bf16)
		skip("bf16", err_line());
	else
		check_bf16(e, dev);
	/* Only GPUs compute in f16. */
	if (bf16 && e != ref)
		f16 ? check_gpu(e, dev, ENGINE_BF16) : check_layers(e, dev, ENGINE_BF16);
	if (f16) {
		check_gpu(e, dev, ENGINE_F16);
		check_overflow(e, dev);
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
		skip("engines against ref", "ref is the only engine");
	return done();
}
