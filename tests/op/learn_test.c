/*
 * learn_test - does a device optimizer compute what a server does?  With TEST_DEVICES=cuda:0,cuda:1 those of several
 * joined devices.
 *
 * The same engine runs the same steps twice: once its gradients go to the server's state machine in this process,
 * once they stay on the device.  Weights, statistics, optimizer state and average must have the same bits, but for
 * rules with matrix products, whose order of sums differs.  A run that stops and resumes must have the same bits as
 * one that does not.
 */
#include "op/nets.h"

#include "engine/split/split.h"
#include "net/freeze.h"
#include "ps/worker/worker.h"

#define BATCH	4
#define STEPS	4

static const struct kind {
	const char *name, *mults;
	struct opt_hyper more;		/* members that differ from opt_usual() */
	uint32_t micro;
	enum engine_precision precision;
} kinds[] = {
	{ "sgd", NULL, { .rule = OPT_SGD, .wd = 1e-3f }, 1, ENGINE_F32 },
	{ "sgd with three micro-batches and an average over epochs", NULL,
	    { .rule = OPT_SGD, .average = { AVERAGE_SWA, 0, 0 } }, 3, ENGINE_F32 },
	{ "sgd in f16", NULL, { .rule = OPT_SGD, .wd = 1e-3f }, 1, ENGINE_F16 },
	{ "nesterov with some frozen", "freeze:n1*;lr:*weight=3;wd:*beta=0", { .rule = OPT_NESTEROV, .wd = 0.01f }, 1,
	    ENGINE_F32 },
	{ "descent with some frozen", "freeze:n1*;lr:*weight=3", { .rule = OPT_DESCENT, .wd = 0.01f }, 2, ENGINE_F32 },
	{ "adam with a decaying average", NULL, { .rule = OPT_ADAM, .wd = 0.01f, .average = { AVERAGE_EMA, 0.7f, 0 } },
	    1, ENGINE_F32 },
	{ "adamw, clipped, with lookahead", NULL, { .rule = OPT_ADAMW, .wd = 0.01f, .clip = 0.01f, .l1 = 0.001f,
	    .average = { AVERAGE_LOOKAHEAD, 0.5f, 2 } }, 2, ENGINE_F32 },
	{ "rmsprop in bf16", NULL, { .rule = OPT_RMSPROP, .wd = 0.01f }, 1, ENGINE_BF16 },
	{ "lars, clipped by norm", "wd:*beta=0", { .rule = OPT_LARS, .wd = 0.01f, .clip_norm = 0.3f }, 1, ENGINE_F32 },
	{ "sgd, clipped by norm, with some frozen", "freeze:n2*", { .rule = OPT_SGD, .clip_norm = 0.1f }, 2,
	    ENGINE_F32 },
	{ "muon", NULL, { .rule = OPT_MUON, .wd = 0.01f }, 1, ENGINE_F32 },
	{ "muon with unit rows, clipped, two micro-batches, some frozen, some with rate 0",
	    "freeze:n1_*;lr:n4_weight=0;lr:*bias=3;wd:*weight=2",
	    { .rule = OPT_MUON, .wd = 0.01f, .clip = 0.01f, .unit = true, .turns = 4 }, 2, ENGINE_F32 },
	{ "muon in bf16, clipped by norm, with a decaying average", NULL,
	    { .rule = OPT_MUON, .clip_norm = 0.3f, .average = { AVERAGE_EMA, 0.7f, 0 } }, 1, ENGINE_BF16 },
};

/* The state after a run. */
struct result {
	float	*w, *aux, *state, *average;
	uint32_t averaged;
	double	 loss;		/* in evaluation, of the average if there is one */
	bool	 on_device;
};

static struct result
room(const struct graph *g)
{
	return (struct result){ .w = nets_floats(g->P), .aux = nets_floats(g->A),
		.state = nets_floats(g->P * OPT_STATES), .average = nets_floats(g->P + g->A) };
}

static void
result_free(struct result *l)
{
	free(l->w);
	free(l->aux);
	free(l->state);
	free(l->average);
}

