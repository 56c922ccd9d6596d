/* serve_claim_test - two processes in the name of one worker: which of them a server has. */
#define S	3
#include "lib/raw_worker.h"

#include "base/clk.h"
#include "ps/server/claim.h"

/* Says hello; returns the answer's type. */
static unsigned
greet(struct job *j, struct conn *c, uint32_t server, uint64_t incarnation, char *why, size_t size)
{
	struct msg m;

	say_hello(j, c, server, incarnation);
	if (wait_for(c, &m) < 0)
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
	if (conn_dial(j.server[0], j.key, CONN_WORKER, &first) < 0 || wait_for(first, NULL) < 0 ||
	    conn_dial(j.server[0], j.key, CONN_WORKER, &second) < 0 || wait_for(second, NULL) < 0)
		abort();
	is(greet(&j, second, 0, 9, why, sizeof(why)), MSG_WELCOME, "a worker");
	is(greet(&j, first, 0, 10, why, sizeof(why)), MSG_REFUSE, "a hello of one that connected before it comes too late");
	is_str(why, "a later process is worker 2", "the server sends the reason to a process whose claim a later one replaces");
	if (conn_dial(j.server[0], j.key, CONN_WORKER, &third) < 0)
		abort();
	is(greet(&j, third, 0, 3, why, sizeof(why)), MSG_WELCOME, "a worker that connects behind a silent one takes its place");
	conn_close(first);
	conn_close(second);
	conn_close(third);
	stop(&j);
}

/* A connection that is worker 2. */
static struct conn *
dial(struct job *j, uint32_t server, uint64_t incarnation)
{
	struct conn *c;
	char why[200];

	if (conn_dial(j->server[server], j->key, CONN_WORKER, &c) < 0 || wait_for(c, NULL) < 0 ||
	    (incarnation > 0 && greet(j, c, server, incarnation, why, sizeof(why)) != MSG_WELCOME))
		abort();
	return c;
}

/* A second one in the name of a worker waits for what the first says to it. */
static void
test_claims(void)
{
	static struct job j;
	struct conn *first, *second, *third;
	struct msg m, ping;
	double begun;

	prepare(&j, STALE_SYNC);
	first = dial(&j, 0, 9);
	second = dial(&j, 0, 0);
	say_hello(&j, second, 0, 10);
	ok(conn_run(second) == 0 && wait_for(first, &ping) == 0 && ping.type == MSG_PING && ping.worker == 2,
	    "a worker is asked whether it is there when another comes in its name");
	third = dial(&j, 0, 0);
	say_hello(&j, third, 0, 11);
	(void)conn_run(third);
	ok(wait_for(second, &m) == 0 && m.type == MSG_REFUSE, "the later of two that wait stays");
	ok(wait_for(first, &m) == 0 && m.type == MSG_PING && m.step != ping.step, "the later claim has a question of its own");
	ping.incarnation = m.incarnation = 9;
	(void)conn_send(first, &ping);
	(void)conn_send(first, &m);
	(void)conn_run(first);
	ok(wait_for(third, &m) == 0 && m.type == MSG_REFUSE, "the answer refuses it");
	ok(strncmp(m.payload, "worker 2 is connected already, from 127.0.0.1:", 46) == 0, "the refusal has its reason: %.*s", (int)m.len,
	    (const char *)m.payload);
	conn_close(second);
	conn_close(third);

	second = dial(&j, 0, 0);
	say_hello(&j, second, 0, 12);
	(void)conn_run(second);
	ok(wait_for(first, &m) == 0 && m.type == MSG_PING, "another comes");
	begun = clk_s();
	conn_close(first);
	ok(wait_for(second, &m) == 0 && m.type == MSG_WELCOME, "the end of the first lets it in");
	ok(clk_s() - begun < CLAIM_SILENCE_S, "the end of the first is noticed at once");
	begun = clk_s();
	third = dial(&j, 0, 13);
	ok(clk_s() - begun >= CLAIM_SILENCE_S, "the silence of the first lets another in, after a while");
	conn_close(second);
	conn_close(third);
	stop(&j);
}

