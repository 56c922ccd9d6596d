/*
 * scale_test - when the host waits for a GPU.  In f16 the loss scale counts the batch, a pass that overflows is
 * repeated, and the host waits once a step, for the loss.  A backward pass whose gradients stay on the device is enqueued
 * before.
 *
 * Runs on the emulated device alone, whose log (TALLY_EMU_LOG) has a line for each kernel and each wait of the host.
 */
#include "op/nets.h"

#include "base/buf.h"
#include "engine/split/split.h"

#include <unistd.h>

#define LARGE	1024	/* samples */

static char path[] = "/tmp/scale_test.XXXXXX";

/* Counts the lines of the log that begin with a word, and those with another; then empties the log. */
static unsigned
count(const char *word, const char *other, unsigned *others)
{
	FILE *f = fopen(path, "r");
	char line[64];
	unsigned n = 0;

	*others = 0;
	nets_must(f != NULL ? 0 : ERR_SYS);
	while (fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, " \n")] = 0;
		n += strcmp(line, word) == 0;
		*others += strcmp(line, other) == 0;
	}
	fclose(f);
	nets_must(truncate(path, 0) == 0 ? 0 : ERR_SYS);
	return n;
}

/*
 * Equal images x of class 0: each sample adds x / 2 to the gradient of the convolution's weight, which f16 holds up to
 * 65504 with the scale.
 */
struct job {
	const struct engine *e;
	struct engine_plan *p;
	struct graph *g;
	float	*w, *d, *stats;
	uint8_t	*pixel;
	int32_t	*y;
	struct samples s;
};

static void
begin(struct job *j, const struct engine *e, struct engine_dev *dev, enum engine_precision precision, uint32_t n,
    uint8_t x)
{
	uint32_t x_at;

	*j = (struct job){ .e = e, .g = graph_new(1, 1, 1) };
	x_at = NODE(j->g, 0, CONV, .k = 2, .r = 1, .s = 1, .stride = GRAPH_BOTH(1));
	NODE(j->g, NODE(j->g, x_at, FC, .k = 2), SOFTMAX, .k = 0);
	j->w = nets_floats(j->g->P);
	j->d = nets_floats(j->g->P);
	j->stats = nets_floats(0);
	j->w[2] = j->w[5] = 1;
	j->pixel = nets_floats(n);
	j->y = nets_floats(n);
	memset(j->pixel, x, n);
	j->s = (struct samples){ .n = n, .c = 1, .h = 1, .w = 1, .pixel = j->pixel, .y = j->y,
		.norm = { .by = { 1, 1, 1 } } };
	nets_must(e->plan(dev, j->g, n, precision, &j->p));
	nets_must(nets_load(e, j->p, j->g, &(struct nets_numbers){ .w = j->w, .aux = j->stats }));
}

static void
end(struct job *j)
{
	j->e->plan_free(j->p);
	graph_free(j->g);
	free(j->w);
	free(j->d);
	free(j->stats);
	free(j->pixel);
	free(j->y);
}

/* Runs one backward pass of n samples, and counts how often the device computes it. */
static void
handed_over(const struct engine *e, struct engine_dev *dev, uint32_t n, uint8_t x, unsigned want, const char *what)
{
	struct engine_result r;
	unsigned passes, waits;
	struct job j;

	begin(&j, e, dev, ENGINE_F16, n, x);
	nets_must(e->forward(j.p, &j.s, NULL, NULL, &r));
	count("softmax_back", "wait", &waits);
	nets_must(e->backward(j.p, j.d, j.stats, NULL));
	passes = count("softmax_back", "wait", &waits);
	is(passes, want, "%s: %u samples of %u", what, n, x);
	near(j.d[1], (double)n * x / 2, 1e-3 * n * x, "the gradient is the sum over %u samples of %u", n, x);
	end(&j);
}

