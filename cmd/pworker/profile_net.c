/* profile_net - prints what each layer of a net costs in training steps on random samples. */
#include "pworker/pworker.h"
#include "front.h"

#include "base/clk.h"
#include "base/err.h"
#include "base/rng.h"
#include "engine/split/split.h"
#include "log/profile.h"
#include "net/init.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A net with its arrays and a batch of random samples. */
struct bench {
	const struct engine *engine;
	struct engine_dev *dev;
	struct engine_plan *plan;
	const struct graph *graph;
	struct samples samples;
	float *w, *aux, *x, *g, *stats, *target;
	int32_t *y;
};

/* The rows of a profile, which become text. */
struct rows {
	const struct graph *graph;
	uint64_t steps;
	struct profile_whole whole;
	struct buf *out;
};

static void *
allocate_zeroed(size_t count, size_t size)
{
	void *p = calloc(count + 1, size);

	if (p == NULL)
		front_die("--profile", err_nomem());
	return p;
}

static void
open_bench(struct bench *b, const struct train_opt *o)
{
	const struct graph_node *data = &b->graph->node[0];
	size_t values = (size_t)o->data.batch * data->c * data->h * data->w;
	struct rng r = rng_start(o->seed, 0, 0);
	int e;

	b->w = allocate_zeroed(b->graph->P, sizeof(float));
	b->g = allocate_zeroed(b->graph->P, sizeof(float));
	b->aux = allocate_zeroed(b->graph->A, sizeof(float));
	b->stats = allocate_zeroed(b->graph->A, sizeof(float));
	b->x = allocate_zeroed(values, sizeof(float));
	b->y = allocate_zeroed(o->data.batch, sizeof(*b->y));
	for (size_t i = 0; i < values; i++)
		b->x[i] = rng_normal(&r);
	for (uint32_t i = 0; i < o->data.batch; i++)
		b->y[i] = (int32_t)rng_below(&r, b->graph->classes);
	b->samples = (struct samples) { .n = o->data.batch, .c = data->c, .h = data->h, .w = data->w, .x = b->x,
	    .y = b->y, .targets = graph_targets(b->graph) };
	b->target = allocate_zeroed((size_t)o->data.batch * b->samples.targets, sizeof(*b->target));
	b->samples.target = b->samples.targets > 0 ? b->target : NULL;
	if ((e = init_weights(b->graph, o->init, o->seed, b->w, b->aux)) < 0 ||
	    (e = engine_plan(b->engine, b->dev, b->graph, o->data.batch, o->precision, 0, &b->plan)) < 0)
		front_die("--profile", e);
	for (uint32_t a = 0; a < b->graph->nw && e == 0; a++)
		e = b->engine->load(b->plan, a, b->w + b->graph->w[a].first);
	if (e < 0 || (e = b->engine->load_aux(b->plan, b->aux)) < 0)
		front_die("--profile", e);
}

static void
close_bench(struct bench *b)
{
	b->engine->plan_free(b->plan);
	b->engine->close(b->dev);
	free(b->w);
	free(b->g);
	free(b->aux);
	free(b->stats);
	free(b->x);
	free(b->y);
	free(b->target);
}

/* Runs training steps, and returns their mean time. */
static double
time_steps(struct bench *b, uint64_t steps)
{
	struct engine_result result;
	uint64_t from = clk_ns();
	int e = 0;

	for (uint64_t i = 0; i < steps && e == 0; i++)
		if ((e = b->engine->forward(b->plan, &b->samples, NULL, NULL, &result)) == 0)
			e = b->engine->backward(b->plan, b->g, b->stats, NULL);
	front_must("--profile", e);
	return (double)(clk_ns() - from) * 1e-9 / (double)steps;
}

static int
put_cost(void *arg, const struct engine_cost *c)
{
	static const char *const direction[] = {
		[ENGINE_FORWARD] = "forward", [ENGINE_BACKWARD] = "backward", [ENGINE_WEIGHT] = "weight",
		[ENGINE_DATA] = "data",
	};
	struct rows *r = arg;
	const double steps = (double)r->steps;
	const struct profile_row row = { .layer = r->graph->node[c->node].name, .direction = direction[c->direction],
	    .seconds = (double)c->ns * 1e-9 / steps, .flops = 2 * (double)c->macs / steps,
	    .bytes = (double)c->bytes / steps };

	return profile_put(r->out, &row, &r->whole);
}

static void
print_comment(const struct pworker *p, const struct bench *b, const struct rows *r)
{
	char host[256] = "?";
	struct buf device = { 0 };

	gethostname(host, sizeof(host) - 1);
	if (b->engine->describe(b->dev, &device) < 0)
		front_die("--profile", ERR_NOMEM);
	for (size_t i = 0; i < device.n; i++)
		if (device.p[i] == ' ')
			device.p[i] = '_';
	printf("# tally %s tool=pworker host=%s net=%s engine=%s dtype=%s batch=%" PRIu32 " steps=%" PRIu64
	    " device=%.*s product_gflops=%.6g memory_gb_per_s=%.6g\n", TALLY_VERSION, host, p->net, b->engine->name,
	    engine_precision_name(p->train.precision), p->train.data.batch, r->steps, (int)device.n,
	    (const char *)device.p, r->whole.flops_per_s * 1e-9, r->whole.bytes_per_s * 1e-9);
	buf_free(&device);
}

int
pworker_profile(struct pworker *p)
{
	struct graph *g = pworker_net_of_records(p);
	struct bench b = { .engine = engine_find(p->engine), .graph = g };
	struct buf text = { 0 };
	struct rows r = { .graph = g, .steps = p->profile, .out = &text };
	struct engine_peaks peaks;
	int e;

	if (b.engine == NULL)
		front_die("--engine", ERR_ARG);
	front_must(NULL, split_open(p->train.devices, p->train.threads, &b.engine, &b.dev));
	if (b.engine->profiler == NULL)
		front_wrong("--profile: engine %s does not measure its layers; use --engine cpu", b.engine->name);
	p->train.data.batch = pworker_largest_batch(p);
	open_bench(&b, &p->train);
	time_steps(&b, 1);	/* fills caches and starts threads */
	if ((e = b.engine->profiler->peaks(b.plan, &peaks)) < 0 || (e = b.engine->profiler->start(b.plan)) < 0)
		front_die("--profile", e);
	r.whole = (struct profile_whole) { .flops_per_s = 2 * peaks.macs_per_s, .bytes_per_s = peaks.bytes_per_s };
	r.whole.step_s = time_steps(&b, r.steps);
	if ((e = profile_head(&text)) < 0 || (e = b.engine->profiler->stop(b.plan, put_cost, &r)) < 0 ||
	    (e = profile_put(&text, &(struct profile_row) { "all", "step", r.whole.step_s, 0, 0 }, &r.whole)) < 0)
		front_die("--profile", e);
	print_comment(p, &b, &r);
	fwrite(text.p, 1, text.n, stdout);
	front_flush();
	buf_free(&text);
	close_bench(&b);
	graph_free(g);
	return 0;
}
