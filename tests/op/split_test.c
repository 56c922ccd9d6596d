/*
 * split_test - do several devices used as one have the bits of one device that computes the parts in turn?
 *
 * Every kind of layer, two to four devices, full and partial batches.  Hooks come on the caller's thread, once for
 * each array, and a failing hook ends the pass.
 */
#include "op/nets.h"

#include "engine/split/split.h"

#include <pthread.h>

#define BATCH	7

struct counts {
	const struct graph *g;
	const struct engine *e;
	struct engine_plan *p;
	const float *w, *d;		/* weights and gradients */
	float	*early;			/* [P] each gradient when grad_ready was called */
	pthread_t thread;
	uint32_t need[64], ready[64], wrong;
	uint32_t fail_at;		/* the array at which a hook fails */
	bool	 in_need;
};

static int
need(void *arg, uint32_t a)
{
	struct counts *c = arg;

	c->need[a]++;
	c->wrong += !pthread_equal(c->thread, pthread_self());
	if (c->in_need && a == c->fail_at)
		return err_fail(ERR_PEER, "no array %u", a);
	return c->e->load(c->p, a, c->w + c->g->w[a].first);
}

static int
ready(void *arg, uint32_t a)
{
	struct counts *c = arg;

	c->ready[a]++;
	c->wrong += !pthread_equal(c->thread, pthread_self());
	memcpy(c->early + c->g->w[a].first, c->d + c->g->w[a].first, c->g->w[a].count * sizeof(float));
	return !c->in_need && a == c->fail_at ? err_fail(ERR_PEER, "no gradient %u", a) : 0;
}

struct got {
	float	*g, *stats, *prob;
	struct engine_result train, eval;
};

static struct got
room(const struct graph *g)
{
	return (struct got){ .g = nets_floats(g->P), .stats = nets_floats(g->A),
	    .prob = nets_floats(BATCH * g->classes) };
}

static void
got_free(struct got *r)
{
	free(r->g);
	free(r->stats);
	free(r->prob);
}

/* Runs one part, and adds its results to sum. */
static void
add_part(const struct engine *e, struct engine_plan *p, const struct graph *g, const struct samples *part, uint32_t at,
    struct got *sum)
{
	const struct engine_draw draw = { .seed = 9, .step = 4, .first = 100 + at };
	struct got one = room(g);

	nets_must(e->forward(p, part, &draw, NULL, &one.train));
	nets_must(e->backward(p, one.g, one.stats, NULL));
	nets_must(e->evaluate(p, part, &one.eval, sum->prob + at * g->classes));
	for (size_t i = 0; i < g->P; i++)
		sum->g[i] = at > 0 ? sum->g[i] + one.g[i] : one.g[i];
	for (size_t i = 0; i < g->A; i++)
		sum->stats[i] += one.stats[i] * (float)part->n;
	sum->train.loss += one.train.loss;
	sum->train.correct += one.train.correct;
	sum->eval.loss += one.eval.loss;
	sum->eval.correct += one.eval.correct;
	got_free(&one);
}

static struct got
run_in_turn(const struct engine *e, struct engine_dev *dev, const struct graph *g, const struct nets_numbers *v,
    uint32_t n, uint32_t D)
{
	struct got sum = room(g);
	struct engine_plan *p;

	nets_must(engine_plan(e, dev, g, (BATCH + D - 1) / D, ENGINE_F32, 0, &p));
	nets_must(nets_load(e, p, g, v));
	for (uint32_t k = 0, at = 0; k < D && at < n; k++) {
		struct samples part = samples_part(NETS_BATCH(g, v, n), at, n / D + (k < n % D));

		add_part(e, p, g, &part, at, &sum);
		at += part.n;
	}
	for (size_t i = 0; i < g->A; i++)
		sum.stats[i] /= (float)n;
	e->plan_free(p);
	return sum;
}

