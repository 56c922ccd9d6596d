/* seam_test - does each engine do what engine.h says?  Hooks, bits, partial batches, updates, texts. */
#include "op/nets.h"

#include "base/buf.h"

#define BATCH	4
#define ARRAYS	64	/* more than the net has */

/* An engine with a plan for a net of many kinds of layers, and the results of a step. */
struct seam {
	const struct engine *e;
	struct engine_dev *dev;
	struct engine_plan *p;
	struct graph *g;
	struct nets_numbers v;
	float	*x;		/* the samples lent to the engine, overwritten after each call */
	int32_t	 y[BATCH];
	float	*d, *stats, *prob;
	struct engine_result train, eval;
	/* Calls of the hooks for each array, and the order of the second. */
	uint32_t needed[ARRAYS], ready[ARRAYS], order[ARRAYS], nready;
	float	*alone;		/* [A] from statistics() */
	float	*when_ready;	/* [P] each array's gradient when grad_ready was called */
	uint32_t fail_after;	/* the hook call with this number, from 1, fails; 0: none */
};

static struct graph *
net(struct rng *r)
{
	struct graph *g = graph_new(3, 12, 10);
	uint32_t x = NODE(g, 0, CONV, .k = 20, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1),
	    .bias = true);

	x = NODE(g, BN(g, x, .fix_gamma = true), ACT, .act = GRAPH_RELU);
	x = nets_block(g, r, x, true);
	x = NODE(g, x, CONV, .k = 40, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1));
	x = NODE(g, x, ACT, .act = GRAPH_SIGMOID);
	x = NODE(g, x, FC, .k = 17, .bias = true);
	x = NODE(g, x, ACT, .act = GRAPH_TANH);
	x = NODE(g, x, FC, .k = 9, .bias = true);
	NODE(g, x, SOFTMAX, .k = 0);
	return g;
}

static size_t
sample_size(const struct graph *g)
{
	return (size_t)g->node[0].c * g->node[0].h * g->node[0].w;
}

/* Loads a copy of w, and then overwrites the copy. */
static void
load(struct seam *s, const float *w)
{
	struct nets_numbers v = { .w = nets_floats(s->g->P), .aux = nets_floats(s->g->A) };

	memcpy(v.w, w, s->g->P * sizeof(float));
	memcpy(v.aux, s->v.aux, s->g->A * sizeof(float));
	nets_must(nets_load(s->e, s->p, s->g, &v));
	for (size_t j = 0; j < s->g->P; j++)
		v.w[j] = NAN;
	for (size_t j = 0; j < s->g->A; j++)
		v.aux[j] = NAN;
	nets_numbers_free(&v);
}

static void
begin(struct seam *s, const struct engine *e, struct engine_dev *dev, uint32_t batch)
{
	struct rng r = rng_start(3, 0, 0);

	*s = (struct seam){ .e = e, .dev = dev, .g = net(&r) };
	nets_must(s->g->nw <= ARRAYS ? 0 : ERR_LIMIT);
	s->v = nets_numbers(s->g, &r, BATCH);
	s->x = nets_floats(BATCH * sample_size(s->g));
	s->d = nets_floats(s->g->P);
	s->stats = nets_floats(s->g->A);
	s->prob = nets_floats(BATCH * s->g->classes);
	s->when_ready = nets_floats(s->g->P);
	s->alone = nets_floats(s->g->A);
	nets_must(engine_plan(e, dev, s->g, batch, ENGINE_F32, 0, &s->p));
}

static void
end(struct seam *s)
{
	s->e->plan_free(s->p);
	graph_free(s->g);
	nets_numbers_free(&s->v);
	free(s->x);
	free(s->d);
	free(s->stats);
	free(s->prob);
	free(s->when_ready);
	free(s->alone);
}

static bool
fails(struct seam *s)
{
	return s->fail_after > 0 && --s->fail_after == 0;
}

static int
need(void *arg, uint32_t a)
{
	struct seam *s = arg;

	s->needed[a]++;
	if (fails(s))
		return ERR_STOP;
	return s->e->load(s->p, a, s->v.w + s->g->w[a].first);
}

