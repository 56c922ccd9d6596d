/* serve_test - servers and workers over loopback, each on a thread: a job, a loss, a stranger, another key, another job. */
#include "lib/crowd.h"
#include "lib/serving.h"

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
	ok(memcmp(a.workers[0].w, b.workers[1].w, P * sizeof(float)) == 0, "each run has the same weights");
	ok(memcmp(a.workers[0].aux, b.workers[1].aux, 8 * sizeof(float)) == 0, "each run has the same statistics");
	is(a.servers[0].sums.steps, STEPS, "the server counts steps");
	is(a.servers[0].sums.received + a.servers[1].sums.received,
	    a.workers[0].sent + a.workers[1].sent + a.workers[2].sent, "what workers count as sent, servers count as come");
	is(a.servers[0].sums.sent + a.servers[1].sums.sent,
	    a.workers[0].got + a.workers[1].got + a.workers[2].got,
	    "what servers count as sent, workers count as received");
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
	is(j.workers[0].steps, 3, "the next step is the last after one worker asked for the end");
	ok(j.workers[1].steps == 3 && j.workers[2].steps == 3, "all workers end after the same step");
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
	ok(strstr(j.workers[0].line, "worker 2 is lost") != NULL, "the other workers learn which worker was lost: %s",
	    j.workers[0].line);
	is(j.workers[1].err, ERR_PEER, "all others end");
	is(j.servers[0].err, ERR_PEER, "the servers end, too");
	ok(strstr(j.servers[1].line, "worker 2 is lost") != NULL,
	    "the servers name the lost worker: %s", j.servers[1].line);

	prepare(&j, STALE_SYNC);
	j.workers[2].quit = 2;
	j.workers[2].o.kept = true;
	run(&j);
	finish(&j);
	ok(j.workers[0].err == ERR_PEER && j.servers[0].err == ERR_PEER,
	    "a worker that could be started again ends the job when it gives up: %s", j.servers[0].line);

	prepare(&j, STALE_ASYNC);
	j.workers[2].quit = 2;
	run(&j);
	finish(&j);
	ok(j.workers[0].err == 0 && j.workers[1].err == 0, "the other workers of an asynchronous job go on");
	is(j.servers[0].err, ERR_PEER, "the servers end with status 75");
	ok(strstr(j.servers[0].said, "worker 2 is lost") != NULL, "the servers reported the lost worker at once");
	is_str(j.servers[0].line, "worker 2 was lost", "the line at their end does not repeat the reason");
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
	ok(crowd_lets_in(j.server[0], j.key, CONN_WORKER, 2 * SERVE_STRANGERS),
	    "a worker that is slow to answer gets in beside connections from its own address");
	run(&j);
	finish(&j);
	all_well(&j);
	ok(j.servers[0].sums.strangers >= SERVE_STRANGERS, "the server counts %" PRIu64 " strangers",
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
	is(j.workers[1].err, ERR_ARG, "a worker with another momentum is refused");
	ok(strstr(j.workers[1].line, "momentum is 0.9 here and 0.5 there") != NULL, "the refusal gives both values: %s",
	    j.workers[1].line);
	ok(strstr(j.servers[0].said, "momentum is 0.9 here") != NULL, "the server reports the refusal");
	j.workers[1].o.nservers = 1;
	one(&j.workers[1]);
	ok(strstr(j.workers[1].line, "servers is 2 here and 1 there") != NULL, "another number of servers: %s",
	    j.workers[1].line);
	stop(&j);
	is(j.servers[0].err, ERR_STOP, "a server stops on request");
	is(worker_stop(first) < 0 ? ERR_PEER : worker_sum(first, 0, (double[1]){ 0 }, 1), ERR_PEER,
	    "a stopped server ends its workers");
	ok(strstr(err_line(), "stopped on request") != NULL, "the workers have the reason: %s", err_line());
	worker_close(first);
}

/* Stands for a thread that was joined. */
static void *
rest(void *arg)
{
	return arg;
}

/* A server that is stopped after one worker has said hello, and its successor with the same memory. */
static void
test_absent_worker(uint32_t slack)
{
	static struct job j;
	struct memory memory = { .fd = -1 };
	struct worker *wk;

	prepare_kept(&j, slack, &memory, 0);
	is(worker_open(&j.workers[1].o, &wk), 0, "a worker says hello");
	stop(&j);
	worker_close(wk);
	prepare_kept(&j, slack, &memory, 0.01);
	pthread_join(j.servers[0].thread, NULL);
	pthread_create(&j.servers[0].thread, NULL, rest, NULL);
	stop(&j);
	is(j.servers[0].err, ERR_PEER, "a server that is restarted does not wait for ever for a worker");
	ok(strstr(j.servers[0].line, "worker 1 is lost: it did not return") != NULL, "the server names the worker: %s",
	    j.servers[0].line);
	memory_close(&memory);
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
	test_absent_worker(STALE_SYNC);
	test_absent_worker(STALE_ASYNC);
	return done();
}
