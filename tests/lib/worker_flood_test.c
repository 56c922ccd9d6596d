/* worker_flood_test - a server that holds the key and answers what it was not sent ends the job, and no worker crashes. */
#include "fc_net.h"
#include "tap.h"

#include "base/err.h"
#include "net/optim/norm.h"
#include "ps/worker/worker.h"
#include "wire/addr.h"
#include "wire/conn.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PARTS = 2000 };

static const uint8_t key[CONN_KEY] = { 9 };

/* Sends its part of the norms of one step after the other, without the gradients of any. */
static void
send_parts(struct conn *c)
{
	static const uint8_t none[NORM_BYTES];

	for (uint64_t step = 1; step <= PARTS; step++)
		conn_send(c, &(struct msg){ .type = MSG_NORMS, .step = step, .payload = none, .len = sizeof(none) });
}

static void *
serve_parts(void *fd)
{
	struct pollfd p = { .fd = *(int *)fd, .events = POLLIN };
	struct conn *c = NULL;
	struct msg m;

	poll(&p, 1, -1);
	if (conn_take(accept4(p.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), key, CONN_WORKER, &c) < 0)
		return NULL;
	while (conn_run(c) == 0) {
		if (conn_next(c, &m) == 0) {
			p = (struct pollfd){ .fd = conn_fd(c), .events = conn_events(c) };
			poll(&p, 1, -1);
		} else if (m.type == MSG_HELLO) {
			conn_send(c, &(struct msg){ .type = MSG_WELCOME, .flags = MSG_EMPTY });
		} else if (m.type == MSG_PULL) {
			send_parts(c);
		}
	}
	conn_close(c);
	return NULL;
}

int
main(void)
{
	char where[ADDR_TEXT], *servers[] = { where };
	struct graph *g = fc_net();
	float w[64] = { 0 }, aux[1];
	struct worker_opt o = { .graph = g, .nworkers = 1, .server = servers, .nservers = 1, .key = key, .w = w,
	    .aux = aux, .hyper = { .clip_norm = 1 } };
	struct worker *wk;
	pthread_t thread;
	uint64_t step = 0;
	int fd;

	is(addr_listen("127.0.0.1:0", &fd, where), 0, "a server listens");
	pthread_create(&thread, NULL, serve_parts, &fd);
	is(worker_open(&o, &wk), 0, "a worker says hello");
	is(worker_begin(wk, NULL, &step), ERR_FORMAT, "norms of steps that were not made end the job");
	ok(strstr(err_line(), "server 0") != NULL, "the error names the server: %s", err_line());
	worker_close(wk);
	pthread_join(thread, NULL);
	close(fd);
	graph_free(g);
	return done();
}
