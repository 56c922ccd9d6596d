/* serving - servers and workers over loopback, each on a thread, for the tests of ps/server/serve.h. */
#ifndef TESTS_LIB_SERVING_H
#define TESTS_LIB_SERVING_H

#include "tap.h"

#include "base/err.h"
#include "base/rng.h"
#include "ps/server/serve.h"
#include "ps/worker/worker.h"
#include "wire/addr.h"
#include "wire/conn.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define W	3
#ifndef S
#define S	2
#endif
#define STEPS	6
#define MOST	64	/* floats of any array here */

struct party {
	pthread_t	 thread;
	struct job	*job;
	struct serve_opt serve;
	struct serve_sums sums;
	struct worker_opt o;
	float		 w[MOST], aux[MOST], g[MOST], stats[MOST];
	int		 err;
	char		 line[400], where[ADDR_TEXT], said[400];
	int		 told[2];	/* pipe: the server listens */
	uint64_t	 steps, sent, got;
	uint64_t	 quit;		/* a worker closes without a word after so many steps; 0: never */
	uint64_t	 stop;		/* it asks for the end after so many; 0: never */
	int		 pause_ms;	/* a server is stopped for so long when it says a line that begins so; 0: it is not */
	const char	*pause_at;
	unsigned	 late;		/* times that it said that it waits for a worker */
};

struct job {
	struct graph	*graph;
	uint8_t		 key[CONN_KEY];
	uint32_t	 slack;
	char		*server[S];
	struct party	 servers[S], workers[W];
};

static struct graph *
net(void)
{
	struct graph *g = graph_new(1, 2, 3);
	uint32_t at = 0;

	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = &at, .nin = 1, .k = 5, .bias = true }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_BN, .name = "bn", .in = &at, .nin = 1, .eps = 1e-3f,
	    .momentum = 0.8f }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at, .nin = 1 }, &at);
	return g;
}

static void
listening(void *arg, const char *where)
{
	struct party *p = arg;

	snprintf(p->where, sizeof(p->where), "%s", where);
	(void)!write(p->told[1], "!", 1);
}

static void
said(void *arg, const char *line)
{
	struct party *p = arg;

	snprintf(p->said, sizeof(p->said), "%s", line);
	p->late += strncmp(line, "waiting for worker ", 19) == 0;
	if (p->pause_ms > 0 && strncmp(line, p->pause_at, strlen(p->pause_at)) == 0) {
		(void)!write(p->told[1], "!", 1);
		poll(NULL, 0, p->pause_ms);
	}
}

static void *
serve(void *arg)
{
	struct party *p = arg;

	p->err = serve_run(&p->serve, &p->sums);
	snprintf(p->line, sizeof(p->line), "%s", err_line());
	(void)!write(p->told[1], "!", 1);
	return NULL;
}

static int
step(struct party *p, struct worker *wk, uint64_t t)
{
	const struct graph *g = p->o.graph;
	struct rng c = rng_start(1, t, p->o.rank);
	int e = worker_step(wk, 2 + p->o.rank, 0.1f);

	for (size_t i = 0; i < g->P; i++)
		p->g[i] = rng_normal(&c) + p->w[i];
	for (size_t i = 0; i < g->A; i++)
		p->stats[i] = rng_f32(&c);
	for (uint32_t a = g->nw; e == 0 && a-- > 0;)
		e = worker_push(wk, a, p->g);
	if (e == 0)
		e = worker_finish(wk, p->stats);
	for (uint32_t a = 0; e == 0 && a < g->nw; a++)
		e = worker_need(wk, a);
	return e == 0 ? worker_ready(wk) : e;
}

static int
learn(struct party *p, struct worker *wk)
{
	double v[2] = { p->o.rank + 1, 0.5 }, waited;
	uint64_t t = 0;
	int e = worker_begin(wk, NULL, &t);

	for (; e == 0 && t < STEPS && !worker_last(wk); t = worker_steps(wk)) {
		if (p->quit > 0 && t == p->quit)
			return 0;
		if (p->stop > 0 && t == p->stop && (e = worker_stop(wk)) < 0)
			return e;
		e = step(p, wk, t);
	}
	p->steps = t;
	if (e == 0 && p->o.slack == STALE_SYNC && (e = worker_sum(wk, 0, v, 2)) == 0 &&
	    (v[0] != W * (W + 1) / 2 || v[1] != W * 0.5))
		e = err_fail(ERR_FORMAT, "a sum is wrong");
	if (e == 0)
		e = worker_bye(wk);
	worker_traffic(wk, &p->sent, &p->got, &waited);
	return e;
}

