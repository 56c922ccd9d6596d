/* wire_fault - cuts between hosts, and connections that break: serves wire. */
#include "law/sim/wire_in.h"

#include <errno.h>

#define RTO_NS	(200 * SIM_MS)	/* until what was sent is sent again for the first time */

void
wire_cut(uint32_t from, uint32_t to, uint64_t until, bool refuses)
{
	const uint64_t now = sim_now();

	wires.down[from][to] = until > wires.down[from][to] ? until : wires.down[from][to];
	wires.refuses[from][to] = refuses;
	for (unsigned i = 0; i < WIRES; i++) {
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

bool
wire_break(void)
{
	struct wire *open[WIRES];
	unsigned n = 0;

	for (unsigned i = 0; i < WIRES; i++)
		if (wires.all[i].used && wires.all[i].open && !wires.all[i].end[0].closed && !wires.all[i].end[1].closed)
			open[n++] = &wires.all[i];
	if (n == 0)
		return false;
	n = (unsigned)wire_draw(n);
	sim_log("connection of hosts %u and %u breaks", open[n]->end[0].host, open[n]->end[1].host);
	for (unsigned side = 0; side < 2; side++) {
		wire_lose(&open[n]->end[side].in);
		wire_fail(open[n], side, ECONNRESET, wire_arrival());
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
