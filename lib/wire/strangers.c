/* strangers - how many connections a process holds of peers that have not proved who they are. */
#include "wire/strangers.h"

#include "base/clk.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define PAUSE_S		0.1	/* a budget that was spent is not used for so long: few turns in place of many */
#define PROOF_TURNS	3.0	/* turns until a peer has proved itself */

static const double rates[STRANGERS_COSTS] = { STRANGERS_ACCEPTS, STRANGERS_TURNS };

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

bool
strangers_precedes(const struct strangers *s, const struct stranger *a, const struct stranger *b)
{
	uint32_t na = s->row[a->row - 1], nb = s->row[b->row - 1];

	return na != nb ? na < nb : a->nth < b->nth;
}

bool
strangers_may(struct strangers *s, enum strangers_cost cost)
{
	struct strangers_budget *b = &s->budget[cost];
	double rate = s->times * rates[cost], now;

	if (s->expects)
		return true;
	now = clk_s();
	b->used = fmax(b->used - (now - b->at) * rate, 0);
	b->at = now;
	b->spent = b->used >= (s->burst_s - (b->spent ? PAUSE_S : 0)) * rate;
	return !b->spent;
}

void
strangers_charge(struct strangers *s, enum strangers_cost cost)
{
	if (!s->expects)
		s->budget[cost].used++;
}

void
strangers_accept(struct strangers *s, struct stranger *g)
{
	if (g->row == 0)
		return;
	s->budget[STRANGERS_ACCEPT].used = fmax(s->budget[STRANGERS_ACCEPT].used - 1, 0);
	s->budget[STRANGERS_TURN].used = fmax(s->budget[STRANGERS_TURN].used - PROOF_TURNS, 0);
	strangers_remove(s, g);
}

double
strangers_wait_s(const struct strangers *s)
{
	double wait = (double)INFINITY;

	for (int i = 0; i < STRANGERS_COSTS && !s->expects; i++) {
		const struct strangers_budget *b = &s->budget[i];
		double rate = s->times * rates[i];

		if (b->spent)
			wait = fmin(wait, b->used / rate - (s->burst_s - PAUSE_S));
	}
	return fmax(wait, 0);
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
