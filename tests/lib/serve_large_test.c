/*
 * serve_large_test - slices of any size, with and without a key, give the same weights.
 *
 * Large slices are received where the state machines have them, and sent without a copy.  Small ones are not.
 */
#include "tap.h"

#include "base/err.h"
#include "base/rng.h"
#include "ps/server/serve.h"
#include "ps/worker/worker.h"
#include "wire/addr.h"
#include "wire/conn.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { W = 3, S = 2, STEPS = 5, FLOATS = 64 * 2001 };

struct job {
	struct graph *graph;
	const uint8_t *key;
	uint32_t slack, slice, nworkers;
	char where[S][ADDR_TEXT], *server[S];
};

struct role {
	pthread_t thread;
	struct job *job;
	uint32_t index;
	int err, told[2];
	float *w;		/* [FLOATS] of a worker at the end */
};

static void
report_place(void *arg, const char *where)
{
	struct role *r = arg;

	snprintf(r->job->where[r->index], ADDR_TEXT, "%s", where);
	(void)!write(r->told[1], "!", 1);
}

static void *
run_server(void *arg)
{
	struct role *r = arg;
	struct serve_opt o = { .listen = "127.0.0.1:0", .nworkers = r->job->nworkers, .index = r->index, .nservers = S,
	    .key = r->job->key, .incarnation = 7 + r->index, .stop_fd = -1, .listening = report_place, .arg = r };
	struct serve_sums sums;

	if ((r->err = serve_run(&o, &sums)) < 0)
		printf("# %s\n", err_line());
	(void)!write(r->told[1], "!", 1);
	return NULL;
}

static int
run_step(const struct role *r, struct worker *wk, float *g, uint64_t step)
{
	struct rng c = rng_start(step, r->index, 0);
	int e = worker_step(wk, 1 + r->index, 0.05f);

	for (size_t i = 0; i < FLOATS; i++)
		g[i] = rng_normal(&c) + 0.1f * r->w[i];
	if (e == 0)
		e = worker_push(wk, 0, g);
	if (e == 0)
		e = worker_finish(wk, NULL);
	return e == 0 ? worker_ready(wk) : e;
}

static void *
run_worker(void *arg)
{
	struct role *r = arg;
	float *g = calloc(FLOATS, sizeof(float));
	struct worker_opt o = { .graph = r->job->graph, .rank = r->index, .nworkers = r->job->nworkers,
	    .slack = r->job->slack, .incarnation = 100 + r->index, .server = r->job->server, .nservers = S,
	    .key = r->job->key, .slice = r->job->slice, .w = r->w };
	struct worker *wk = NULL;
	uint64_t step = 0;

	opt_usual(OPT_ADAM, &o.hyper);
	if ((r->err = worker_open(&o, &wk)) == 0)
		r->err = worker_begin(wk, NULL, &step);
	for (; r->err == 0 && step < STEPS; step++)
		r->err = run_step(r, wk, g, step);
	if (r->err == 0)
		r->err = worker_bye(wk);
	if (r->err < 0)
		printf("# worker: %s\n", err_line());
	worker_close(wk);
	free(g);
	return NULL;
}

/* Runs a job.  The caller frees the weights of worker 0; NULL if it failed or another worker has others. */
static float *
run_job(const uint8_t *key, uint32_t slice, uint32_t slack, uint32_t nworkers)
{
	struct job job = { .key = key, .slack = slack, .slice = slice, .nworkers = nworkers,
	    .graph = graph_new(64, 1, 1) };
	struct role server[S] = { 0 }, worker[W] = { 0 };
	uint32_t at = 0, bad = 0;
	char byte;

	graph_add(job.graph, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = &at, .nin = 1, .k = FLOATS / 64 }, &at);
	graph_add(job.graph, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at, .nin = 1 }, &at);
	for (uint32_t s = 0; s < S; s++) {
		server[s] = (struct role){ .job = &job, .index = s };
		bad += pipe(server[s].told) < 0 || pthread_create(&server[s].thread, NULL, run_server, &server[s]) != 0 ||
		    read(server[s].told[0], &byte, 1) != 1;
		job.server[s] = job.where[s];
	}
	for (uint32_t w = 0; w < nworkers; w++) {
		worker[w] = (struct role){ .job = &job, .index = w, .w = calloc(FLOATS, sizeof(float)) };
		for (size_t i = 0; w == 0 && i < FLOATS; i++)
			worker[w].w[i] = (float)(i % 1000) * 1e-3f;
		bad += pthread_create(&worker[w].thread, NULL, run_worker, &worker[w]) != 0;
	}
	for (uint32_t w = 0; w < nworkers; w++) {
		pthread_join(worker[w].thread, NULL);
		bad += worker[w].err < 0 || memcmp(worker[w].w, worker[0].w, slack == STALE_SYNC ?
		    FLOATS * sizeof(float) : 0) != 0;
	}
	for (uint32_t s = 0; s < S; s++) {
		pthread_join(server[s].thread, NULL);
		bad += server[s].err < 0;
		close(server[s].told[0]);
		close(server[s].told[1]);
	}
	for (uint32_t w = 0; w < nworkers; w++)
		if (w > 0 || bad > 0)
			free(worker[w].w);
	graph_free(job.graph);
	return bad > 0 ? NULL : worker[0].w;
}

static void
compare_jobs(const uint8_t *key, uint32_t slice, uint32_t slack, uint32_t nworkers, const float *want)
{
	float *w = run_job(key, slice, slack, nworkers);

	ok(w != NULL && want != NULL && memcmp(w, want, FLOATS * sizeof(float)) == 0,
	    "slices of %u bytes %s give the same weights", (unsigned)slice, key != NULL ? "with a key" : "without a key");
	free(w);
}

int
main(void)
{
	static const uint8_t key[CONN_KEY] = "one key for the whole of a job.";
	float *sync = run_job(key, 4000, STALE_SYNC, W), *alone = run_job(key, 4000, STALE_ASYNC, 1);

	ok(sync != NULL && alone != NULL, "jobs with slices of 4000 bytes end well");
	compare_jobs(key, 100000, STALE_SYNC, W, sync);
	compare_jobs(NULL, 100000, STALE_SYNC, W, sync);
	compare_jobs(NULL, 1 << 20, STALE_SYNC, W, sync);
	compare_jobs(key, 100000, STALE_ASYNC, 1, alone);
	compare_jobs(NULL, 100000, STALE_ASYNC, 1, alone);
	free(sync);
	free(alone);
	return done();
}
