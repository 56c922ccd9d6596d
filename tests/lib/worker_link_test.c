/* worker_link_test - a worker connects again to a server that ends its connection, and knows when a server has ended. */
#include "tap.h"

#include "base/err.h"
#include "ps/server/server_state.h"
#include "ps/worker/worker.h"
#include "wire/addr.h"
#include "wire/conn.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint8_t key[CONN_KEY] = { 7 };

/* Runs a connection until the handshake is complete; false if it ends before. */
static bool
finish_handshake(struct conn *c)
{
	while (!conn_open(c)) {
		struct pollfd p = { .fd = conn_fd(c), .events = conn_events(c) };

		poll(&p, 1, -1);
		if (conn_run(c) < 0)
			return false;
	}
	return true;
}

/* Answers every message by a refusal until the worker ends the connection: an earlier end could overtake the refusal. */
static void
refuse_hello(struct conn *c)
{
	static const char why[] = "the second connection";
	struct msg m;

	while (conn_run(c) == 0) {
		struct pollfd p = { .fd = conn_fd(c), .events = conn_events(c) };

		if (conn_next(c, &m) == 1)
			conn_send(c, &(struct msg){ .type = MSG_REFUSE, .len = sizeof(why) - 1, .payload = why });
		else
			poll(&p, 1, -1);
	}
}

/* A server that dies after its first handshake; the next one refuses the worker. */
static void *
serve(void *arg)
{
	struct pollfd p = { .fd = *(int *)arg, .events = POLLIN };
	struct conn *c = NULL;

	for (int i = 0; i < 2; i++) {
		poll(&p, 1, -1);
		conn_take(accept4(p.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), key, &c);
		if (finish_handshake(c) && i > 0)
			refuse_hello(c);
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

/* A server that dies when it has stored the goodbye, before it answers; its successor ends at once. */
static void *
die_after_goodbye(void *arg)
{
	struct mortal *h = arg;
	struct memory memory = { .fd = -1 };
	struct server_state_opt o = { .nworkers = 1, .nservers = 1, .incarnation = 1, .memory = &memory, .emit = answer,
	    .arg = h };
	struct pollfd p = { .fd = h->fd, .events = POLLIN };
	struct msg m;

	poll(&p, 1, -1);
	if (conn_take(accept4(h->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), key, &h->conn) < 0 ||
	    !finish_handshake(h->conn) || server_state_new(&o, &h->server) < 0)
		return NULL;
	while (!server_state_over(h->server) && conn_run(h->conn) == 0) {
		p = (struct pollfd){ .fd = conn_fd(h->conn), .events = conn_events(h->conn) };
		if (conn_next(h->conn, &m) == 1)
			(void)server_state_take(h->server, &m);
		else
			poll(&p, 1, -1);
	}
	close(h->fd);
	conn_close(h->conn);
	server_state_free(h->server);
	memory_close(&memory);
	return NULL;
}

static void
test_goodbye(struct worker_opt o)
{
	char where[ADDR_TEXT], *servers[] = { where };
	struct mortal h = { .fd = -1 };
	struct worker *wk;
	pthread_t thread;
	uint64_t step = 0;

	is(addr_listen("127.0.0.1:0", &h.fd, where), 0, "a server listens");
	pthread_create(&thread, NULL, die_after_goodbye, &h);
	o.server = servers;
	is(worker_open(&o, &wk), 0, "a worker says hello");
	is(worker_begin(wk, NULL, &step), 0, "the worker begins");
	is(worker_bye(wk), 0, "a server that ends after it has stored the goodbye need not answer");
	worker_close(wk);
	pthread_join(thread, NULL);
}

int
main(void)
{
	char where[ADDR_TEXT], *servers[] = { where };
	struct graph *g = graph_new(1, 2, 3);
	float w[64] = { 0 }, aux[1];
	struct worker_opt o = { .graph = g, .nworkers = 1, .server = servers, .nservers = 1, .key = key, .w = w,
	    .aux = aux };
	struct worker *wk;
	pthread_t thread;
	uint32_t at = 0;
	int fd;

	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = &at, .nin = 1, .k = 4 }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at, .nin = 1 }, &at);
	is(addr_listen("127.0.0.1:0", &fd, where), 0, "a server listens");
	pthread_create(&thread, NULL, serve, &fd);
	is(worker_open(&o, &wk), ERR_ARG, "a worker tries again after a connection that ended, until it is refused");
	ok(strstr(err_line(), "the second connection") != NULL, "the refusal is reported: %s", err_line());
	if (strstr(err_line(), "the second connection") == NULL)
		return done();		/* the server waits for the second connection */
	pthread_join(thread, NULL);
	close(fd);
	test_goodbye(o);
	graph_free(g);
	return done();
}
