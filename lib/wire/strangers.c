/* strangers - how many connections a process holds of peers that have not proved who they are. */
#include "wire/strangers.h"

#include "base/clk.h"
#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/socket.h>

#define PAUSE_S		0.1	/* a budget that was spent is not used for so long: few turns in place of many */

static const double rates[STRANGERS_COSTS] = { STRANGERS_ACCEPTS, STRANGERS_TURNS };

int
strangers_take(struct strangers *s, int fd, const uint8_t *key, const char *role, struct conn **c)
{
	int peer = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (peer < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM ? err_nomem() : 0;
	strangers_charge(s, STRANGERS_ACCEPT);
	ERR_TRY(conn_take(peer, key, role, c));
	conn_refuse_repeats(*c, &s->hellos);
	return 1;
}

void
strangers_add(struct strangers *s, const char *peer, uint64_t nth, struct stranger *g)
{
	const char *port = strrchr(peer, ':');
	uint32_t hash = 2166136261u;	/* FNV-1a */

	for (const char *p = peer; *p != 0 && p != port; p++)
		hash = (hash ^ (uint8_t)*p) * 16777619u;
	g->row = (hash ^ hash >> 16) % STRANGERS_ROWS + 1;
	g->nth = nth;
	g->credible = false;
	s->row[g->row - 1]++;
	s->n++;
}

void
strangers_remove(struct strangers *s, struct stranger *g)
{
	if (g->row == 0)
		return;
	s->row[g->row - 1] -= !g->credible;
	s->n--;
	g->row = 0;
}

bool
strangers_full(const struct strangers *s)
{
	return s->n >= s->most;
}

/* Others of the same address; a credible one is judged without them. */
static uint32_t
count_row(const struct strangers *s, const struct stranger *g)
{
	return g->credible ? 0 : s->row[g->row - 1];
}

bool
strangers_before(const struct strangers *s, const struct stranger *a, const struct stranger *b)
{
	uint32_t na = count_row(s, a), nb = count_row(s, b);

	return na != nb ? na > nb : a->nth < b->nth;
}

bool
strangers_precedes(const struct strangers *s, const struct stranger *a, const struct stranger *b)
{
	uint32_t na = count_row(s, a), nb = count_row(s, b);

	return na != nb ? na < nb : a->nth < b->nth;
}

bool
strangers_believe(struct strangers *s, const struct conn *c, struct stranger *g)
{
	struct strangers_budget *b = &s->budget[STRANGERS_ACCEPT];

	if (strangers_trust(g))
		return true;
	if (!conn_credible(c))
		return false;
	g->credible = true;
	s->row[g->row - 1]--;
	b->used = fmax(b->used - 1, 0);
	return true;
}

bool
strangers_trust(const struct stranger *g)
{
	return g->row == 0 || g->credible;
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
