/* serve_test - servers and workers over loopback, each on a thread: a job, a loss, a stranger, another key, another job. */
#include "tap.h"

#include "base/err.h"
#include "base/rng.h"
#include "ps/hello.h"
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
#define S	2
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
	if (e == 0 && p->o.slack == STALE_SYNC && (e = worker_sum(wk, v, 2)) == 0 &&
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

/* The servers listen, the workers are ready to start. */
static void
prepare(struct job *j, uint32_t slack)
{
	char c;

	*j = (struct job){ .graph = net(), .slack = slack };
	conn_key_new(j->key);
	for (uint32_t i = 0; i < S; i++) {
		struct party *p = &j->servers[i];

		(void)!pipe(p->told);
		p->serve = (struct serve_opt){ .listen = "127.0.0.1:0", .nworkers = W, .index = i, .nservers = S,
		    .key = j->key, .stop_fd = eventfd(0, EFD_CLOEXEC), .listening = listening, .say = said, .arg = p };
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

static void
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

static void
stop(struct job *j)
{
	for (uint32_t i = 0; i < S; i++)
		(void)!write(j->servers[i].serve.stop_fd, &(uint64_t){ 1 }, 8);
	finish(j);
}

static void
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

static void
test_sync(void)
{
	static struct job a, b;
	size_t P;

	for (int k = 0; k < 2; k++) {
		struct job *j = k == 0 ? &a : &b;

		prepare(j, STALE_SYNC);
		run(j);
		P = j->graph->P;
		finish(j);
		all_well(j);
	}
	ok(memcmp(a.workers[0].w, a.workers[2].w, P * sizeof(float)) == 0, "all workers have the same weights");
	ok(memcmp(a.workers[0].w, b.workers[1].w, P * sizeof(float)) == 0, "... in each run");
	ok(memcmp(a.workers[0].aux, b.workers[1].aux, 8 * sizeof(float)) == 0, "... and the same statistics");
	is(a.servers[0].sums.steps, STEPS, "the server counts steps");
	is(a.servers[0].sums.got + a.servers[1].sums.got,
	    a.workers[0].sent + a.workers[1].sent + a.workers[2].sent, "what workers count as sent, servers count as come");
	is(a.servers[0].sums.sent + a.servers[1].sums.sent,
	    a.workers[0].got + a.workers[1].got + a.workers[2].got, "... and the other way");
}

static void
test_async(void)
{
	static struct job j;

	prepare(&j, STALE_ASYNC);
	run(&j);
	finish(&j);
	all_well(&j);
	is(j.servers[1].sums.steps, STEPS, "asynchronous: every worker did its steps");
}

static void
test_stop(void)
{
	static struct job j;

	prepare(&j, STALE_SYNC);
	j.workers[1].stop = 2;
	run(&j);
	finish(&j);
	all_well(&j);
	is(j.workers[0].steps, 3, "one asks for the end, and the next step is the last");
	ok(j.workers[1].steps == 3 && j.workers[2].steps == 3, "... of all");
}

static void
test_loss(void)
{
	static struct job j;

	prepare(&j, STALE_SYNC);
	j.workers[2].quit = 2;
	run(&j);
	finish(&j);
	is(j.workers[0].err, ERR_PEER, "a lost worker ends a synchronous job");
	ok(strstr(j.workers[0].line, "worker 2 is lost") != NULL, "... and the others learn who it was: %s",
	    j.workers[0].line);
	is(j.workers[1].err, ERR_PEER, "... all of them");
	is(j.servers[0].err, ERR_PEER, "... and the servers end");
	ok(strstr(j.servers[1].line, "worker 2 is lost") != NULL, "... and say so: %s", j.servers[1].line);

	prepare(&j, STALE_ASYNC);
	j.workers[2].quit = 2;
	run(&j);
	finish(&j);
	ok(j.workers[0].err == 0 && j.workers[1].err == 0, "in an asynchronous one the others go on");
	is(j.servers[0].err, ERR_PEER, "... and the servers end with its name");
	ok(strstr(j.servers[0].said, "worker 2 is lost") != NULL, "... which they said when it was lost");
}

/* One worker alone tries. */
static void
one(struct party *p)
{
	pthread_create(&p->thread, NULL, work, p);
	pthread_join(p->thread, NULL);
}

static void
test_strangers(void)
{
	static struct job j;
	uint8_t key[CONN_KEY];
	int fd[2 * SERVE_STRANGERS];

	prepare(&j, STALE_SYNC);
	conn_key_new(key);
	j.workers[0].o.key = key;
	one(&j.workers[0]);
	is(j.workers[0].err, ERR_AUTH, "another key");
	j.workers[0].o.key = j.key;
	for (int i = 0; i < 2 * SERVE_STRANGERS; i++)
		if (addr_dial(j.server[i % S], &fd[i]) < 0)
			printf("# %s\n", err_line());
	run(&j);
	finish(&j);
	all_well(&j);
	ok(j.servers[0].sums.strangers >= SERVE_STRANGERS, "%" PRIu64 " strangers came to nothing",
	    j.servers[0].sums.strangers);
	for (int i = 0; i < 2 * SERVE_STRANGERS; i++)
		close(fd[i]);
}

static void
test_other_job(void)
{
	static struct job j;
	struct worker *first;

	prepare(&j, STALE_SYNC);
	is(worker_open(&j.workers[0].o, &first), 0, "the first worker says what the job is");
	j.workers[1].o.hyper.momentum = 0.5f;
	one(&j.workers[1]);
	is(j.workers[1].err, ERR_ARG, "one with another momentum is refused");
	ok(strstr(j.workers[1].line, "momentum is 0.9 here and 0.5 there") != NULL, "... and told why: %s",
	    j.workers[1].line);
	ok(strstr(j.servers[0].said, "momentum is 0.9 here") != NULL, "... and the server says so");
	j.workers[1].o.nservers = 1;
	one(&j.workers[1]);
	ok(strstr(j.workers[1].line, "servers is 2 here and 1 there") != NULL, "another number of servers: %s",
	    j.workers[1].line);
	stop(&j);
	is(j.servers[0].err, ERR_STOP, "a server stops on request");
	is(worker_stop(first) < 0 ? ERR_PEER : worker_sum(first, (double[1]){ 0 }, 1), ERR_PEER, "... and it is told");
	ok(strstr(err_line(), "stopped on request") != NULL, "... why: %s", err_line());
	worker_close(first);
}

/* Runs a connection until it is open, or with m until a message has come. */
static int
wait_for(struct conn *c, struct msg *m)
{
	int e = 0;

	while (e == 0 && (m == NULL ? !conn_open(c) : !conn_next(c, m)))
		if (poll(&(struct pollfd){ .fd = conn_fd(c), .events = conn_events(c) }, 1, -1) >= 0)
			e = conn_run(c);
	return e;
}

/* Worker 2 in another life; returns the answer's type. */
static unsigned
greet(struct job *j, struct conn *c, uint64_t incarnation, char *why, size_t size)
{
	struct hello h = { .version = MSG_VERSION, .tally = TALLY_VERSION, .nworkers = W, .nservers = S, .slack = j->slack,
	    .hyper = j->workers[2].o.hyper, .slice = 32, .hash = graph_hash(j->graph) };
	struct msg m = { .type = MSG_HELLO, .worker = 2, .incarnation = incarnation };
	struct buf b = { 0 };
	int e;

	hello_text(&h, j->graph, &b);
	m.len = (uint32_t)b.n;
	m.payload = b.p;
	if ((e = conn_send(c, &m)) == 0)
		e = wait_for(c, &m);
	buf_free(&b);
	if (e < 0)
		return 0;
	snprintf(why, size, "%.*s", m.type == MSG_REFUSE ? (int)m.len : 0, (const char *)m.payload);
	return m.type;
}

/* What is said in the name of a worker counts in the order in which it connected, whatever its host's clock says. */
static void
test_late(void)
{
	static struct job j;
	struct conn *first, *second, *third;
	char why[200];

	prepare(&j, STALE_ASYNC);
	if (conn_dial(j.server[0], j.key, &first) < 0 || wait_for(first, NULL) < 0 ||
	    conn_dial(j.server[0], j.key, &second) < 0 || wait_for(second, NULL) < 0)
		abort();
	is(greet(&j, second, 9, why, sizeof(why)), MSG_WELCOME, "a worker");
	is(greet(&j, first, 10, why, sizeof(why)), MSG_REFUSE, "a hello of one that connected before it comes too late");
	is_str(why, "another worker 2 came later", "... and is told why");
	if (conn_dial(j.server[0], j.key, &third) < 0)
		abort();
	is(greet(&j, third, 3, why, sizeof(why)), MSG_WELCOME, "one that connects behind it takes its place");
	conn_close(first);
	conn_close(second);
	conn_close(third);
	stop(&j);
}

int
main(void)
{
	test_sync();
	test_async();
	test_stop();
	test_loss();
	test_strangers();
	test_other_job();
	test_late();
	return done();
}
