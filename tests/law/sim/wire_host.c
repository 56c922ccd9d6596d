/* wire_host - the hosts of connections, and the speed of their links: serves wire. */
#include "law/sim/wire_in.h"
#include "law/sim/sys.h"

#include <stdlib.h>

struct wires wires;

void
wire_reserve(unsigned hosts, unsigned n)
{
	wires.hosts = hosts;
	wires.n = n;
	wires.all = __real_calloc(n, sizeof(*wires.all));
	wires.host = __real_calloc(hosts, sizeof(*wires.host));
	wires.way = __real_calloc((size_t)hosts * hosts, sizeof(*wires.way));
	if (wires.all == NULL || wires.host == NULL || wires.way == NULL)
		abort();
}

struct wire_way *
wire_way(uint32_t from, uint32_t to)
{
	return &wires.way[(size_t)from * wires.hosts + to];
}

void
wire_limit(const struct wire_speed *speed)
{
	wires.speed = *speed;
}

void
wire_place(uint32_t host, uint32_t machine)
{
	wires.host[host].machine = machine;
}

uint32_t
wire_machine(uint32_t host)
{
	return wires.host[host].machine;
}

bool
wire_together(uint32_t a, uint32_t b)
{
	return wires.host[a].machine == wires.host[b].machine;
}

/* When n bytes are at the other host: they leave after all that the one sends, and arrive after all that the other gets. */
uint64_t
wire_pass(uint32_t from, uint32_t to, size_t n)
{
	const uint64_t takes = (uint64_t)((double)n * WIRE_OVERHEAD * 8e9 / wires.speed.bits_s), now = sim_now();
	uint64_t *sends = &wires.host[from].sends_at, *receives = &wires.host[to].receives_at;
	const uint64_t starts = *sends > now ? *sends : now;

	*sends = starts + takes;
	*receives = (*receives > starts ? *receives : starts) + takes;
	return *receives + wires.speed.latency;
}