static int
ready(void *arg, uint32_t a)
{
	struct seam *s = arg;
	const struct graph_array *w = &s->g->w[a];

	s->ready[a]++;
	s->order[s->nready++ % ARRAYS] = a;
	memcpy(s->when_ready + w->first, s->d + w->first, w->count * sizeof(float));
	return fails(s) ? 42 : 0;
}

/* Lends a batch of n, followed by NaN and invalid labels that the engine must not read. */
static void
lend(struct seam *s, uint32_t n)
{
	for (size_t j = 0; j < BATCH * sample_size(s->g); j++)
		s->x[j] = j < n * sample_size(s->g) ? s->v.x[j] : NAN;
	for (uint32_t j = 0; j < BATCH; j++)
		s->y[j] = j < n ? s->v.y[j] : INT32_MAX;
}

/* Runs a training step of n samples.  The gradients start as NaN, so the engine must overwrite all. */
static int
step(struct seam *s, uint32_t n, bool hooks)
{
	const struct engine_hook hook = { .arg = s, .param_needed = need, .grad_ready = ready };
	int e;

	for (size_t j = 0; j < s->g->P; j++)
		s->d[j] = s->when_ready[j] = NAN;
	for (size_t j = 0; j < s->g->A; j++)
		s->stats[j] = s->alone[j] = NAN;
	memset(s->needed, 0, sizeof(s->needed));
	memset(s->ready, 0, sizeof(s->ready));
	s->nready = 0;
	lend(s, n);
	if ((e = s->e->forward(s->p, NETS_SAMPLES(s->g, s->x, s->y, n), NULL, hooks ? &hook : NULL, &s->train)) != 0)
		return e;
	lend(s, 0);
	if ((e = s->e->statistics(s->p, s->alone)) != 0)
		return e;
	return s->e->backward(s->p, s->d, s->stats, hooks ? &hook : NULL);
}

static void
evaluate(struct seam *s, uint32_t n)
{
	lend(s, n);
	nets_must(s->e->evaluate(s->p, NETS_SAMPLES(s->g, s->x, s->y, n), &s->eval, s->prob));
}

static bool
same(const struct seam *a, const struct seam *b)
{
	return a->train.loss == b->train.loss && a->train.correct == b->train.correct &&
	    memcmp(a->d, b->d, a->g->P * sizeof(float)) == 0 &&
	    memcmp(a->stats, b->stats, a->g->A * sizeof(float)) == 0;
}

static bool
finite_all(const float *p, size_t n)
{
	for (size_t j = 0; j < n; j++)
		if (!isfinite(p[j]))
			return false;
	return true;
}

static bool
each_once(const uint32_t *calls, uint32_t n)
{
	for (uint32_t a = 0; a < n; a++)
		if (calls[a] != 1)
			return false;
	return true;
}

/* Compares a step whose weights are loaded by param_needed with the plain step. */
static void
hooks(struct seam *s, const struct seam *plain)
{
	const struct graph *g = s->g;
	float *junk = nets_floats(g->P);

	for (size_t j = 0; j < g->P; j++)
		junk[j] = NAN;
	load(s, junk);
	is(step(s, BATCH, true), 0, "%s: a step with hooks succeeds", s->e->name);
	ok(each_once(s->needed, g->nw), "%s: param_needed is called once for each array", s->e->name);
	ok(each_once(s->ready, g->nw), "%s: grad_ready is called once for each array", s->e->name);
	ok(same(s, plain), "%s: weights loaded by param_needed are used in the same pass", s->e->name);
	ok(memcmp(s->alone, s->stats, g->A * sizeof(float)) == 0, "%s: statistics() gives those of backward()",
	    s->e->name);
	ok(memcmp(s->d, s->when_ready, g->P * sizeof(float)) == 0, "%s: a gradient is final at grad_ready", s->e->name);
	is(g->w[s->order[0]].node, g->w[g->nw - 1].node, "%s: the last layer's gradient is ready first", s->e->name);
	is(g->w[s->order[g->nw - 1]].node, g->w[0].node, "%s: the first layer's gradient is ready last", s->e->name);
	free(junk);
}