/* Runs two steps and an evaluation; the first step must not change the second. */
static struct got
split(const struct engine *e, struct engine_dev *dev, const struct graph *g, const struct nets_numbers *v, uint32_t n,
    struct counts *c)
{
	const struct engine_draw draw = { .seed = 9, .step = 4, .first = 100 };
	const struct engine_hook hook = { .arg = c, .param_needed = need, .grad_ready = ready };
	struct got r = room(g);
	struct engine_plan *p;

	nets_must(engine_plan(e, dev, g, BATCH, ENGINE_F32, 0, &p));
	nets_must(e->load_aux(p, v->aux));
	*c = (struct counts){ .g = g, .e = e, .p = p, .w = v->w, .d = r.g, .early = nets_floats(g->P),
	    .thread = pthread_self(), .fail_at = UINT32_MAX };
	for (int twice = 0; twice < 2; twice++) {
		nets_must(e->forward(p, NETS_BATCH(g, v, twice ? n : BATCH), &draw, &hook, &r.train));
		nets_must(e->backward(p, r.g, r.stats, &hook));
	}
	nets_must(e->evaluate(p, NETS_BATCH(g, v, n), &r.eval, r.prob));
	c->wrong += memcmp(c->early, r.g, g->P * sizeof(float)) != 0;
	e->plan_free(p);
	free(c->early);
	return r;
}

static bool
same(const struct got *a, const struct got *b, const struct graph *g, uint32_t n)
{
	return memcmp(a->g, b->g, g->P * sizeof(float)) == 0 && memcmp(a->stats, b->stats, g->A * sizeof(float)) == 0 &&
	    memcmp(a->prob, b->prob, n * g->classes * sizeof(float)) == 0 && a->train.loss == b->train.loss &&
	    a->train.correct == b->train.correct && a->eval.loss == b->eval.loss && a->eval.correct == b->eval.correct;
}

static bool
called_once(const struct counts *c, const struct graph *g)
{
	bool good = c->wrong == 0;

	for (uint32_t a = 0; a < g->nw; a++)
		good &= c->need[a] == 2 && c->ready[a] == 2;
	return good;
}

/* For devices with their own memory, the host holds only the gradients of the parts. */
static void
memory(const struct engine *e, struct engine_dev *dev, const struct engine *part, uint32_t D)
{
	struct rng r = rng_start(8, 0, 0);
	struct graph *g = nets_graph(&nets_cases[1], &r, false);
	struct engine_memory m;
	struct engine_plan *p;

	nets_must(e->plan(dev, g, BATCH, ENGINE_F32, &p));
	e->memory(p, &m);
	is(m.host, part->accel == NULL ? m.activations + m.weights + m.scratch : D * g->P * sizeof(float),
	    "memory() has the bytes of the host");
	e->plan_free(p);
	graph_free(g);
}

/* Every kind of net on D devices, each with one thread. */
static void
equal(const char *name, const char *devices, uint32_t D)
{
	const struct engine *e = NULL, *alone = engine_find(name);
	struct engine_dev *dev, *one;
	unsigned good = 0, hooked = 0, all = 0;

	nets_must(split_open(devices, D, &e, &dev));
	nets_must(engine_open(&alone, 0, 1, &one));
	for (uint64_t c = 0; c < NETS_CASES; c++)
		for (uint32_t n = 1; n <= BATCH; n += 3, all++) {
			struct rng r = rng_start(6, c, n);
			struct graph *g = nets_graph(&nets_cases[c], &r, false);
			struct nets_numbers v = nets_numbers(g, &r, BATCH);
			struct counts count;
			struct got want = run_in_turn(alone, one, g, &v, n, D);
			struct got is = split(e, dev, g, &v, n, &count);

			if (same(&want, &is, g, n))
				good++;
			else
				printf("# %s: %s, %u samples\n", devices, nets_cases[c].name, n);
			hooked += called_once(&count, g);
			got_free(&want);
			got_free(&is);
			nets_numbers_free(&v);
			graph_free(g);
		}
	is(good, all, "%s: the bits are those of one device that computes the parts in turn", devices);
	is(hooked, all, "hooks run on this thread, and each gradient is final at grad_ready");
	memory(e, dev, alone, D);
	alone->close(one);
	e->close(dev);
}