/* Gradients of a chain of layers, whose backward pass reuses the memory of the forward pass. */
static void
chain(const struct engine *e, struct engine_dev *dev, enum engine_precision precision, float *d)
{
	enum { N = 64, LAYERS = 5, K = 4 };
	struct graph *g = graph_new(1, 4, 4);
	const size_t numbers = (size_t)N * 16;
	struct samples s = { .n = N, .c = 1, .h = 4, .w = 4, .pixel = malloc(numbers), .y = calloc(N, sizeof(int32_t)),
		.norm = { .by = { 1, 1, 1 } } };
	struct engine_result r;
	struct engine_plan *p;
	float *w, *stats = nets_floats(0);
	uint32_t at = 0;

	for (uint32_t k = 0; k < LAYERS; k++)
		at = NODE(g, NODE(g, at, CONV, .k = K, .r = 1, .s = 1, .stride = GRAPH_BOTH(1)), ACT, .act = GRAPH_TANH);
	NODE(g, NODE(g, at, FC, .k = 2), SOFTMAX, .k = 0);
	w = nets_floats(g->P);
	/* The first layer divides by 255, the others keep the size. */
	for (size_t i = 0; i < g->P; i++)
		w[i] = (i < K ? 0.004f : 0.5f) * (i % 3 == 1 ? -1 : 1);
	memset((uint8_t *)s.pixel, 250, numbers);
	for (size_t i = 0; i < numbers; i += 3)
		((uint8_t *)s.pixel)[i] = (uint8_t)(i % 251);
	nets_must(e->plan(dev, g, N, precision, &p));
	nets_must(nets_load(e, p, g, &(struct nets_numbers){ .w = w, .aux = stats }));
	nets_must(e->forward(p, &s, NULL, NULL, &r));
	nets_must(e->backward(p, d, stats, NULL));
	e->plan_free(p);
	graph_free(g);
	free((void *)s.pixel);
	free((void *)s.y);
	free(w);
	free(stats);
}

/* An attempt that overflows has overwritten what the next one reads, which is computed again. */
static void
repeats_all(const struct engine *e, struct engine_dev *dev)
{
	enum { P = 4 + 4 * 16 + 2 * 64 };	/* weights of that chain */
	float half[P], want[P];
	unsigned passes, waits;

	chain(e, dev, ENGINE_F32, want);
	count("", "", &waits);
	chain(e, dev, ENGINE_F16, half);
	passes = count("softmax_back", "wait", &waits);
	ok(passes > 1, "the gradient of a chain of layers overflows at first: %u passes", passes);
	ok(nets_distance(half, want, P) < 0.02, "a repeated pass has the gradients of f32, within %g",
	    nets_distance(half, want, P));
}

/* Runs three steps on the device, the second one of `second` samples.  With a large x gradients overflow at first. */
static void
stays(const struct engine *e, struct engine_dev *dev, uint32_t n, uint32_t second, uint8_t x, unsigned want)
{
	const unsigned devices = strcmp(e->name, "split") == 0 ? 2 : 1;
	const struct engine_group group = { 0, 6, 1, 1, 0 };
	const float rate = 1e-6f;
	float state[6] = { 0 }, w[6];
	struct engine_opt how = { .group = &group, .ngroup = 1, .state = state };
	unsigned waits = 0, forward = 0, passes = 0, between, all;
	struct engine_result r;
	struct job j;

	opt_usual(OPT_SGD, &how.hyper);
	how.hyper.momentum = how.hyper.wd = 0;
	begin(&j, e, dev, ENGINE_F16, n, x);
	nets_must(e->device_opt->begin(j.p, &how));
	count("", "", &between);
	for (uint64_t t = 1; t <= 3; t++) {
		j.s.n = t == 2 ? second : n;
		nets_must(e->forward(j.p, &j.s, NULL, NULL, &r));
		passes += count("softmax_back", "wait", &between);
		forward += t > 1 ? between : 0;
		nets_must(e->backward(j.p, NULL, NULL, NULL));
		nets_must(e->device_opt->step(j.p, j.s.n, rate, t, false));
		passes += count("softmax_back", "wait", &between);
		waits += between;
	}
	/* A device without samples waits for the inputs of its last update, which no forward() has waited for. */
	is(waits, second < devices, "the host waits neither in backward() nor in the device optimizer's step()");
	if (x == 1)
		is(forward, 2 * devices, "the host waits once a step for each of %u devices", devices);
	nets_must(e->device_opt->fetch(j.p, w, NULL, NULL, NULL, NULL));
	passes += count("softmax_back", "wait", &all);
	is(passes, want, "%u samples of %u on %s take %u backward passes in three steps", n, x, e->name, want);
	near(-w[1] / (3 * rate * (float)x / 2), 1, 0.05,
	    "each of three steps updates the weights: %u samples of %u", n, x);
	end(&j);
}