static void
failures(struct seam *s, const struct seam *plain)
{
	const uint32_t nw = s->g->nw;

	for (uint32_t k = 1; k <= 2 * nw; k += 5) {
		s->fail_after = k;
		if (step(s, BATCH, true) != (k <= nw ? ERR_STOP : 42) || s->fail_after != 0) {
			ok(false, "%s: the pass returns the result of failing hook %u", s->e->name, k);
			return;
		}
	}
	ok(true, "%s: the pass returns a failing hook's result at once", s->e->name);
	s->fail_after = 0;
	is(step(s, BATCH, true), 0, "%s: a step after failed steps succeeds", s->e->name);
	ok(same(s, plain), "%s: a step after failed steps has the same bits", s->e->name);
}

static void
bits(struct seam *s, const struct seam *plain)
{
	struct seam other;

	begin(&other, s->e, s->dev, BATCH);
	load(&other, other.v.w);
	nets_must(step(&other, 1, false));
	evaluate(&other, 2);
	nets_must(step(&other, BATCH, false));
	ok(same(&other, plain), "%s: the bits of a step do not depend on earlier passes", s->e->name);
	evaluate(&other, BATCH);
	evaluate(s, BATCH);
	ok(other.eval.loss == s->eval.loss && memcmp(other.prob, s->prob, BATCH * s->g->classes * sizeof(float)) == 0,
	    "%s: the bits of an evaluation do not depend on earlier passes", s->e->name);
	end(&other);
}

/* A partial batch gives what a plan of that size gives. */
static void
part(struct seam *s)
{
	struct seam two;

	begin(&two, s->e, s->dev, 2);
	load(&two, two.v.w);
	nets_must(step(&two, 2, false));
	evaluate(&two, 2);
	nets_must(step(s, 2, false));
	evaluate(s, 2);
	near(s->train.loss / two.train.loss, 1, 1e-5, "%s: 2 samples have the same loss in a plan for %d",
	    s->e->name, BATCH);
	near(s->eval.loss / two.eval.loss, 1, 1e-5,
	    "%s: 2 samples have the same evaluation loss in a larger plan", s->e->name);
	/* Another batch size may use other kernels, whose rounding may flip one relu in thousands. */
	near(nets_distance(s->d, two.d, s->g->P), 0, 1e-3,
	    "%s: 2 samples have the same gradients in a larger plan", s->e->name);
	near(nets_distance(s->stats, two.stats, s->g->A), 0, 1e-5,
	    "%s: 2 samples have the same statistics in a larger plan", s->e->name);
	end(&two);
}

/* Does an evaluation with the current w and aux equal that of a new plan? */
static bool
fresh(struct seam *s)
{
	struct seam other;
	bool equal;

	begin(&other, s->e, s->dev, BATCH);
	memcpy(other.v.w, s->v.w, s->g->P * sizeof(float));
	memcpy(other.v.aux, s->v.aux, s->g->A * sizeof(float));
	load(&other, other.v.w);
	evaluate(&other, BATCH);
	evaluate(s, BATCH);
	equal = memcmp(other.prob, s->prob, BATCH * s->g->classes * sizeof(float)) == 0;
	end(&other);
	return equal;
}

/* An evaluation uses new weights and statistics, not what the engine derived from older ones. */
static void
newer(struct seam *s)
{
	uint32_t last = s->g->nw - 1, stale = 0;

	for (size_t j = 0; j < s->g->A; j++)
		s->v.aux[j] *= 1.25f;
	nets_must(s->e->load_aux(s->p, s->v.aux));
	ok(fresh(s), "%s: an evaluation uses new statistics", s->e->name);
	for (uint32_t a = 0; a <= last; a++) {
		s->v.w[s->g->w[a].first] += 0.25f;
		nets_must(s->e->load(s->p, a, s->v.w + s->g->w[a].first));
		if (a % 7 == 0)
			stale += !fresh(s);
	}
	is(stale, 0, "%s: an evaluation uses each newly loaded array", s->e->name);
}