/* A hook that fails, at each array in turn, and an invalid label in the last part. */
static void
refusals(void)
{
	struct rng r = rng_start(7, 0, 0);
	struct graph *g = nets_graph(&nets_cases[1], &r, false);
	struct nets_numbers v = nets_numbers(g, &r, BATCH);
	struct got got = room(g);
	const struct engine *e;
	struct engine_dev *dev;
	struct engine_plan *p;
	unsigned good = 0;
	int err;

	nets_must(split_open("ref:0,ref:1,ref:2", 3, &e, &dev));
	nets_must(engine_plan(e, dev, g, BATCH, ENGINE_F32, 0, &p));
	for (uint32_t a = 0; a < g->nw; a++)
		for (int in_need = 0; in_need < 2; in_need++) {
			struct counts c = { .g = g, .e = e, .p = p, .w = v.w, .d = got.g, .early = nets_floats(g->P),
			    .fail_at = a, .in_need = in_need };
			const struct engine_hook hook = { .arg = &c, .param_needed = need, .grad_ready = ready };

			err = e->forward(p, NETS_BATCH(g, &v, BATCH), NULL, &hook, &got.train);
			if (err == 0)
				err = e->backward(p, got.g, got.stats, &hook);
			good += err == ERR_PEER && strstr(err_line(), in_need ? "no array" : "no gradient") != NULL;
			free(c.early);
		}
	is(good, 2 * g->nw, "a failing hook ends the pass with its result");
	v.y[BATCH - 1] = -1;
	err = e->forward(p, NETS_BATCH(g, &v, BATCH), NULL, NULL, &got.train);
	is(err, ERR_FORMAT, "an invalid label in the last part: %s", err_line());
	v.y[BATCH - 1] = 0;
	is(e->forward(p, NETS_BATCH(g, &v, BATCH), NULL, NULL, &got.train), 0,
	    "the pass after an invalid label succeeds");
	e->plan_free(p);
	e->close(dev);
	got_free(&got);
	nets_numbers_free(&v);
	graph_free(g);
}

static void
lists(void)
{
	static const char *const wrong[] = { "ref:0,ref:0", "ref:0,none:0", "ref:x", "ref,", "" };
	const struct engine *e;
	struct engine_dev *dev;

	e = engine_find("ref");
	is(split_open(NULL, 1, &e, &dev), 0, "split_open without a list opens device 0 of *e");
	e->close(dev);
	is(split_open("ref", 1, &e, &dev), 0, "a list of one device opens");
	is_str(e->name, "ref", "a list of one device opens that device's own engine");
	e->close(dev);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		int err = split_open(wrong[i], 1, &e, &dev);

		is(err, ERR_ARG, "'%s': %s", wrong[i], err_line());
	}
}

/* Two devices of the engine that TEST_ENGINE names, which may add gradients themselves. */
static void
one_engine(const char *name)
{
	const struct engine *e;
	struct engine_dev *dev;
	struct buf text = { 0 };
	char list[64];

	snprintf(list, sizeof(list), "%s:0,%s:1", name, name);
	if (split_open(list, 2, &e, &dev) < 0) {
		skip(list, err_line());
		return;
	}
	nets_must(e->describe(dev, &text));
	nets_must(buf_terminate(&text));
	printf("# %s; %s\n", (char *)text.p, split_remark(e, dev) != NULL ? split_remark(e, dev) : "no remark");
	buf_free(&text);
	e->close(dev);
	equal(name, list, 2);
}

int
main(void)
{
	if (getenv("TEST_ENGINE") != NULL) {
		one_engine(getenv("TEST_ENGINE"));
		return done();
	}
	equal("ref", "ref:0,ref:1", 2);
	if (engine_find("cpu") != NULL) {
		equal("cpu", "cpu:0,cpu:1", 2);
		equal("cpu", "cpu:0,cpu:1,cpu:2,cpu:3", 4);
	} else {
		skip("cpu", "no such engine");
	}
	refusals();
	lists();
	return done();
}