/* The server is stopped for longer than a claim's time, and then finds the worker's answer. */
static void
test_stopped(void)
{
	const struct msg nonsense = { .type = MSG_PULL };
	static struct job j;
	struct conn *first, *second, *stranger;
	struct msg m;
	char c;

	prepare(&j, STALE_SYNC);
	j.servers[0].pause_ms = (int)(CLAIM_SILENCE_S * 1e3) + 500;
	j.servers[0].pause_at = "refused ";
	first = dial(&j, 0, 9);
	second = dial(&j, 0, 0);
	stranger = dial(&j, 0, 0);
	say_hello(&j, second, 0, 10);
	(void)conn_run(second);
	ok(wait_for(first, &m) == 0 && m.type == MSG_PING, "the worker is asked before the server is stopped");
	(void)conn_send(stranger, &nonsense);
	(void)conn_run(stranger);
	(void)!read(j.servers[0].told[0], &c, 1);
	m.incarnation = 9;
	(void)conn_send(first, &m);
	(void)conn_run(first);
	ok(wait_for(second, &m) == 0 && m.type == MSG_REFUSE, "a server that was stopped reads the worker's answer before it decides");
	conn_close(first);
	conn_close(second);
	conn_close(stranger);
	stop(&j);
}

static void
test_second(void)
{
	static struct job j;
	static struct party again;
	struct worker *wk;

	prepare(&j, STALE_SYNC);
	again = j.workers[0];
	again.o.incarnation = 8;
	is(worker_open(&j.workers[0].o, &wk), 0, "a worker");
	one(&again);
	is(again.err, ERR_ARG, "a second one of its rank is refused");
	ok(strstr(again.line, "worker 0 is connected already") != NULL, "the second process has the reason: %s", again.line);
	for (uint32_t i = 1; i < W; i++)
		pthread_create(&j.workers[i].thread, NULL, work, &j.workers[i]);
	j.workers[0].err = learn(&j.workers[0], wk);
	worker_close(wk);
	for (uint32_t i = 1; i < W; i++)
		pthread_join(j.workers[i].thread, NULL);
	finish(&j);
	all_well(&j);
}

/* A worker whose process is gone without a sign: the servers after the first ask for it at once. */
static void
test_silent(void)
{
	static struct job j;
	static struct party again;
	struct conn *gone[S];
	double asked[S], begun;
	struct msg m;

	prepare(&j, STALE_ASYNC);
	for (uint32_t s = 0; s < S; s++)
		gone[s] = dial(&j, s, 9);
	again = j.workers[2];
	again.o.incarnation = 10;
	begun = clk_s();
	pthread_create(&again.thread, NULL, work, &again);
	for (uint32_t s = 0; s < S; s++) {
		ok(wait_for(gone[s], &m) == 0 && m.type == MSG_PING, "server %u asks whether the silent worker is there", s);
		asked[s] = clk_s();
	}
	ok(asked[1] - begun >= CLAIM_SILENCE_S, "the first server is asked alone");
	ok(asked[2] - asked[1] < CLAIM_SILENCE_S, "the other servers are asked at once");
	for (uint32_t i = 0; i + 1 < W; i++)
		pthread_create(&j.workers[i].thread, NULL, work, &j.workers[i]);
	for (uint32_t i = 0; i + 1 < W; i++)
		pthread_join(j.workers[i].thread, NULL);
	pthread_join(again.thread, NULL);
	j.workers[2] = again;
	for (uint32_t s = 0; s < S; s++)
		conn_close(gone[s]);
	finish(&j);
	all_well(&j);
}

int
main(void)
{
	test_late();
	test_claims();
	test_stopped();
	test_second();
	test_silent();
	return done();
}
