/* raw_worker - a connection that speaks for worker 2, message by message, for the tests of ps/server/serve.h. */
#ifndef TESTS_LIB_RAW_WORKER_H
#define TESTS_LIB_RAW_WORKER_H

#include "lib/serving.h"

#include "ps/hello.h"

#include <poll.h>

/* Whether there is another message than the question of a server that has heard nothing for a while, number 0. */
static bool
next_msg(struct conn *c, struct msg *m)
{
	while (conn_next(c, m))
		if (m->type != MSG_PING || m->step != 0)
			return true;
	return false;
}

/* Runs a connection until it is open, or with m until a message has come. */
static int
wait_for(struct conn *c, struct msg *m)
{
	int e = 0;

	while (e == 0 && (m == NULL ? !conn_open(c) : !next_msg(c, m)))
		if (poll(&(struct pollfd){ .fd = conn_fd(c), .events = conn_events(c) }, 1, -1) >= 0)
			e = conn_run(c);
	return e;
}

/* Worker 2 in another life says hello. */
static void
say_hello(struct job *j, struct conn *c, uint32_t server, uint64_t incarnation)
{
	struct hello h = { .version = MSG_VERSION, .tally = TALLY_VERSION, .nworkers = W, .nservers = S, .server = server,
	    .slack = j->slack, .hyper = j->workers[2].o.hyper, .slice = 32, .hash = graph_hash(j->graph) };
	struct msg m = { .type = MSG_HELLO, .worker = 2, .incarnation = incarnation };
	struct buf b = { 0 };

	hello_text(&h, j->graph, &b);
	m.len = (uint32_t)b.n;
	m.payload = b.p;
	if (conn_send(c, &m) < 0)
		abort();
	buf_free(&b);
}

#endif