static void
probabilities(struct seam *s)
{
	double worst = 0, loss = 0;
	uint32_t correct = 0, five = 0;

	evaluate(s, BATCH);
	for (uint32_t n = 0; n < BATCH; n++) {
		const float *p = s->prob + n * s->g->classes;
		uint32_t best = 0, better = 0;
		double sum = 0;

		for (uint32_t k = 0; k < s->g->classes; k++) {
			sum += p[k];
			best = p[k] > p[best] ? k : best;
			better += p[k] > p[s->v.y[n]];
		}
		worst = fmax(worst, fabs(sum - 1));
		loss -= log(p[s->v.y[n]]);
		correct += best == (uint32_t)s->v.y[n];
		five += better < ENGINE_TOP;
	}
	near(worst, 0, 1e-6, "%s: the probabilities of a sample add up to 1", s->e->name);
	near(s->eval.loss, loss, 1e-5 * loss, "%s: the loss agrees with the probabilities", s->e->name);
	is(s->eval.correct, correct, "%s: the count of correct samples agrees with the probabilities", s->e->name);
	is(s->eval.top5, five, "%s: the top-5 count agrees with the probabilities", s->e->name);
	nets_must(s->e->evaluate(s->p, NETS_SAMPLES(s->g, s->v.x, s->v.y, BATCH), &s->train, NULL));
	ok(s->train.loss == s->eval.loss, "%s: evaluate() accepts NULL for prob", s->e->name);
}

static void
update(const struct engine *e, struct engine_dev *dev)
{
	enum { N = 10007 };	/* a prime: no vector or thread count divides it */
	const struct opt_hyper hyper = { .lr = 0.1f, .momentum = 0.9f, .wd = 1e-4f }, clipped = { .lr = 0.1f,
		.momentum = 0.9f, .wd = 1e-4f, .clip = 0.01f }, fold = { .rule = OPT_FOLD, .momentum = 0.9f };
	float *a = nets_floats(3 * N), *b = nets_floats(3 * N);
	struct rng r = rng_start(4, 0, 0);

	for (size_t j = 0; j < 3 * N; j++)
		a[j] = b[j] = rng_normal(&r);
	nets_must(e->update(dev, a, a + N, a + 2 * N, N, 32, &hyper));
	nets_must(e->update(dev, a, a + N, a + 2 * N, 1, 32, &clipped));
	nets_must(e->update(dev, a, a + N, a + 2 * N, 0, 32, &clipped));
	opt_step(b, b + N, b + 2 * N, N, 32, &hyper);
	opt_step(b, b + N, b + 2 * N, 1, 32, &clipped);
	ok(memcmp(a, b, 3 * N * sizeof(*a)) == 0, "%s: update() has the bits of opt_step()", e->name);
	nets_must(e->update(dev, a, NULL, a + 2 * N, N, 2, &fold));
	opt_fold_to(b, b + 2 * N, N, 2, fold.momentum, b);
	ok(memcmp(a, b, 3 * N * sizeof(*a)) == 0, "%s: update() has the bits of opt_fold_to()", e->name);
	free(a);
	free(b);
}

/* An engine without bf16 refuses it in plan(). */
static void
precision(struct seam *s)
{
	struct engine_plan *p = NULL;
	int e = engine_plan(s->e, s->dev, s->g, BATCH, ENGINE_BF16, 0, &p);

	ok(e == 0 ? p != NULL : e == ERR_NOTSUP && p == NULL,
	    "%s: the engine plans in bf16 or refuses it: %s", s->e->name, e < 0 ? err_line() : "yes");
	s->e->plan_free(p);
}

static void
texts(struct seam *s)
{
	struct buf b = { 0 };
	uint32_t missing = 0;

	is(s->e->describe(s->dev, &b), 0, "%s: the engine describes itself", s->e->name);
	ok(b.n > 0 && memchr(b.p, '\n', b.n) == NULL && memcmp(b.p, s->e->name, strlen(s->e->name)) == 0,
	    "%s: the description is one line that starts with its name: %.*s", s->e->name, (int)b.n, (const char *)b.p);
	b.n = 0;
	nets_must(s->e->explain(s->p, &b));
	nets_must(buf_terminate(&b));
	for (uint32_t i = 1; i < s->g->n; i++)
		if (s->g->node[i].weight >= 0 && strstr((const char *)b.p, s->g->node[i].name) == NULL)
			missing++;
	is(missing, 0, "%s: explain() lists each layer that has weights", s->e->name);
	buf_free(&b);
}

