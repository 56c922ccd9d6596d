/* worker_flood_test - a server that holds the key and answers what it was not sent ends the job, and no worker crashes. */
#include "one_worker.h"
#include "tap.h"

#include "base/err.h"
#include "net/optim/norm.h"

enum { PARTS = 2000 };

/* Sends its part of the norms of one step after the other, without the gradients of any. */
static void
send_parts(struct conn *c)
{
	static const uint8_t none[NORM_BYTES];

	for (uint64_t step = 1; step <= PARTS; step++)
		conn_send(c, &(struct msg){ .type = MSG_NORMS, .step = step, .payload = none, .len = sizeof(none) });
}

struct flood {
	struct conn	*conn;
	int		 fd;	/* the listening socket */
};

static void
flood_worker(void *arg, const struct msg *m)
{
	struct flood *h = arg;

	if (m->type == MSG_HELLO)
		conn_send(h->conn, &(struct msg){ .type = MSG_WELCOME, .flags = MSG_EMPTY });
	else if (m->type == MSG_PULL)
		send_parts(h->conn);
}

static void *
serve_parts(void *arg)
{
	struct flood *h = arg;

	if ((h->conn = one_worker_accept(h->fd)) != NULL)
		one_worker_serve(h->conn, flood_worker, NULL, h);
	conn_close(h->conn);
	return NULL;
}

int
main(void)
{
	struct flood h = { .fd = -1 };
	struct one_worker job = { .o.hyper = { .clip_norm = 1 } };

	is(one_worker_begin(&job, serve_parts, &h, &h.fd), ERR_FORMAT, "norms of steps that were not made end the job");
	ok(strstr(err_line(), "server 0") != NULL, "the error names the server: %s", err_line());
	one_worker_end(&job);
	close(h.fd);
	return done();
}
