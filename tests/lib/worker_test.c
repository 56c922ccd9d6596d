/* worker_test - a worker with the server's state machine in its own process: a step, sums, state, the end. */
#include "tap.h"

#include "base/err.h"
#include "net/optim/opt.h"
#include "ps/worker/worker.h"

#include <stdlib.h>

static struct graph *
net(void)
{
	struct graph *g = graph_new(1, 2, 3);
	uint32_t at = 0;

	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = &at, .nin = 1, .k = 4, .bias = true }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_BN, .name = "bn", .in = &at, .nin = 1, .eps = 1e-3f,
	    .momentum = 0.9f }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at, .nin = 1 }, &at);
	return g;
}

static void
one_step(struct worker *wk, const struct graph *g, uint32_t n, const float *grad, const float *stats)
{
	int e = worker_step(wk, n, 0.1f);

	for (uint32_t a = g->nw; n > 0 && a-- > 0;)
		e = e < 0 ? e : worker_push(wk, a, grad);
	e = e < 0 ? e : worker_finish(wk, stats);
	for (uint32_t a = 0; a < g->nw; a++)
		e = e < 0 ? e : worker_need(wk, a);
	is(e < 0 ? e : worker_ready(wk), 0, "a step of %u samples", n);
}

/* With a slack what Adam counts are pushes, which a checkpoint brings along. */
static void
updates(void)
{
	struct graph *g = net();
	float *w = calloc(g->P, sizeof(*w)), *aux = calloc(g->A + 1, sizeof(*aux)), *d = calloc(g->P, sizeof(*d));
	float *want = calloc(g->P, sizeof(*want)), *state = calloc(2 * g->P, sizeof(*state));
	struct worker_opt o = { .graph = g, .nworkers = 1, .slack = 1, .w = w, .aux = aux };
	struct worker *wk = NULL;
	struct opt_hyper h;
	uint64_t step = 3;

	opt_usual(OPT_ADAM, &o.hyper);
	for (size_t i = 0; i < g->P; i++)
		d[i] = (float)i - 2.5f;
	h = o.hyper;
	h.lr = 0.1f;
	h.t = 1000;
	opt_step(want, state, d, g->P, 1, &h);
	is(worker_open(&o, &wk), 0, "a worker with a slack");
	is(worker_begin(wk, &(struct worker_first){ .updates = 999 }, &step), 0, "begun at step 3 with 999 updates");
	is(step, 3, "the worker begins at step 3");
	worker_step(wk, 1, 0.1f);
	for (uint32_t a = 0; a < g->nw; a++)
		worker_push(wk, a, d);
	worker_finish(wk, aux);
	is(worker_ready(wk), 0, "a push");
	ok(memcmp(w, want, g->P * sizeof(*w)) == 0, "the push is Adam's update 1000");
	is(worker_updates(wk), 1000, "update 1000 is counted");
	worker_close(wk);
	graph_free(g);
	free(w), free(aux), free(d), free(want), free(state);
}

int
main(void)
{
	struct graph *g = net();
	float w[64], m[64], v[64], aux[8], fold[8], grad[64], stats[8], state[64];
	struct worker_opt o = { .graph = g, .nworkers = 1, .hyper = { .momentum = 0.9f, .wd = 0.01f }, .w = w,
	    .aux = aux, .slice = 40 };
	struct opt_hyper h = { .lr = 0.1f, .momentum = 0.9f, .wd = 0.01f };
	struct worker *wk;
	uint64_t step = 5, sent, got;
	double x[2] = { 1.5, -2 }, waited;

	for (size_t i = 0; i < g->P; i++) {
		v[i] = w[i] = (float)i;
		m[i] = state[i] = 0.5f;
		grad[i] = 1.0f / (float)(i + 1);
	}
	for (size_t i = 0; i < g->A; i++) {
		fold[i] = aux[i] = 1;
		stats[i] = (float)i;
	}
	is(worker_open(&o, &wk), 0, "open");
	is(worker_begin(wk, &(struct worker_first){ .state = state }, &step), 0, "begin");
	is(step, 5, "the steps already done are kept");
	ok(memcmp(w, v, g->P * sizeof(float)) == 0, "the loaded weights are kept");
	one_step(wk, g, 4, grad, stats);
	opt_step(v, m, grad, g->P, 4, &h);
	ok(memcmp(w, v, g->P * sizeof(float)) == 0, "weights took the rule's step, in slices");
	for (size_t i = 0; i < g->A; i++)
		stats[i] *= 4;
	opt_fold_to(fold, stats, g->A, 4, 0.9f, fold);
	ok(memcmp(aux, fold, g->A * sizeof(float)) == 0, "statistics were folded");
	is(worker_steps(wk), 6, "steps are counted");
	is(worker_pull_state(wk, state), 0, "state");
	ok(memcmp(state, m, g->P * sizeof(float)) == 0, "the pulled state is the momentum");
	one_step(wk, g, 0, NULL, NULL);
	ok(memcmp(w, v, g->P * sizeof(float)) == 0, "without samples weights stay");
	is(worker_sum(wk, 0, x, 2), 0, "a sum");
	ok(x[0] == 1.5 && x[1] == -2, "the sum of one worker is its own");
	ok(!worker_last(wk), "the last step is not reached");
	is(worker_stop(wk), 0, "stop");
	ok(!worker_last(wk), "a stop does not end the current step");
	one_step(wk, g, 1, grad, stats);
	ok(worker_last(wk), "the step after a stop is the last");
	is(worker_bye(wk), 0, "bye");
	worker_traffic(wk, &sent, &got, &waited);
	is(sent + got, 0, "nothing was sent");
	worker_close(wk);
	o.nworkers = 2;
	is(worker_open(&o, &wk), ERR_ARG, "two workers need a server");
	worker_close(NULL);
	graph_free(g);
	updates();
	return done();
}
