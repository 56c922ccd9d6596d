/* serve_accept - takes new connections, and bounds the number of strangers and what they cost: serves serve. */
#include "base/clk.h"
#include "ps/server/serve_in.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPTS	16	/* most connections that are accepted in one turn */

void
serve_refuse_stranger(struct serve *s, const char *who)
{
	s->sums->strangers++;
	strangers_refused(&s->strangers, who);
}

void
serve_expire(struct serve *s, struct client *g, const char *why)
{
	char who[ERR_LINE];

	g->over = true;
	if (g->done)
		return;
	snprintf(who, sizeof(who), "%s: %s", conn_peer(g->conn), why);
	serve_refuse_stranger(s, who);
}

/* If there are too many strangers, closes one. */
static void
evict_stranger(struct serve *s)
{
	struct client *first = NULL;

	/* Workers are strangers until the server reads their hello, and may all arrive at once. */
	if (!strangers_full(&s->strangers))
		return;
	for (uint32_t i = 0; i < s->n; i++) {
		struct client *g = &s->client[i];

		if (g->stranger.row != 0 && g->claims < 0 && !g->over &&
		    (first == NULL || strangers_before(&s->strangers, &g->stranger, &first->stranger)))
			first = g;
	}
	if (first == NULL)
		return;
	serve_expire(s, first, STRANGERS_EVICTED);
	serve_close_finished(s);
}

/* Returns false when there is none. */
static bool
accept_stranger(struct serve *s)
{
	int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct client g = { .rank = -1, .page = -1, .claims = -1, .until = clk_s() + SERVE_HELLO_S };

	if (fd < 0) {
		s->paused = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
		return false;
	}
	strangers_charge(&s->strangers, STRANGERS_ACCEPT);
	evict_stranger(s);
	g.nth = ++s->conns;
	if (conn_take(fd, s->o->key, CONN_WORKER, &g.conn) < 0)
		return false;
	strangers_add(&s->strangers, conn_peer(g.conn), g.nth, &g.stranger);
	if (s->o->silence_s > 0)
		conn_set_silence(g.conn, s->o->silence_s);
	if (s->o->transport == CONN_UCX)
		conn_use_ucx(g.conn);
	else if (s->o->transport == CONN_AUTO)
		conn_use_shm(g.conn, SERVE_SHARED / (2 * s->o->nworkers));
	s->client[s->n++] = g;
	return true;
}

void
serve_accept(struct serve *s)
{
	for (int i = 0; i < ACCEPTS && strangers_may(&s->strangers, STRANGERS_ACCEPT) && accept_stranger(s); i++)
		continue;
}

/* Whether workers are missing that the job needs: whoever connects may be one. */
static bool
is_incomplete(struct serve *s)
{
	uint32_t here = 0;

	for (uint32_t i = 0; i < s->n; i++)
		here += s->client[i].rank >= 0 && !s->client[i].over;
	for (uint32_t w = 0; w < s->o->nworkers; w++)
		here += server_state_gone(s->state, w);
	return here < (s->o->elastic > 0 ? s->o->elastic : s->o->nworkers) || isfinite(serve_next_return(s));
}

void
serve_expect_joins(struct serve *s)
{
	struct signalfd_siginfo si;

	while (read(s->o->joins_fd, &si, sizeof(si)) == (ssize_t)sizeof(si))
		s->joins_until = clk_s() + SERVE_RETURN_S;
}

bool
serve_polls_strangers(struct serve *s, bool listening)
{
	s->strangers.expects = !listening || clk_s() < s->joins_until || is_incomplete(s);
	return strangers_may(&s->strangers, STRANGERS_TURN);
}

/* The next stranger to run of the first n connections: of the address with the fewest, and there the oldest. */
static uint32_t
find_ready_stranger(const struct serve *s, uint32_t n)
{
	uint32_t first = n;

	for (uint32_t i = 0; i < n; i++)
		if (s->poll[SERVE_POLLS + i].revents != 0 && s->client[i].stranger.row != 0 && (first == n ||
		    strangers_precedes(&s->strangers, &s->client[i].stranger, &s->client[first].stranger)))
			first = i;
	return first;
}

void
serve_run_strangers(struct serve *s, uint32_t n)
{
	uint32_t i;

	while (s->err == 0 && strangers_may(&s->strangers, STRANGERS_TURN) && (i = find_ready_stranger(s, n)) < n) {
		s->poll[SERVE_POLLS + i].revents = 0;
		serve_run_client(s, &s->client[i]);
		if (!s->client[i].over)
			strangers_charge(&s->strangers, STRANGERS_TURN);
	}
}