static struct graph *
net(struct rng *r)
{
	struct graph *g = graph_new(3, 8, 8);
	uint32_t x = NODE(g, 0, CONV, .k = 12, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1),
	    .bias = true);

	x = NODE(g, BN(g, x, .fix_gamma = false), ACT, .act = GRAPH_RELU);
	/* Two wide matrices of one shape, and two tall ones. */
	for (uint32_t i = 0; i < 4; i++)
		x = NODE(g, x, CONV, .k = i % 2 == 0 ? 20 : 12, .r = 1, .s = 1, .stride = GRAPH_BOTH(1));
	x = nets_block(g, r, x, true);
	x = NODE(g, x, FC, .k = 70, .bias = true);
	x = NODE(g, x, ACT, .act = GRAPH_TANH);
	x = NODE(g, x, FC, .k = 9, .bias = true);
	NODE(g, x, SOFTMAX, .k = 0);
	return g;
}

/* ------ worker ------ */

struct pull {
	const struct engine *e;
	struct engine_plan *p;
	const struct graph *g;
	struct worker *wk;
	struct result *l;
};

static void
pull(struct pull *s)
{
	nets_must(worker_ready(s->wk));
	if (!worker_device_opt(s->wk))
		nets_must(nets_load(s->e, s->p, s->g, &(struct nets_numbers){ .w = s->l->w, .aux = s->l->aux }));
}

static void
push(struct pull *s, const float *g, const float *stats)
{
	for (uint32_t a = 0; a < s->g->nw; a++)
		if (!s->g->w[a].frozen)
			nets_must(worker_push(s->wk, a, g));
	nets_must(worker_finish(s->wk, stats));
}

/* The third has fewer samples than devices. */
static uint32_t
samples(uint32_t k)
{
	return k == 2 ? 1 : BATCH - k % 2;
}

/* Runs one step of some micro-batches, of which the last is smaller. */
static void
step(struct pull *s, const struct kind *k, const struct nets_numbers *v, uint32_t t)
{
	float *sum = nets_floats(s->g->P), *d = nets_floats(s->g->P), *stats = nets_floats(s->g->A),
	    *all = nets_floats(s->g->A);
	const bool on_device = worker_device_opt(s->wk);
	struct engine_result r;
	uint32_t n = 0;

	for (uint32_t i = 0; i < k->micro; n += samples(i++)) {
		nets_must(s->e->forward(s->p, NETS_SAMPLES(s->g, v->x, v->y, samples(i)), NULL, NULL, &r));
		nets_must(on_device ? s->e->backward(s->p, NULL, NULL, NULL) : s->e->backward(s->p, d, stats, NULL));
		for (size_t j = 0; j < s->g->P; j++)
			sum[j] = i > 0 ? sum[j] + d[j] : d[j];
		for (size_t j = 0; j < s->g->A; j++)
			all[j] += stats[j] * (float)samples(i);
	}
	for (size_t j = 0; j < s->g->A; j++)
		all[j] /= (float)n;
	nets_must(worker_step(s->wk, n, 0.05f / (float)(t + 1)));
	if (t % 2 == 1)
		worker_mark(s->wk);
	if (on_device)
		nets_must(worker_finish(s->wk, NULL));
	else
		push(s, sum, k->micro > 1 ? all : stats);
	free(sum);
	free(d);
	free(stats);
	free(all);
}

/* Evaluates the average if there is one, else the weights. */
static void
evaluate(struct pull *s, const struct kind *k, const struct nets_numbers *v)
{
	const bool averages = k->more.average.kind != AVERAGE_NONE;
	struct engine_result r;

	if (averages && worker_device_opt(s->wk)) {
		nets_must(worker_show(s->wk, true));
	} else if (averages) {
		nets_must(worker_average(s->wk, s->l->average, &s->l->averaged));
		nets_must(nets_load(s->e, s->p, s->g, &(struct nets_numbers){ .w = s->l->average,
		    .aux = s->l->average + s->g->P }));
	} else {
		pull(s);
	}
	nets_must(s->e->evaluate(s->p, NETS_SAMPLES(s->g, v->x, v->y, BATCH), &r, NULL));
	s->l->loss = r.loss;
	if (averages && worker_device_opt(s->wk))
		nets_must(worker_show(s->wk, false));
}

