/* strangers - how many connections a process holds of peers that have not proved who they are. */
#include "wire/strangers.h"

#include "base/clk.h"

#include <inttypes.h>
#include <string.h>

void
strangers_add(struct strangers *s, const char *peer, uint64_t nth, struct stranger *g)
{
	const char *port = strrchr(peer, ':');
	uint32_t hash = 2166136261u;	/* FNV-1a */

	for (const char *p = peer; *p != 0 && p != port; p++)
		hash = (hash ^ (uint8_t)*p) * 16777619u;
	g->row = (hash ^ hash >> 16) % STRANGERS_ROWS + 1;
	g->nth = nth;
	s->row[g->row - 1]++;
	s->n++;
}

void
strangers_remove(struct strangers *s, struct stranger *g)
{
	if (g->row == 0)
		return;
	s->row[g->row - 1]--;
	s->n--;
	g->row = 0;
}

bool
strangers_full(const struct strangers *s)
{
	return s->n >= s->most;
}

bool
strangers_before(const struct strangers *s, const struct stranger *a, const struct stranger *b)
{
	uint32_t na = s->row[a->row - 1], nb = s->row[b->row - 1];

	return na != nb ? na > nb : a->nth < b->nth;
}

void
strangers_end(struct strangers *s)
{
	if (s->left_out > 0)
		log_callback_line(s->say, s->arg, "refused %" PRIu64 " more connections", s->left_out);
	s->left_out = 0;
}

void
strangers_refused(struct strangers *s, const char *who)
{
	double now = clk_s();

	if (s->lines > 0 && now - s->since >= STRANGERS_S) {
		strangers_end(s);
		s->lines = 0;
	}
	if (s->lines == 0)
		s->since = now;
	if (s->lines < STRANGERS_LINES) {
		s->lines++;
		log_callback_line(s->say, s->arg, "refused %s", who);
	} else {
		s->left_out++;
	}
}
