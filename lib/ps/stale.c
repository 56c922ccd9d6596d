/* stale - which worker may take the next step: synchronous, asynchronous or with bounded staleness. */
#include "ps/stale.h"
#include "base/err.h"

#include <stdlib.h>

int
stale_init(struct stale *g, uint64_t *clock, uint32_t n, uint32_t slack)
{
	*g = (struct stale){ .n = n, .slack = slack, .clock = clock };
	g->gone = calloc(n, sizeof(*g->gone));
	return g->gone != NULL ? 0 : err_nomem();
}

void
stale_free(struct stale *g)
{
	free(g->gone);
	*g = (struct stale){ 0 };
}

void
stale_done(struct stale *g, uint32_t w, uint64_t step)
{
	if (step > g->clock[w])
		g->clock[w] = step;
}

void
stale_leave(struct stale *g, uint32_t w)
{
	g->gone[w] = true;
}

/* The steps of the slowest worker that has not left; w's own if all have. */
static uint64_t
find_slowest(const struct stale *g, uint32_t w)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < g->n; i++)
		if (!g->gone[i] && g->clock[i] < least)
			least = g->clock[i];
	return least < UINT64_MAX ? least : g->clock[w];
}

void
stale_join(struct stale *g, uint32_t w)
{
	if (!g->gone[w])
		return;
	stale_done(g, w, find_slowest(g, w));
	g->gone[w] = false;
}

bool
stale_may_step(const struct stale *g, uint32_t w)
{
	uint64_t least;

	if (g->slack == STALE_ASYNC)
		return true;
	least = find_slowest(g, w);
	return g->clock[w] <= least || g->clock[w] - least <= g->slack;
}