struct span {
	uint32_t first, end;	/* steps */
};

static struct result
run(const struct engine *e, struct engine_dev *dev, const struct graph *g, const struct kind *k,
    const struct nets_numbers *v, bool on_device, struct span of, const struct result *from)
{
	struct result l = room(g);
	struct pull s = { .e = e, .g = g, .l = &l };
	struct worker_opt o = { .graph = g, .nworkers = 1, .mults = k->mults, .slice = 512, .w = l.w, .aux = l.aux,
		.accumulate = k->micro > 1 };
	const bool averages = k->more.average.kind != AVERAGE_NONE;
	uint64_t at = 3 + of.first;

	memcpy(l.w, from != NULL ? from->w : v->w, g->P * sizeof(float));
	memcpy(l.aux, from != NULL ? from->aux : v->aux, g->A * sizeof(float));
	opt_usual(k->more.rule, &o.hyper);
	o.hyper.wd = k->more.wd;
	o.hyper.clip = k->more.clip;
	o.hyper.l1 = k->more.l1;
	o.hyper.clip_norm = k->more.clip_norm;
	o.hyper.average = k->more.average;
	o.hyper.unit = k->more.unit;
	o.hyper.turns = k->more.turns > 0 ? k->more.turns : o.hyper.turns;
	nets_must(engine_plan(e, dev, g, BATCH, k->precision, 0, &s.p));
	if (on_device) {
		o.engine = e;
		o.plan = s.p;
	}
	nets_must(worker_open(&o, &s.wk));
	nets_must(worker_begin(s.wk, from == NULL ? NULL : &(struct worker_first){ .state = from->state,
	    .average = averages ? from->average : NULL, .averaged = from->averaged }, &at));
	l.on_device = worker_device_opt(s.wk);
	for (uint32_t t = of.first; t < of.end; t++) {
		pull(&s);
		step(&s, k, v, t);
		if (t == 1)
			evaluate(&s, k, v);
	}
	nets_must(worker_ready(s.wk));
	nets_must(worker_read(s.wk));
	nets_must(worker_pull_state(s.wk, l.state));
	if (averages)
		nets_must(worker_average(s.wk, l.average, &l.averaged));
	worker_close(s.wk);
	e->plan_free(s.p);
	return l;
}

static bool
same(const float *a, const float *b, size_t n)
{
	return memcmp(a, b, n * sizeof(float)) == 0;
}

static double
distance(const float *a, const float *b, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		double d = (double)a[i] - (b != NULL ? (double)b[i] : 0);

		sum += d * d;
	}
	return sqrt(sum);
}

/* Muon's products sum in another order.  Several devices round a mean of each micro-batch only for a server. */
static bool
agrees_exactly(const struct kind *k)
{
	return k->more.rule != OPT_MUON && (k->micro == 1 || getenv("TEST_DEVICES") == NULL);
}

/* Are a and b equal, or near, relative to the distance of b from its start?  from NULL: zeros. */
static bool
agrees(const struct kind *k, const float *a, const float *b, const float *from, size_t n)
{
	if (agrees_exactly(k))
		return same(a, b, n);
	/*
	 * A weight that differs in its last bits may round to another bf16, which Muon's normalization amplifies in each
	 * step: products of TF32 are 0.11 apart after all steps.  Unrelated updates are 1.4 apart.
	 */
	return distance(a, b, n) <= (k->precision == ENGINE_F32 ? 1e-4 : 0.25) * distance(b, from, n);
}

/* The loss in evaluation, after two steps.  Products of TF32 change it by 7e-4. */
static double
loss_bound(const struct kind *k)
{
	if (agrees_exactly(k))
		return 0;
	return k->precision == ENGINE_F32 ? 1e-3 : 3e-3;
}