/* Runs a training step on u8 pixels, with prefetch() of next before backward(). */
static void
pixels(struct seam *s, struct engine_plan *p, const uint8_t *x, const struct samples *next, float *g)
{
	const struct samples now = { .n = BATCH, .c = s->g->node[0].c, .h = s->g->node[0].h, .w = s->g->node[0].w,
	    .pixel = x, .y = s->v.y, .norm = { .by = { 0.01f, 0.01f, 0.01f } } };

	nets_must(s->e->forward(p, &now, NULL, NULL, &s->train));
	s->e->accel->prefetch(p, next);
	nets_must(s->e->backward(p, g, s->stats, NULL));
}

/* prefetch() of the next batch, or of another one, does not change the bits of a step. */
static void
ahead(struct seam *s, enum engine_precision precision)
{
	size_t numbers = BATCH * sample_size(s->g), bytes = s->g->P * sizeof(float);
	uint8_t *x[2] = { malloc(numbers), malloc(numbers) };
	float *want[2] = { nets_floats(s->g->P), nets_floats(s->g->P) }, *g = nets_floats(s->g->P);
	struct samples next = { .n = BATCH, .c = s->g->node[0].c, .h = s->g->node[0].h, .w = s->g->node[0].w,
	    .y = s->v.y };
	struct rng r = rng_start(6, 0, 0);
	struct engine_plan *p;
	uint32_t other = 0;

	nets_must(engine_plan(s->e, s->dev, s->g, BATCH, precision, 0, &p));
	nets_must(nets_load(s->e, p, s->g, &s->v));
	for (size_t j = 0; j < numbers; j++) {
		x[0][j] = (uint8_t)rng_below(&r, 256);
		x[1][j] = (uint8_t)rng_below(&r, 256);
	}
	pixels(s, p, x[0], NULL, want[0]);
	pixels(s, p, x[1], NULL, want[1]);
	ok(memcmp(want[0], want[1], bytes) != 0, "%s, %s: two batches of pixels have different gradients",
	    s->e->name, engine_precision_name(precision));
	/* The last rounds prefetch a batch that is not the next one. */
	for (uint32_t k = 0; k < 12; k++) {
		uint32_t now = k < 6 ? k % 2 : k % 3 == 0;

		next.pixel = x[k < 6 ? !now : k % 2];
		pixels(s, p, x[now], &next, g);
		other += memcmp(g, want[now], bytes) != 0;
	}
	is(other, 0, "%s, %s: forward() uses its own batch, whatever was prefetched", s->e->name,
	    engine_precision_name(precision));
	pixels(s, p, x[0], &next, g);
	s->e->accel->prefetch(p, NULL);
	memcpy(x[next.pixel == x[1]], x[next.pixel != x[1]], numbers);
	pixels(s, p, next.pixel, NULL, g);
	ok(memcmp(g, want[next.pixel != x[1]], bytes) == 0, "%s, %s: a batch may change after prefetch() with NULL",
	    s->e->name, engine_precision_name(precision));
	s->e->plan_free(p);
	free(x[0]);
	free(x[1]);
	free(want[0]);
	free(want[1]);
	free(g);
}

static void
engine(const struct engine *e, struct engine_dev *dev)
{
	struct seam plain, s;

	begin(&plain, e, dev, BATCH);
	begin(&s, e, dev, BATCH);
	load(&plain, plain.v.w);
	is(step(&plain, BATCH, false), 0, "%s: a step without hooks succeeds", e->name);
	ok(finite_all(plain.d, plain.g->P) && finite_all(plain.stats, plain.g->A),
	    "%s: backward() overwrites all gradients and statistics", e->name);
	hooks(&s, &plain);
	failures(&s, &plain);
	bits(&s, &plain);
	probabilities(&s);
	texts(&s);
	precision(&s);
	part(&s);
	newer(&s);
	if (e->accel != NULL) {
		ahead(&s, ENGINE_F32);
		ahead(&s, ENGINE_F16);
	}
	end(&s);
	end(&plain);
	update(e, dev);
}

int
main(void)
{
	nets_engines(2, engine);
	ok(engine_find("no such engine") == NULL && strstr(err_line(), "no such engine") != NULL,
	    "an unknown engine is not found: %s", err_line());
	ok(engine_find(NULL) != NULL, "engine_find(NULL) finds an engine: %s", engine_find(NULL)->name);
	return done();
}
