/* serve_accept - takes new connections, and bounds the number of strangers: serves serve. */
#include "base/clk.h"
#include "ps/server/serve_in.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

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

void
serve_accept(struct serve *s)
{
	int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct client g = { .rank = -1, .page = -1, .claims = -1, .until = clk_s() + SERVE_HELLO_S };

	if (fd < 0) {
		s->paused = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
		return;
	}
	evict_stranger(s);
	g.nth = ++s->conns;
	if (conn_take(fd, s->o->key, CONN_WORKER, &g.conn) < 0)
		return;
	strangers_add(&s->strangers, conn_peer(g.conn), g.nth, &g.stranger);
	if (s->o->silence_s > 0)
		conn_set_silence(g.conn, s->o->silence_s);
	if (!s->o->tcp)
		conn_use_shm(g.conn, SERVE_SHARED / (2 * s->o->nworkers));
	s->client[s->n++] = g;
}
