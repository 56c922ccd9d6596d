/* wire_fault - cuts between hosts, and connections that break: serves wire. */
#include "law/sim/wire_in.h"

#include <errno.h>

#define RTO_NS	(200 * SIM_MS)	/* until what was sent is sent again for the first time */

void
wire_cut(uint32_t from, uint32_t to, uint64_t until, bool refuses)
{
	const uint64_t now = sim_now();
	struct wire_way *way = wire_way(from, to);

	way->down = until > way->down ? until : way->down;
	way->refuses = refuses;
	for (unsigned i = 0; i < wires.n; i++) {
		struct wire *w = &wires.all[i];
		const uint32_t a = w->end[0].host, b = w->end[1].host;
		uint64_t most;

		if (!w->used || !w->open || !((a == from && b == to) || (a == to && b == from)))
			continue;
		if (w->recovers_at <= now)
			w->stalled_at = now;
		most = w->end[0].rto_max < w->end[1].rto_max ? w->end[0].rto_max : w->end[1].rto_max;
		most = until - w->stalled_at < most ? until - w->stalled_at : most;
		if (until > w->recovers_at)
			w->recovers_at = until + wire_draw(most + 1);
	}
}

static bool
is_open(const struct wire *w)
{
	return w->used && w->open && !w->end[0].closed && !w->end[1].closed;
}

bool
wire_break(void)
{
	unsigned n = 0;
	struct wire *w;

	for (unsigned i = 0; i < wires.n; i++)
		n += is_open(&wires.all[i]);
	if (n == 0)
		return false;
	n = (unsigned)wire_draw(n);
	for (w = wires.all; !is_open(w) || n-- > 0; w++)
		;
	sim_log("connection of hosts %u and %u breaks", w->end[0].host, w->end[1].host);
	for (unsigned side = 0; side < 2; side++) {
		wire_lose(&w->end[side].in);
		wire_fail(w, side, ECONNRESET, wire_arrival());
		sim_changed(w->end[side].host);
	}
	return true;
}

/* What the system of this end has tried in vain since a cut: sends again with pauses that grow, or asks an idle peer. */
void
wire_tcp_info(const struct wire *w, unsigned side, struct tcp_info *t)
{
	const struct end *e = &w->end[side];
	uint64_t since, pause = RTO_NS;

	if (sim_now() >= w->recovers_at)
		return;
	since = sim_now() - w->stalled_at;
	t->tcpi_last_ack_recv = (uint32_t)(since / SIM_MS);
	if (w->end[!side].in.nseg == 0 && e->held == 0) {
		t->tcpi_probes = (uint8_t)(since / e->idle < 200 ? since / e->idle : 200);
		return;
	}
	for (; since >= pause && t->tcpi_retransmits < 200; t->tcpi_retransmits++) {
		since -= pause;
		pause = 2 * pause < e->rto_max ? 2 * pause : e->rto_max;
	}
}
