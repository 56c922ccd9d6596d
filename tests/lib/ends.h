/*
 * ends - the two ends of a connection over loopback, run by one thread, for the tests of lib/wire.
 *
 *	ends_meet(&e, key, key);		a dialled b; neither has run yet
 *	ends_run(&e, ends_open)			runs both until the condition holds; false after PATIENCE_S
 *
 * e.ea and e.eb are the last errors of conn_run, e.la and e.lb their lines; an end with an error is run no more.
 */
#ifndef TESTS_ENDS_H
#define TESTS_ENDS_H

#include "base/clk.h"
#include "base/err.h"
#include "wire/addr.h"
#include "wire/conn.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_S 120

struct ends {
	struct conn	*a, *b;
	int		 ea, eb;
	char		 la[400], lb[400];
	char		 where[ADDR_TEXT];
};

static inline bool
ends_has_ucx(void)
{
	enum conn_transport t;
	int e;

	setenv("TALLY_TRANSPORT", "ucx", 1);
	e = conn_transport(NULL, &t);
	unsetenv("TALLY_TRANSPORT");
	return e == 0;
}

static inline int
ends_listen(char where[ADDR_TEXT])
{
	int fd;

	if (addr_listen("127.0.0.1:0", &fd, where) < 0) {
		printf("Bail out! %s\n", err_line());
		exit(1);
	}
	return fd;
}

static inline int
ends_accept(int listener)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };

	poll(&p, 1, PATIENCE_S * 1000);
	return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static inline void
ends_meet(struct ends *e, const uint8_t *ka, const uint8_t *kb)
{
	int listener;

	*e = (struct ends){ 0 };
	listener = ends_listen(e->where);
	if (conn_dial(e->where, ka, CONN_WORKER, &e->a) < 0 || conn_take(ends_accept(listener), kb, CONN_WORKER, &e->b) < 0) {
		printf("Bail out! %s\n", err_line());
		exit(1);
	}
	close(listener);
}

/* A stranger's socket, blocking, connected to a server end with the key. */
static inline int
ends_stranger(struct ends *e, const uint8_t *key)
{
	int fd, listener;

	*e = (struct ends){ 0 };
	listener = ends_listen(e->where);
	if (addr_dial(e->where, &fd) < 0 || conn_take(ends_accept(listener), key, CONN_WORKER, &e->b) < 0) {
		printf("Bail out! %s\n", err_line());
		exit(1);
	}
	close(listener);
	return fd;
}

static inline int
ends_step(struct conn *c, int *error, char line[400])
{
	if (c == NULL || *error != 0)
		return 0;
	if ((*error = conn_run(c)) < 0)
		snprintf(line, 400, "%s", err_line());
	return 1;
}

static inline bool
ends_run(struct ends *e, bool (*enough)(struct ends *))
{
	double start = clk_s();

	while (!enough(e) && clk_s() - start < PATIENCE_S) {
		struct pollfd p[2] = {
			{ .fd = e->a != NULL && e->ea == 0 ? conn_fd(e->a) : -1, .events = e->a != NULL ? conn_events(e->a) : 0 },
			{ .fd = e->b != NULL && e->eb == 0 ? conn_fd(e->b) : -1, .events = e->b != NULL ? conn_events(e->b) : 0 },
		};

		poll(p, 2, 100);
		ends_step(e->a, &e->ea, e->la);
		ends_step(e->b, &e->eb, e->lb);
	}
	return enough(e);
}

static inline bool
ends_open(struct ends *e)
{
	return conn_open(e->a) && conn_open(e->b);
}

static inline bool
ends_over_a(struct ends *e)
{
	return e->ea != 0;
}

static inline bool
ends_over_b(struct ends *e)
{
	return e->eb != 0;
}

static inline bool
ends_over(struct ends *e)
{
	return e->ea != 0 && e->eb != 0;
}

static inline void
ends_close(struct ends *e)
{
	conn_close(e->a);
	conn_close(e->b);
	*e = (struct ends){ 0 };
}

#endif
