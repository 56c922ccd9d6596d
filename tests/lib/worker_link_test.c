/*
 * worker_link_test - a worker connects again to a server that ends its connection, or does not answer on it, knows when
 * a server has ended, and sends first what is needed first.
 */
#include "one_worker.h"
#include "packets.h"
#include "tap.h"

#include "base/err.h"
#include "ps/server/server_state.h"

#include <stdlib.h>

/* Answers every message by a refusal until the worker ends the connection: an earlier end could overtake the refusal. */
static void
refuse_hello(void *conn, const struct msg *m)
{
	static const char why[] = "the second connection";

	(void)m;
	conn_send(conn, &(struct msg){ .type = MSG_REFUSE, .len = sizeof(why) - 1, .payload = why });
}

/* A server that dies after its first handshake; the next one refuses the worker. */
static void *
serve(void *arg)
{
	for (int i = 0; i < 2; i++) {
		struct conn *c = one_worker_accept(*(int *)arg);

		if (c != NULL && i > 0)
			one_worker_serve(c, refuse_hello, NULL, c);
		conn_close(c);
	}
	return NULL;
}

struct mortal {
	struct conn	*conn;
	struct server_state *server;
	int		 fd;	/* the listening socket */
};

static void
answer(void *arg, uint32_t w, const struct msg *m)
{
	struct mortal *h = arg;

	(void)w;
	if (m->type != MSG_BYE)
		conn_send(h->conn, m);
}

static void
take_message(void *arg, const struct msg *m)
{
	(void)server_state_take(((struct mortal *)arg)->server, m);
}

static bool
has_ended(void *arg)
{
	return server_state_over(((struct mortal *)arg)->server);
}

/* A server that dies when it has stored the goodbye, before it answers; its successor ends at once. */
static void *
die_after_goodbye(void *arg)
{
	struct mortal *h = arg;
	struct memory memory = { .fd = -1 };
	struct server_state_opt o = { .nworkers = 1, .nservers = 1, .incarnation = 1, .memory = &memory, .emit = answer,
	    .arg = h };

	if ((h->conn = one_worker_accept(h->fd)) == NULL || server_state_new(&o, &h->server) < 0)
		return NULL;
	one_worker_serve(h->conn, take_message, has_ended, h);
	close(h->fd);
	conn_close(h->conn);
	server_state_free(h->server);
	memory_close(&memory);
	return NULL;
}

static void
test_goodbye(void)
{
	struct mortal h = { .fd = -1 };
	struct one_worker job = { .wk = NULL };

	is(one_worker_begin(&job, die_after_goodbye, &h, &h.fd), 0, "a worker begins");
	is(worker_bye(job.wk), 0, "a server that ends after it has stored the goodbye need not answer");
	one_worker_end(&job);
}

/* A server whose first connection receives nothing after the hello, as that of a host after an outage. */
struct deaf {
	struct conn	*conn;
	int		 fd;	/* the listening socket */
	bool		 greeted;
};

static void
greet_and_drop(void *arg, const struct msg *m)
{
	struct deaf *h = arg;

	if (m->type != MSG_HELLO)
		return;
	packets_drop(conn_fd(h->conn), false);
	conn_send(h->conn, &(struct msg){ .type = MSG_WELCOME, .flags = MSG_EMPTY | MSG_KEPT });
	conn_run(h->conn);
	h->greeted = true;
}

static bool
has_greeted(void *arg)
{
	return ((struct deaf *)arg)->greeted;
}

/* The first connection stays open beside the second, on which the server refuses the worker. */
static void *
serve_deaf(void *arg)
{
	struct deaf *h = arg;
	struct conn *second;

	if ((h->conn = one_worker_accept(h->fd)) == NULL)
		return NULL;
	one_worker_serve(h->conn, greet_and_drop, has_greeted, h);
	if ((second = one_worker_accept(h->fd)) != NULL)
		one_worker_serve(second, refuse_hello, NULL, second);
	conn_close(second);
	conn_close(h->conn);
	return NULL;
}

static void
test_unanswered(void)
{
	struct deaf h = { .fd = -1 };
	struct one_worker job = { .o.silence_s = 600 };

	if (!packets_known()) {
		skip("a connection that nobody answers", "the system has no filters of sockets or no TCP_INFO");
		return;
	}
	is(one_worker_begin(&job, serve_deaf, &h, &h.fd), ERR_PEER,
	    "a worker that nobody answers tries another connection, long before its silence");
	ok(strstr(err_line(), "the second connection") != NULL, "the worker says hello there: %s", err_line());
	one_worker_end(&job);
	close(h.fd);
}

enum { WIDE = 8192, LAST = 768 };	/* weights: 64 x WIDE in the first layer, WIDE x LAST in the last one */

/* A server that reads no gradient before it may, and answers all with zeros. */
struct slow {
	struct conn	*conn;
	int		 fd;		/* the listening socket */
	int		 may[2];	/* a pipe: the gradients may be read */
	bool		 reads;		/* gradients */
	uint32_t	 first_layer;	/* slices below are of the first layer */
	unsigned	 pushes;	/* slices of the last layer that have arrived */
	unsigned	 before;	/* of those, before the last slice of the first layer */
	unsigned	 all;		/* slices of all layers that have arrived */
	unsigned	 pinged;	/* of those, before the answer to the question of the server */
};