static bool
same_result(const struct result *a, const struct result *b, const struct graph *g, const struct kind *k)
{
	return same(a->w, b->w, g->P) && same(a->aux, b->aux, g->A) &&
	    same(a->state, b->state, g->P * opt_states(k->more.rule)) &&
	    same(a->average, b->average, g->P + g->A) && a->averaged == b->averaged;
}

static void
compare(const struct engine *e, struct engine_dev *dev, const struct kind *k)
{
	struct rng r = rng_start(9, 0, 0);
	struct graph *g = net(&r);
	struct nets_numbers v = nets_numbers(g, &r, BATCH);
	struct result device, server, half, resumed;
	struct engine_plan *p;

	if (engine_plan(e, dev, g, BATCH, k->precision, 0, &p) == ERR_NOTSUP) {
		skip(k->name, err_line());
		nets_numbers_free(&v);
		graph_free(g);
		return;
	}
	e->plan_free(p);
	nets_must(freeze_rules(g, k->mults));
	device = run(e, dev, g, k, &v, true, (struct span){ 0, STEPS }, NULL);
	server = run(e, dev, g, k, &v, false, (struct span){ 0, STEPS }, NULL);
	half = run(e, dev, g, k, &v, true, (struct span){ 0, STEPS / 2 }, NULL);
	resumed = run(e, dev, g, k, &v, true, (struct span){ STEPS / 2, STEPS }, &half);
	ok(device.on_device && !server.on_device, "%s: %s: the optimizer runs on the device", e->name, k->name);
	ok(agrees(k, device.w, server.w, v.w, g->P) && !same(device.w, v.w, g->P),
	    "%s: %s: weights on the device agree with a server's, and change", e->name, k->name);
	ok(agrees(k, device.aux, server.aux, v.aux, g->A), "%s: %s: statistics on the device agree with a server's",
	    e->name, k->name);
	ok(agrees(k, device.state, server.state, NULL, g->P * opt_states(k->more.rule)),
	    "%s: %s: the optimizer state on the device agrees with a server's", e->name, k->name);
	ok(agrees(k, device.average, server.average, v.w, g->P) && device.averaged == server.averaged &&
	    agrees(k, device.average + g->P, server.average + g->P, v.aux, g->A),
	    "%s: %s: the average on the device agrees with a server's", e->name, k->name);
	ok(fabs(device.loss - server.loss) <= loss_bound(k) * server.loss,
	    "%s: %s: the loss on the device agrees with a server's within the run", e->name, k->name);
	ok(same_result(&device, &resumed, g, k),
	    "%s: %s: a resumed run on the device has the same bits", e->name, k->name);
	result_free(&device);
	result_free(&server);
	result_free(&half);
	result_free(&resumed);
	nets_numbers_free(&v);
	graph_free(g);
}

/* A NaN gradient changes nothing, and the next call reports it. */
static void
refuse_nan(const struct engine *e, struct engine_dev *dev, enum opt_rule rule)
{
	struct rng r = rng_start(9, 0, 0);
	struct graph *g = net(&r);
	struct nets_numbers v = nets_numbers(g, &r, BATCH);
	const size_t first = g->w[0].count;
	struct engine_group range[] = { { 0, first, 1, 1, g->w[0].dim[0] }, { first, g->P - first, 1, 1, 0 } };
	float *w = nets_floats(g->P), *state = nets_floats(g->P), *zeros = nets_floats(g->P);
	struct engine_opt how = { .group = range, .ngroup = 2, .state = zeros };
	char line[256];
	struct engine_result result;
	struct engine_plan *p;

	opt_usual(rule, &how.hyper);
	nets_must(engine_plan(e, dev, g, BATCH, ENGINE_F32, 0, &p));
	nets_must(nets_load(e, p, g, &v));
	nets_must(e->device_opt->begin(p, &how));
	is(e->device_opt->step(p, 0, 0.1f, 1, false), 0,
	    "%s: %s: a step of no samples succeeds", e->name, opt_name(rule));
	v.x[5] = NAN;
	nets_must(e->forward(p, NETS_SAMPLES(g, v.x, v.y, BATCH), NULL, NULL, &result));
	nets_must(e->backward(p, NULL, NULL, NULL));
	is(e->device_opt->step(p, BATCH, 0.1f, 2, false), 0,
	    "%s: %s: step() returns at once despite a NaN gradient", e->name, opt_name(rule));
	is(e->device_opt->fetch(p, w, NULL, state, NULL, NULL), ERR_FORMAT,
	    "%s: %s: fetch() fails after a NaN gradient", e->name, opt_name(rule));
	/* The NaN passes through the whole net, so the last array has it too and is reported first. */
	snprintf(line, sizeof(line), "step 2: the gradient of %s is NaN or infinite", g->w[g->nw - 1].name);
	ok(strstr(err_line(), line) == err_line(),
	    "%s: %s: fetch() names the array with the NaN gradient", e->name, opt_name(rule));
	ok(same(w, v.w, g->P) && same(state, zeros, g->P),
	    "%s: %s: a step with a NaN gradient changes nothing", e->name, opt_name(rule));
	is(e->forward(p, NETS_SAMPLES(g, v.x, v.y, BATCH), NULL, NULL, &result), ERR_FORMAT,
	    "%s: %s: the next forward() reports the NaN gradient too", e->name, opt_name(rule));
	e->plan_free(p);
	free(w);
	free(state);
	free(zeros);
	nets_numbers_free(&v);
	graph_free(g);
}

