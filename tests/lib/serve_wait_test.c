/* serve_wait_test - whom a server calls late: nobody, when it was stopped itself. */
#include "lib/raw_worker.h"

#define STOPPED_MS	1200	/* no wait ends so late by accident */

/* Worker 2 says hello, pulls first weights, which only worker 0 has, and says that it waits for them. */
static void
wait_for_first_weights(struct job *j, struct msg *answer)
{
	const struct msg pull = { .type = MSG_PULL, .worker = 2, .incarnation = 9 },
	    waits = { .type = MSG_WAIT, .worker = 2, .incarnation = 9, .slice = 0 };
	struct conn *c;

	if (conn_dial(j->server[0], j->key, CONN_WORKER, &c) < 0 || wait_for(c, NULL) < 0)
		abort();
	say_hello(j, c, 0, 9);
	if (conn_send(c, &pull) < 0 || conn_send(c, &waits) < 0)
		abort();
	do {
		if (wait_for(c, answer) < 0)
			abort();
	} while (answer->type == MSG_WELCOME);
	conn_close(c);
}

int
main(void)
{
	static struct job j;
	struct msg m;

	prepare(&j, STALE_SYNC);
	wait_for_first_weights(&j, &m);
	stop(&j);
	ok(m.type == MSG_WAIT && m.slice == 0, "a worker that waits learns for whom");
	is(j.servers[0].late, 1, "the server calls the worker late that the other waits for");

	prepare(&j, STALE_SYNC);
	j.servers[0].pause_ms = STOPPED_MS;
	j.servers[0].pause_at = "holds ";
	wait_for_first_weights(&j, &m);
	stop(&j);
	ok(m.type == MSG_WAIT && m.slice == 0, "a server that was stopped between two messages of a worker answers it");
	is(j.servers[0].late, 0, "such a server calls nobody late: the others may have sent all, unread");
	return done();
}