static void *
work(void *arg)
{
	struct party *p = arg;
	struct worker *wk;

	if ((p->err = worker_open(&p->o, &wk)) == 0)
		p->err = learn(p, wk);
	snprintf(p->line, sizeof(p->line), "%s", err_line());
	worker_close(wk);
	return NULL;
}

/*
 * The servers listen, the workers are ready to start.  With `memory`, which server 0 takes over, workers have return_s
 * seconds to return to it.
 */
static void
prepare_kept(struct job *j, uint32_t slack, struct memory *memory, double return_s)
{
	char c;

	*j = (struct job){ .graph = net(), .slack = slack };
	conn_key_new(j->key);
	for (uint32_t i = 0; i < S; i++) {
		struct party *p = &j->servers[i];

		(void)!pipe(p->told);
		p->serve = (struct serve_opt){ .listen = "127.0.0.1:0", .nworkers = W, .index = i, .nservers = S,
		    .key = j->key, .stop_fd = eventfd(0, EFD_CLOEXEC), .listening = listening, .say = said,
		    .say_lost = said, .arg = p, .memory = i == 0 ? memory : NULL, .return_s = return_s };
		pthread_create(&p->thread, NULL, serve, p);
		(void)!read(p->told[0], &c, 1);
		j->server[i] = p->where;
	}
	for (uint32_t i = 0; i < W; i++) {
		struct party *p = &j->workers[i];

		for (size_t k = 0; k < j->graph->P; k++)
			p->w[k] = i == 0 ? (float)k : -1;
		p->o = (struct worker_opt){ .graph = j->graph, .rank = i, .nworkers = W, .slack = slack,
		    .hyper = { .momentum = 0.9f }, .incarnation = 7, .server = j->server, .nservers = S,
		    .key = j->key, .slice = 32, .w = p->w, .aux = p->aux };
	}
}

__attribute__((unused)) static void
prepare(struct job *j, uint32_t slack)
{
	prepare_kept(j, slack, NULL, 0);
}

__attribute__((unused)) static void
run(struct job *j)
{
	for (uint32_t i = 0; i < W; i++)
		pthread_create(&j->workers[i].thread, NULL, work, &j->workers[i]);
	for (uint32_t i = 0; i < W; i++)
		pthread_join(j->workers[i].thread, NULL);
}

static void
finish(struct job *j)
{
	for (uint32_t i = 0; i < S; i++) {
		struct party *p = &j->servers[i];

		pthread_join(p->thread, NULL);
		close(p->serve.stop_fd);
		close(p->told[0]);
		close(p->told[1]);
	}
	graph_free(j->graph);
}

__attribute__((unused)) static void
stop(struct job *j)
{
	for (uint32_t i = 0; i < S; i++)
		(void)!write(j->servers[i].serve.stop_fd, &(uint64_t){ 1 }, 8);
	finish(j);
}

__attribute__((unused)) static void
all_well(struct job *j)
{
	for (uint32_t i = 0; i < S; i++)
		if (j->servers[i].err < 0)
			printf("# server %u: %s\n", i, j->servers[i].line);
	for (uint32_t i = 0; i < W; i++)
		if (j->workers[i].err < 0)
			printf("# worker %u: %s\n", i, j->workers[i].line);
	ok(j->servers[0].err == 0 && j->servers[1].err == 0 && j->workers[0].err == 0 && j->workers[1].err == 0 &&
	    j->workers[2].err == 0, "all end well");
}

/* One worker alone tries. */
__attribute__((unused)) static void
one(struct party *p)
{
	pthread_create(&p->thread, NULL, work, p);
	pthread_join(p->thread, NULL);
}

#endif
