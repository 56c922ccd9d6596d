/* one_worker - the only worker of a job and its only server, which is a thread of the test. */
#ifndef TESTS_LIB_ONE_WORKER_H
#define TESTS_LIB_ONE_WORKER_H

#include "fc_net.h"

#include "ps/worker/worker.h"
#include "wire/addr.h"
#include "wire/conn.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint8_t one_worker_key[CONN_KEY] = { 7 };

struct one_worker {
	struct worker_opt o;		/* key, server and one worker are set; graph NULL: fc_net() with w and aux */
	const char	*host;		/* by which the worker knows the server; NULL: its address */
	int		 room;		/* bytes that the server's system receives ahead; 0: its choice */
	struct graph	*g;
	float		 w[64], aux[1];
	char		 where[ADDR_TEXT], *server;
	struct worker	*wk;
	pthread_t	 thread;
};

/*
 * Starts a server, serve(arg), whose listening socket is *fd, and a worker.  Returns what worker_open() or
 * worker_begin() did.
 */
static inline int
one_worker_begin(struct one_worker *j, void *(*serve)(void *arg), void *arg, int *fd)
{
	char at[ADDR_TEXT];
	uint64_t step = 0;
	int e = addr_listen("127.0.0.1:0", fd, at);

	snprintf(j->where, sizeof(j->where), "%s%s", j->host != NULL ? j->host : "127.0.0.1", strrchr(at, ':'));
	j->server = j->where;
	j->o.server = &j->server;
	j->o.nservers = j->o.nworkers = 1;
	j->o.key = one_worker_key;
	if (j->o.graph == NULL) {
		j->o.graph = j->g = fc_net();
		j->o.w = j->w;
		j->o.aux = j->aux;
	}
	if (e == 0 && j->room > 0)
		setsockopt(*fd, SOL_SOCKET, SO_RCVBUF, &j->room, sizeof(j->room));
	if (e == 0)
		e = pthread_create(&j->thread, NULL, serve, arg);
	if (e == 0 && (e = worker_open(&j->o, &j->wk)) == 0)
		e = worker_begin(j->wk, NULL, &step);
	return e;
}

/* Closes the worker, and waits for the server. */
static inline void
one_worker_end(struct one_worker *j)
{
	worker_close(j->wk);
	pthread_join(j->thread, NULL);
	graph_free(j->g);
}

/* Runs a connection until the handshake is complete; false if it ends before. */
static inline bool
one_worker_shake(struct conn *c)
{
	while (!conn_open(c)) {
		struct pollfd p = { .fd = conn_fd(c), .events = conn_events(c) };

		poll(&p, 1, -1);
		if (conn_run(c) < 0)
			return false;
	}
	return true;
}

/* Accepts the worker's connection, and none of other programs of this machine; NULL if none comes for a minute. */
static inline struct conn *
one_worker_accept(int listening)
{
	struct pollfd p = { .fd = listening, .events = POLLIN };
	struct conn *c;

	while (poll(&p, 1, 60000) == 1) {
		if (conn_take(accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), one_worker_key, CONN_WORKER,
		    &c) < 0)
			continue;
		if (one_worker_shake(c))
			return c;
		conn_close(c);
	}
	return NULL;
}

/* Passes on each message until the connection ends or `over` (NULL: never) returns true. */
static inline void
one_worker_serve(struct conn *c, void (*answer)(void *arg, const struct msg *m), bool (*over)(void *arg), void *arg)
{
	struct msg m;

	while ((over == NULL || !over(arg)) && conn_run(c) == 0) {
		if (conn_next(c, &m) == 1)
			answer(arg, &m);
		else
			poll(&(struct pollfd){ .fd = conn_fd(c), .events = conn_events(c) }, 1, -1);
	}
}

#endif