/* Answers a message; a push only after the pipe has a byte. */
static void
answer_zeros(void *arg, const struct msg *m)
{
	struct slow *h = arg;
	static const float zeros[SHARD_PLAN_SLICE / sizeof(float)];
	struct msg answer = { .type = m->type, .slice = m->slice, .payload = zeros, .len = m->len };
	char byte;

	if (m->type == MSG_HELLO)
		answer = (struct msg){ .type = MSG_WELCOME, .flags = MSG_EMPTY };
	if (m->type == MSG_INIT || m->type == MSG_PULL)
		answer.type = MSG_WEIGHTS;
	if (m->type == MSG_PULL)
		return;		/* INIT has the length */
	if (m->type == MSG_PING) {
		h->pinged = h->all;
		return;
	}
	if (m->type == MSG_PUSH) {
		if (!h->reads) {
			conn_send(h->conn, &(struct msg){ .type = MSG_PING, .step = 1 });
			conn_run(h->conn);
			h->reads = read(h->may[0], &byte, 1) == 1;
		}
		h->all++;
		if (m->slice >= h->first_layer)
			h->pushes++;
		else
			h->before = h->pushes;
		answer.type = MSG_WEIGHTS;
		answer.step = m->step + 1;
	}
	conn_send(h->conn, &answer);
}

static void *
serve_slowly(void *arg)
{
	struct slow *h = arg;

	if ((h->conn = one_worker_accept(h->fd)) == NULL)
		return NULL;
	one_worker_serve(h->conn, answer_zeros, NULL, h);
	conn_close(h->conn);
	return NULL;
}

static void
test_order(void)
{
	struct graph *g = graph_new(64, 1, 1);
	struct one_worker job = { .o.graph = g, .o.aux = job.aux, .room = 65536 };
	struct slow h = { .first_layer = 64 * WIDE / (SHARD_PLAN_SLICE / sizeof(float)) };
	float *gradient;
	uint32_t at = 0;
	int e;

	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = &at, .nin = 1, .k = WIDE }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "b", .in = &at, .nin = 1, .k = LAST }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at, .nin = 1 }, &at);
	gradient = calloc(g->P, sizeof(float));
	job.o.w = calloc(g->P, sizeof(float));
	if (pipe(h.may) < 0)
		printf("Bail out! no pipe\n"), exit(1);
	if ((e = one_worker_begin(&job, serve_slowly, &h, &h.fd)) == 0)
		e = worker_step(job.wk, 1, 0.1f);
	for (uint32_t a = g->nw; e == 0 && a-- > 0;)
		e = worker_push(job.wk, a, gradient);
	if (e == 0)
		e = worker_finish(job.wk, NULL);
	(void)!write(h.may[1], "!", 1);
	if (e == 0 && (e = worker_ready(job.wk)) == 0)
		e = worker_bye(job.wk);
	is(e, 0, "a worker whose server is slow makes a step");
	one_worker_end(&job);
	ok(h.pushes > 0 && h.before < h.pushes,
	    "the first layer's gradient overtakes the last one's: %u of %u slices went before", h.before, h.pushes);
	ok(h.pinged > 0 && h.pinged < h.all,
	    "a sign of life does not queue behind all gradients: %u of %u slices went before", h.pinged, h.all);
	close(h.fd);
	close(h.may[0]);
	close(h.may[1]);
	free(gradient);
	free(job.o.w);
	graph_free(g);
}

enum { SLICES = 8 };

/* A server that gives no weights before the worker has said that it waits. */
struct asked {
	struct conn	*conn;
	int		 fd;		/* the listening socket */
	struct msg	 first[SLICES];	/* [n] INIT */
	unsigned	 n;
	unsigned	 waits, ended;	/* messages that it waits for this server, and that it waits for none */
};

static void
answer_late(void *arg, const struct msg *m)
{
	struct asked *h = arg;
	static const float zeros[64];

	if (m->type == MSG_HELLO)
		conn_send(h->conn, &(struct msg){ .type = MSG_WELCOME, .flags = MSG_EMPTY });
	else if (m->type == MSG_INIT && h->n < SLICES)
		h->first[h->n++] = *m;
	else if (m->type == MSG_BYE)
		conn_send(h->conn, m);
	if (m->type != MSG_WAIT)
		return;
	h->ended += m->slice == MSG_NOBODY;
	for (unsigned i = 0; h->waits == 0 && i < h->n; i++)
		conn_send(h->conn, &(struct msg){ .type = MSG_WEIGHTS, .slice = h->first[i].slice, .payload = zeros,
		    .len = h->first[i].len });
	h->waits += m->slice == 0;
}

static void *
serve_late(void *arg)
{
	struct asked *h = arg;

	if ((h->conn = one_worker_accept(h->fd)) == NULL)
		return NULL;
	one_worker_serve(h->conn, answer_late, NULL, h);
	conn_close(h->conn);
	return NULL;
}

static void
test_wait(void)
{
	struct asked h = { .n = 0 };
	struct one_worker job = { .o.wait_report_s = 0.05 };

	is(one_worker_begin(&job, serve_late, &h, &h.fd), 0, "a worker gets its weights from a late server");
	is(worker_bye(job.wk), 0, "the worker says goodbye");
	one_worker_end(&job);
	close(h.fd);
	ok(h.waits > 0, "the worker has said that it waits for the server");
	ok(h.ended > 0, "the worker has said that it no longer waits");
}

int
main(void)
{
	struct one_worker job = { .wk = NULL };
	int fd;

	is(one_worker_begin(&job, serve, &fd, &fd), ERR_ARG,
	    "a worker tries again after a connection that ended, until it is refused");
	ok(strstr(err_line(), "the second connection") != NULL, "the refusal is reported: %s", err_line());
	if (strstr(err_line(), "the second connection") == NULL)
		return done();		/* the server waits for the second connection */
	one_worker_end(&job);
	close(fd);
	test_goodbye();
	test_unanswered();
	test_wait();
	test_order();
	return done();
}
