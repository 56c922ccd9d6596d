/* worker_first_test - what a job's start sends: no state of zeros, and no weights back to the worker that sent them. */
#include "tap.h"

#include "base/err.h"
#include "ps/server/server_state.h"
#include "ps/worker/worker_state.h"

#include <stdlib.h>

#define W	2

static struct graph *
net(void)
{
	struct graph *g = graph_new(1, 4, 4);
	uint32_t at = 0;

	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = &at, .nin = 1, .k = 8 }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at, .nin = 1 }, &at);
	return g;
}

static struct job {
	struct server_state *server;
	struct worker_opt o[W];
	struct worker_state *worker[W];
	uint32_t states;		/* slices of optimizer state that were sent */
	uint32_t answers[W], bytes[W];	/* of first weights */
} job;

static void
to_server(void *arg, uint32_t s, const struct msg *m)
{
	(void)arg, (void)s;
	job.states += m->type == MSG_INIT && m->flags & MSG_STATE_OF;
	if (server_state_take(job.server, m) < 0)
		ok(0, "the server takes a %s: %s", msg_name(m->type), err_line());
}

static void
to_worker(void *arg, uint32_t w, const struct msg *m)
{
	(void)arg;
	job.answers[w] += m->type == MSG_WEIGHTS;
	job.bytes[w] += m->type == MSG_WEIGHTS ? m->len : 0;
	if (worker_state_take(job.worker[w], 0, m) < 0)
		ok(0, "worker %u takes a %s: %s", w, msg_name(m->type), err_line());
}

/* Begins a job with weights 1, 2, 3 ... and this state. */
static void
begin(struct graph *g, const char *mults, const float *state)
{
	struct server_state_opt so = { .nworkers = W, .nservers = 1, .emit = to_worker };
	struct worker_first first = { .state = state };

	job = (struct job){ .states = 0 };
	server_state_new(&so, &job.server);
	for (uint32_t w = 0; w < W; w++) {
		struct worker_state_opt bo = { .worker = &job.o[w], .nservers = 1, .emit = to_server };

		job.o[w] = (struct worker_opt){ .graph = g, .rank = w, .nworkers = W, .incarnation = 1 + w, .slice = 32,
		    .hyper = { .momentum = 0.9f }, .mults = mults, .w = calloc(g->P, sizeof(float)),
		    .aux = calloc(g->A + 1, sizeof(float)) };
		worker_state_new(&bo, &job.worker[w]);
		worker_state_hello(job.worker[w], 0);
	}
	for (size_t i = 0; i < g->P; i++)
		job.o[0].w[i] = 1 + (float)i / 1024;
	for (uint32_t w = 0; w < W; w++)
		worker_state_begin(job.worker[w], w == 0 ? &first : NULL, 0);
}

/* Both workers have begun; returns whether they have the same weights. */
static int
ends(const struct graph *g)
{
	int same;

	for (uint32_t w = 0; w < W; w++) {
		uint64_t step = 9;
		uint32_t s;

		for (uint32_t a = 0; a < g->nw; a++)
			is(worker_state_missing(job.worker[w], WORKER_WAIT_ARRAY, a, &s), 0, "worker %u has its weights", w);
		is(worker_state_begun(job.worker[w], &step), 0, "worker %u has begun", w);
		is(step, 0, "worker %u is at the first step", w);
	}
	same = memcmp(job.o[0].w, job.o[1].w, g->P * sizeof(float)) == 0;
	for (uint32_t w = 0; w < W; w++) {
		worker_state_free(job.worker[w]);
		free(job.o[w].w);
		free(job.o[w].aux);
	}
	server_state_free(job.server);
	return same;
}

int
main(void)
{
	struct graph *g = net();
	float *state = calloc(g->P, sizeof(*state));
	const uint32_t slices = (uint32_t)(g->P * sizeof(float) / 32);

	begin(g, NULL, state);
	is(job.states, 0, "a first state that is zero is not sent");
	ok(job.answers[0] > 0 && job.bytes[0] == 0, "worker 0 does not pull back the weights that it sent");
	is(job.bytes[1], g->P * sizeof(float), "the other worker gets all weights");
	ok(ends(g), "both workers have the same weights");
	state[9] = 1;
	begin(g, NULL, state);
	is(job.states, 1, "a state with one number is sent for its slice alone");
	ends(g);
	state[9] = -0.0f;
	begin(g, NULL, state);
	is(job.states, 1, "a negative zero is sent, as it has other bits");
	ends(g);
	begin(g, "codec:*=bf16", state);
	is(job.bytes[0], g->P * 2, "a worker with a codec gets its weights back, rounded");
	is(job.answers[0], slices, "a worker with a codec gets an answer for each slice");
	ok(ends(g), "both workers have the same rounded weights");
	free(state);
	graph_free(g);
	return done();
}