/* Moves the job to the device, where SGD with the usual options updates all weights. */
static void
begin_learning(struct job *j, bool accumulate)
{
	const struct engine_group group = { 0, 6, 1, 1, 0 };
	const float state[6] = { 0 };
	struct engine_opt how = { .group = &group, .ngroup = 1, .state = state, .accumulate = accumulate };

	opt_usual(OPT_SGD, &how.hyper);
	nets_must(j->e->device_opt->begin(j->p, &how));
}

/* The weights of two devices after three steps, which `before` backward passes for the host precede. */
static void
learn_after(const struct engine *e, struct engine_dev *dev, unsigned before, float w[6])
{
	struct engine_result r;
	struct job j;

	begin(&j, e, dev, ENGINE_F16, 8, 3);
	for (unsigned k = 0; k < before; k++) {
		nets_must(e->forward(j.p, &j.s, NULL, NULL, &r));
		nets_must(e->backward(j.p, j.d, j.stats, NULL));
	}
	begin_learning(&j, false);
	for (uint64_t t = 1; t <= 3; t++) {
		nets_must(e->forward(j.p, &j.s, NULL, NULL, &r));
		nets_must(e->backward(j.p, NULL, NULL, NULL));
		nets_must(e->device_opt->step(j.p, j.s.n, 0.01f, t, false));
	}
	nets_must(e->device_opt->fetch(j.p, w, NULL, NULL, NULL, NULL));
	end(&j);
}

/* The captured backward pass of a plan for the host adds nothing up. */
static void
begins_late(const struct engine *e, struct engine_dev *dev)
{
	float at_once[6], late[6];
	unsigned none;

	learn_after(e, dev, 0, at_once);
	learn_after(e, dev, 3, late);
	count("", "", &none);
	ok(memcmp(at_once, late, sizeof(late)) == 0,
	    "the device optimizer captures a backward pass of its own, although there is one");
}

/* What a run leaves behind. */
struct state {
	float	*w, *aux, *state, *average;
	uint32_t averaged;
	unsigned passes;
};

static void
state_free(struct state *s)
{
	free(s->w);
	free(s->aux);
	free(s->state);
	free(s->average);
}

enum { SIDE = 4, BATCH = 8, UPDATES = 8 };

/* A convolution whose gradient overflows if pixels are large, beside statistics, and dropout. */
static struct graph *
branches(void)
{
	struct graph *g = graph_new(1, SIDE, SIDE);
	uint32_t a = NODE(g, 0, CONV, .k = 8, .r = 1, .s = 1, .stride = GRAPH_BOTH(1), .bias = true);
	uint32_t b = NODE(g, 0, CONV, .k = 8, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1));

	b = NODE(g, BN(g, b, .fix_gamma = false), ACT, .act = GRAPH_RELU);
	a = NODE(g, CONCAT(g, a, b), DROPOUT, .drop = 0.25f);
	NODE(g, NODE(g, a, FC, .k = 3, .bias = true), SOFTMAX, .k = 0);
	return g;
}

/*
 * Learns with momentum, rates by norms and an average.  Some batches overflow.  settles: the host waits for each
 * check, so that nothing is enqueued behind a pass that is repeated.
 */