/* After the first step forward() enqueues its backward pass, whose gradients replace those with a NaN. */
static void
name_nan(const struct engine *e, struct engine_dev *dev)
{
	struct rng r = rng_start(9, 0, 0);
	struct graph *g = net(&r);
	struct nets_numbers v = nets_numbers(g, &r, BATCH);
	const struct engine_group range = { 0, g->P, 1, 1, 0 };
	float *zeros = nets_floats(g->P), finite = v.x[5];
	struct engine_opt how = { .group = &range, .ngroup = 1, .state = zeros };
	char line[256];
	struct engine_result result;
	struct engine_plan *p;

	opt_usual(OPT_SGD, &how.hyper);
	nets_must(engine_plan(e, dev, g, BATCH, ENGINE_F32, 0, &p));
	nets_must(nets_load(e, p, g, &v));
	nets_must(e->device_opt->begin(p, &how));
	for (uint64_t t = 1; t <= 3; t++) {
		v.x[5] = t == 3 ? NAN : finite;
		nets_must(e->forward(p, NETS_SAMPLES(g, v.x, v.y, BATCH), NULL, NULL, &result));
		nets_must(e->backward(p, NULL, NULL, NULL));
		nets_must(e->device_opt->step(p, BATCH, 0.001f, t, false));
	}
	v.x[5] = finite;
	is(e->forward(p, NETS_SAMPLES(g, v.x, v.y, BATCH), NULL, NULL, &result), ERR_FORMAT,
	    "%s: forward() fails after a NaN gradient, although its own batch is finite", e->name);
	snprintf(line, sizeof(line), "step 3: the gradient of %s is NaN or infinite", g->w[g->nw - 1].name);
	ok(strstr(err_line(), line) == err_line(),
	    "%s: forward() names the array with the NaN gradient, not one of its own batch: %s", e->name, err_line());
	e->plan_free(p);
	free(zeros);
	nets_numbers_free(&v);
	graph_free(g);
}

static void
engine(const struct engine *e, struct engine_dev *dev)
{
	if (e->device_opt == NULL) {
		skip(e->name, "has no device optimizer");
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		compare(e, dev, &kinds[i]);
	refuse_nan(e, dev, OPT_SGD);
	refuse_nan(e, dev, OPT_MUON);
	name_nan(e, dev);
}

static void
run_devices(const char *devices)
{
	const struct engine *e = NULL;
	struct engine_dev *dev;

	if (split_open(devices, 2, &e, &dev) < 0) {
		skip(devices, err_line());
		return;
	}
	engine(e, dev);
	e->close(dev);
}

int
main(void)
{
	if (getenv("TEST_DEVICES") != NULL)
		run_devices(getenv("TEST_DEVICES"));
	else
		nets_engines(2, engine);
	return done();
}
