/* crowd - a peer with the key that is slow to answer, among many connections without a word, for tests of listeners. */
#ifndef TESTS_LIB_CROWD_H
#define TESTS_LIB_CROWD_H

#include "base/err.h"
#include "wire/addr.h"
#include "wire/conn.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define CROWD_MOST	1000
#define CROWD_MS	60000	/* patience */

/* Waits until the listener has answered the ClientHello of c, which it then knows to be of the job.  c is not run. */
static inline bool
crowd_hear_answer(struct conn *c)
{
	struct pollfd p = { .fd = conn_fd(c), .events = POLLOUT };

	if (poll(&p, 1, CROWD_MS) != 1 || conn_run(c) < 0)
		return false;
	p.events = POLLIN;
	return poll(&p, 1, CROWD_MS) == 1;
}

/* Sends what no listener accepts.  Whether it refuses that, which it tells only a peer that has got in. */
static inline bool
crowd_hear_refusal(struct conn *c)
{
	static const char text[] = "meet 1 tally 0.0 role server rank any workers 9 servers 9";
	struct msg m = { .type = MSG_HELLO, .payload = text, .len = sizeof(text) - 1 };
	int e = conn_send(c, &m);

	while (e == 0 && (e = conn_run(c)) == 0) {
		if (conn_next(c, &m))
			return m.type == MSG_REFUSE;
		if (poll(&(struct pollfd){ .fd = conn_fd(c), .events = conn_events(c) }, 1, CROWD_MS) != 1)
			e = err_fail(ERR_PEER, "no answer");
	}
	printf("# %s\n", err_line());
	return false;
}

/*
 * Whether a peer with the key and the role gets in, if n connections from its address, of which the listener holds less,
 * come between its ClientHello and the rest of its handshake.
 */
static inline bool
crowd_lets_in(const char *where, const uint8_t key[CONN_KEY], const char *role, int n)
{
	int fd[CROWD_MOST];
	struct conn *c;
	bool in;

	if (n > CROWD_MOST || conn_dial(where, key, role, &c) < 0)
		return false;
	in = crowd_hear_answer(c);
	for (int i = 0; i < n; i++)
		if (addr_dial(where, &fd[i]) < 0)
			return false;
	in = in && poll(&(struct pollfd){ .fd = fd[0], .events = POLLIN }, 1, CROWD_MS) == 1 && crowd_hear_refusal(c);
	for (int i = 0; i < n; i++)
		close(fd[i]);
	conn_close(c);
	return in;
}

#endif
