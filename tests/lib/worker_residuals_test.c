/* worker_residuals_test - no part of a gradient is lost or counted twice if a worker with a codec dies within a step. */
#include "tap.h"

#include "base/err.h"
#include "ps/server/server_state.h"
#include "ps/worker/worker_state.h"

#include <math.h>
#include <stdlib.h>

#define STEP	2u	/* batches of this worker in an elastic job of two are 0, 2, 4 ... */

static struct job {
	struct graph *g;
	struct server_state *server;
	struct worker_opt o;
	struct worker_state *worker;
	struct memory none;
	unsigned pushes;		/* that the server still gets */
} job;

static void
to_server(void *arg, uint32_t s, const struct msg *m)
{
	(void)arg, (void)s;
	if (m->type == MSG_PUSH && (job.pushes == 0 || job.pushes-- == 0))
		return;
	if (server_state_take(job.server, m) < 0)
		ok(0, "the server takes a %s: %s", msg_name(m->type), err_line());
}

static void
to_worker(void *arg, uint32_t w, const struct msg *m)
{
	(void)arg;
	if (w == 0 && job.worker != NULL && worker_state_take(job.worker, 0, m) < 0)
		ok(0, "the worker takes a %s: %s", msg_name(m->type), err_line());
}

/* a [8,16] and b [4,8]. */
static struct graph *
net(void)
{
	struct graph *g = graph_new(1, 4, 4);
	uint32_t at = 0;

	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = (uint32_t[]){ at }, .nin = 1, .k = 8 }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "b", .in = (uint32_t[]){ at }, .nin = 1, .k = 4 }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = (uint32_t[]){ at }, .nin = 1 }, &at);
	return g;
}

static bool
has_weights(void)
{
	bool all = true;
	uint32_t s;

	for (uint32_t a = 0; a < job.g->nw; a++)
		all &= worker_state_missing(job.worker, WORKER_WAIT_ARRAY, a, &s) == 0;
	return all && worker_state_missing(job.worker, WORKER_WAIT_ALL, 0, &s) == 0;
}

/* A worker joins, or returns; returns the step at which it goes on. */
static uint64_t
start(void)
{
	uint64_t step = 99;

	job.o.incarnation++;
	job.pushes = UINT32_MAX;
	worker_state_free(job.worker);
	worker_state_new(&(struct worker_state_opt){ .worker = &job.o, .nservers = 1, .emit = to_server }, &job.worker);
	worker_state_hello(job.worker, 0);
	worker_state_begin(job.worker, NULL, 0);
	ok(has_weights() && worker_state_begun(job.worker, &step) == 0, "a worker begins");
	return step;
}

/* A step in which all gradients are v, of `arrays` arrays, of which the server gets `pushes` slices. */
static void
compute(float v, uint32_t arrays, unsigned pushes, uint64_t at)
{
	float *g = calloc(job.g->P, sizeof(*g));
	uint32_t workers;

	for (size_t i = 0; i < job.g->P; i++)
		g[i] = v;
	if (job.o.elastic > 0)
		worker_state_deal(job.worker, at, &workers);
	worker_state_step(job.worker, 1, 1);
	job.pushes = pushes;
	for (uint32_t a = job.g->nw; a-- > job.g->nw - arrays;) {
		worker_state_encode(job.worker, a, g);
		worker_state_push(job.worker, a, g);
	}
	if (arrays == job.g->nw)
		worker_state_finish(job.worker, g);
	has_weights();
	free(g);
}

/* How many weights have got and still owe `sum` together. */
static unsigned
count(float sum, unsigned parity)
{
	const struct shard_plan *p = server_state_plan(job.server);
	const float *w, *m, *rest = job.o.residuals->residual + parity * job.g->P;
	unsigned n = 0;

	for (uint32_t i = 0; i < p->nweights; i++) {
		server_state_slice(job.server, i, &w, &m);
		for (size_t f = 0; f < p->slice[i].count; f++)
			n += fabsf(rest[p->slice[i].first + f] - w[f] - sum) < 1e-5f;
	}
	return n;
}

static void
test(uint32_t elastic, uint32_t arrays, unsigned pushes)
{
	struct server_state_opt so = { .nworkers = 2, .elastic = elastic, .nservers = 1, .emit = to_worker };
	const uint64_t unit = elastic > 0 ? STEP : 1;
	unsigned all, of_first;

	job = (struct job){ .g = net(), .none = { .fd = -1 } };
	all = (unsigned)job.g->P;
	of_first = pushes * 8;
	job.o = (struct worker_opt){ .graph = job.g, .nworkers = 2, .elastic = elastic, .slack = STALE_ASYNC, .slice = 32,
	    .mults = "codec:*=2bit:0.5", .w = calloc(all, sizeof(float)), .aux = calloc(1, sizeof(float)),
	    .memory = &job.none, .residuals = calloc(1, worker_residuals_size("codec:*=2bit:0.5", all)) };
	server_state_new(&so, &job.server);
	start();
	compute(0.375f, job.g->nw, UINT32_MAX, 0);
	compute(0.25f, job.g->nw, UINT32_MAX, 1);
	is(count(0.625f, 0), all, "each weight has got two gradients, but for the residual");
	compute(0.125f, arrays, pushes, unit + 1);
	is(start(), unit + 1, "a successor goes on at the step that is not complete");
	compute(0.4375f, job.g->nw, UINT32_MAX, unit + 1);
	is(count(0.75f, 1), of_first, "the slices that got the first gradient have no part of the second one");
	is(count(1.0625f, 1), all - of_first, "the others have the second one");
	compute(0.3125f, job.g->nw, UINT32_MAX, 2 * unit + 1);
	is(count(1.0625f, 0) + count(1.375f, 0), all, "the step after it goes on from either residual");
	is(start(), 3 * unit + 1, "another successor has nothing to repeat");
	compute(0.0625f, job.g->nw, UINT32_MAX, 3 * unit + 1);
	is(count(1.125f, 1) + count(1.4375f, 1), all, "another successor goes on from its residuals");
	worker_state_free(job.worker);
	server_state_free(job.server);
	free(job.o.w);
	free(job.o.aux);
	free(job.o.residuals);
	graph_free(job.g);
}

int
main(void)
{
	for (uint32_t elastic = 0; elastic <= 2; elastic += 2) {
		test(elastic, 2, 0);	/* all are encoded, and none has arrived */
		test(elastic, 2, 7);
		test(elastic, 1, 3);	/* those of an array are not encoded yet */
	}
	return done();
}
