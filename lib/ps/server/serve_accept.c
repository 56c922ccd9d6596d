/* serve_accept - takes new connections, and bounds the number of strangers: serves serve. */
#include "base/clk.h"
#include "ps/server/serve_in.h"

#include <errno.h>
#include <sys/socket.h>

/* If there are too many strangers, closes the oldest. */
static void
evict_stranger(struct serve *s)
{
	struct client *first = NULL;
	uint32_t strangers = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		struct client *g = &s->client[i];

		if (g->rank >= 0)
			continue;
		strangers++;
		if (g->claims < 0 && (first == NULL || g->until < first->until))
			first = g;
	}
	/* Workers are strangers until the server reads their hello, and may all arrive at once. */
	if (strangers < SERVE_STRANGERS + s->o->nworkers || first == NULL)
		return;
	first->until = 0;
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
	if (conn_take(fd, s->o->key, &g.conn) < 0)
		return;
	if (s->o->silence_s > 0)
		conn_set_silence(g.conn, s->o->silence_s);
	if (!s->o->tcp)
		conn_use_shm(g.conn, SERVE_SHARED / (2 * s->o->nworkers));
	s->client[s->n++] = g;
}
