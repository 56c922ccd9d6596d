/* serve_accept - takes new connections, and bounds the number of strangers and what they cost: serves serve. */
#include "base/clk.h"
#include "ps/server/serve_in.h"

#include <math.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

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

/* Adds a connection, and runs it: most peers have sent their hello by then. */
static void
add_stranger(struct serve *s, struct conn *c)
{
	struct client *g;

	evict_stranger(s);
	/* A connection that its worker has left for another one keeps its place until it is closed. */
	if (s->n == s->most)
		serve_close_finished(s);
	if (s->n == s->most) {
		conn_close(c);
		return;
	}
	g = &s->client[s->n++];
	*g = (struct client){ .conn = c, .rank = -1, .page = -1, .claims = -1, .until = clk_s() + SERVE_HELLO_S,
	    .nth = ++s->conns };
	strangers_add(&s->strangers, conn_peer(c), g->nth, &g->stranger);
	if (s->o->silence_s > 0)
		conn_set_silence(c, s->o->silence_s);
	if (s->o->transport == CONN_UCX)
		conn_use_ucx(c);
	else if (s->o->transport == CONN_AUTO)
		conn_use_shm(c, SERVE_SHARED / (2 * s->o->nworkers));
	serve_run_client(s, g);
	if (g->over)
		serve_close_finished(s);
	else
		strangers_believe(&s->strangers, c, &g->stranger);
}

void
serve_accept(struct serve *s)
{
	struct conn *c;
	int e = 1;

	for (int i = 0; i < STRANGERS_BATCH && s->err == 0 && strangers_may(&s->strangers, STRANGERS_ACCEPT) &&
	    (e = strangers_take(&s->strangers, s->fd, s->o->key, CONN_WORKER, &c)) > 0; i++)
		add_stranger(s, c);
	s->paused = e < 0;
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

	while (s->err == 0 && (i = find_ready_stranger(s, n)) < n) {
		struct client *g = &s->client[i];

		if (!strangers_trust(&g->stranger) && !strangers_may(&s->strangers, STRANGERS_TURN))
			break;
		s->poll[SERVE_POLLS + i].revents = 0;
		serve_run_client(s, g);
		if (!g->over && !strangers_believe(&s->strangers, g->conn, &g->stranger))
			strangers_charge(&s->strangers, STRANGERS_TURN);
	}
}