static struct state
learn_with_overflows(const struct engine *e, struct engine_dev *dev, uint32_t micro, bool settles)
{
	const uint32_t numbers = BATCH * SIDE * SIDE;
	struct graph *g = branches();
	const struct engine_group group = { 0, g->P, 1, 1, 1 };
	const struct engine_fold fold = { 0, g->A, 0.9f };
	struct state s = { nets_floats(g->P), nets_floats(g->A), nets_floats(g->P), nets_floats(g->P + g->A), 0, 0 };
	struct engine_opt how = { .group = &group, .ngroup = 1, .fold = &fold, .nfold = 1, .state = s.state,
		.average = s.average, .accumulate = micro > 1 };
	struct rng r = rng_start(12, 0, 0);
	struct nets_numbers v = nets_numbers(g, &r, BATCH);
	uint8_t *pixel[3];
	struct samples b = { .n = BATCH, .c = 1, .h = SIDE, .w = SIDE, .y = v.y, .norm = { .by = { 1, 1, 1 } } }, next = b;
	struct engine_result result;
	struct engine_plan *p;
	unsigned waits;

	for (uint32_t k = 0; k < 3; k++) {
		pixel[k] = malloc(numbers);
		for (uint32_t i = 0; i < numbers; i++)
			pixel[k][i] = (uint8_t)(k == 1 ? any(&r, 200, 255) : any(&r, 0, 3));
	}
	opt_usual(OPT_LARS, &how.hyper);
	how.hyper.clip_norm = 0.3f;
	how.hyper.average = (struct average){ AVERAGE_EMA, 0.7f, 0 };
	nets_must(engine_plan(e, dev, g, BATCH, ENGINE_F16, 0, &p));
	nets_must(nets_load(e, p, g, &v));
	nets_must(e->device_opt->begin(p, &how));
	count("", "", &waits);
	for (uint32_t t = 0; t < UPDATES * micro; t++) {
		b.pixel = pixel[t % 3];
		/* Now and then another batch than the next one is uploaded early. */
		next.pixel = pixel[t % 4 == 3 ? t % 3 : (t + 1) % 3];
		nets_must(e->forward(p, &b, &(struct engine_draw){ 5, t, 0 }, NULL, &result));
		e->accel->prefetch(p, t % 2 == 1 ? &next : NULL);
		nets_must(e->backward(p, NULL, NULL, NULL));
		if (settles)
			nets_must(e->device_opt->settle(p));
		if (t % micro == micro - 1)
			nets_must(e->device_opt->step(p, BATCH * micro, 0.01f, t / micro + 1, false));
		if (settles)
			nets_must(e->device_opt->settle(p));
	}
	nets_must(e->device_opt->fetch(p, s.w, s.aux, s.state, s.average, &s.averaged));
	s.passes = count("softmax_back", "wait", &waits);
	e->plan_free(p);
	for (uint32_t k = 0; k < 3; k++)
		free(pixel[k]);
	nets_numbers_free(&v);
	graph_free(g);
	return s;
}

/* A pass that is repeated behind the next one has the bits of one that the host waits for. */
static void
repeats_exactly(const struct engine *e, struct engine_dev *dev)
{
	struct graph *g = branches();

	for (uint32_t micro = 1; micro <= 2; micro++) {
		struct state want = learn_with_overflows(e, dev, micro, true), got = learn_with_overflows(e, dev, micro, false);

		ok(memcmp(got.w, want.w, g->P * sizeof(float)) == 0 && memcmp(got.aux, want.aux, g->A * sizeof(float)) == 0 &&
		    memcmp(got.state, want.state, g->P * sizeof(float)) == 0 && got.averaged == want.averaged &&
		    memcmp(got.average, want.average, (g->P + g->A) * sizeof(float)) == 0,
		    "%s: %u updates of %u batches have the bits of those whose checks are waited for", e->name, UPDATES, micro);
		ok(got.passes > want.passes && want.passes > UPDATES * micro,
		    "%s: passes overflow: %u, of which %u are not waited for", e->name, got.passes, got.passes - want.passes);
		state_free(&want);
		state_free(&got);
	}
	graph_free(g);
}

/* After an overflow one device fails before the check, and the other waits for no sum of it. */
static void
fails_on_two(const struct engine *e, struct engine_dev *dev)
{
	struct engine_result r;
	unsigned none;
	struct job j;

	begin(&j, e, dev, ENGINE_F16, 8, 255);
	begin_learning(&j, false);
	nets_must(e->forward(j.p, &j.s, NULL, NULL, &r));
	nets_must(e->backward(j.p, NULL, NULL, NULL));
	nets_must(e->device_opt->step(j.p, 8, 1e-6f, 1, false));
	j.y[7] = 99;
	is(e->forward(j.p, &j.s, NULL, NULL, &r), ERR_FORMAT, "a device that fails after an overflow ends the pass of both");
	end(&j);
	count("", "", &none);
}

/* Two devices repeat a pass together, also if one of them has no samples in the next batch. */
static void
stays_on_two(void)
{
	struct engine_dev *dev;
	const struct engine *e;

	nets_must(split_open("cuda:0,cuda:1", 1, &e, &dev));
	if (e->device_opt == NULL) {
		skip("two devices repeat a pass together", "no NCCL");
	} else {
		stays(e, dev, 4, 4, 1, 6);
		/* The first scale twice, and its quarter.  The first overflow is found behind the next pass. */
		stays(e, dev, 8, 8, 255, 20);
		stays(e, dev, 8, 1, 255, 13);
		begins_late(e, dev);
		repeats_exactly(e, dev);
		fails_on_two(e, dev);
	}
	e->close(dev);
}

/* Runs forward() alone, and returns how many backward passes the device computes with it. */
static unsigned
count_passes_of_forward(const struct job *j)
{
	float none[1];
	struct engine_result r;
	unsigned waits;

	nets_must(j->e->forward(j->p, &j->s, NULL, NULL, &r));
	nets_must(j->e->statistics(j->p, none));
	nets_must(j->e->evaluate(j->p, &j->s, &r, NULL));
	return count("softmax_back", "wait", &waits);
}

static void
goes_ahead(const struct engine *e, struct engine_dev *dev, enum engine_precision precision)
{
	struct engine_result r;
	struct job j;

	begin(&j, e, dev, precision, 4, 1);
	begin_learning(&j, false);
	is(count_passes_of_forward(&j), 0, "the first forward() enqueues no backward pass");
	for (uint64_t t = 1; t <= 2; t++) {
		nets_must(e->forward(j.p, &j.s, NULL, NULL, &r));
		nets_must(e->backward(j.p, NULL, NULL, NULL));
		nets_must(e->device_opt->step(j.p, 4, 0.1f, t, false));
	}
	is(count_passes_of_forward(&j), 3, "forward() enqueues the backward pass that it expects, besides two of steps");
	is(count_passes_of_forward(&j), 0, "a forward() without a backward() is not followed by another such pass");
	end(&j);
}

/* One of two micro-batches has gradients that no scale makes finite; the other must not replace it in the sum. */
static void
names_infinity(const struct engine *e, struct engine_dev *dev, int bad)
{
	float w[6];
	struct samples_mix mix[8];
	struct engine_result r;
	struct job j;

	begin(&j, e, dev, ENGINE_F16, 8, 1);
	j.s.mix = mix;
	begin_learning(&j, true);
	for (int k = 0; k < 4; k++) {
		for (int i = 0; i < 8; i++)
			mix[i] = (struct samples_mix){ .weight = k == 2 + bad ? 1e30f : 1 };
		nets_must(e->forward(j.p, &j.s, NULL, NULL, &r));
		nets_must(e->backward(j.p, NULL, NULL, NULL));
		if (k % 2 == 1)
			nets_must(e->device_opt->step(j.p, 16, 0.1f, 1 + (uint64_t)k / 2, false));
	}
	is(e->device_opt->fetch(j.p, w, NULL, NULL, NULL, NULL), ERR_FORMAT,
	    "an infinite gradient of micro-batch %d stops the update", bad);
	end(&j);
}

static void
engine(const struct engine *e, struct engine_dev *dev)
{
	if (!nets_emulated(e, dev)) {
		skip("the loss scale counts the batch and follows overflows", "not the emulated device");
		return;
	}
	handed_over(e, dev, LARGE, 1, 1, "one pass suffices because the loss scale counts the batch");
	handed_over(e, dev, 4, 1, 1, "one pass suffices for a small gradient");
	handed_over(e, dev, 4, 255, 2, "an overflow repeats the pass with a smaller loss scale");
	handed_over(e, dev, 8, 255, 2, "the pass is repeated with a quarter of the loss scale");
	handed_over(e, dev, 32, 255, 3, "the pass is repeated until all gradients are finite");
	repeats_all(e, dev);
	stays(e, dev, 4, 4, 1, 3);
	stays(e, dev, 4, 4, 255, 7);
	repeats_exactly(e, dev);
	names_infinity(e, dev, 0);
	names_infinity(e, dev, 1);
	stays_on_two();
	goes_ahead(e, dev, ENGINE_F32);
	goes_ahead(e, dev, ENGINE_F16);
}

int
main(void)
{
	int fd = mkstemp(path);

	nets_must(fd >= 0 ? 0 : ERR_SYS);
	close(fd);
	setenv("TALLY_EMU_LOG", path, 1);
	nets_engines(1, engine);
	unlink(path);
	return done();
}
