/* stale - which worker may take the next step: synchronous, asynchronous or with bounded staleness. */
#include "ps/stale.h"
#include "base/err.h"

#include <stdlib.h>

int
stale_init(struct stale *g, uint64_t *clock, uint32_t n, uint32_t slack)
{
	*g = (struct stale){ .n = n, .slack = slack, .most = slack, .clock = clock };
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
stale_attach(struct stale *g, uint64_t *clock)
{
	g->clock = clock;
	g->slowest = 0;
}

void
stale_set(struct stale *g, uint32_t slack, uint32_t most)
{
	g->slack = slack;
	g->most = most;
}

/* Worker w is not among the slowest any more. */
static void
drop_slowest(struct stale *g, uint32_t w)
{
	if (g->slowest > 0 && !g->gone[w] && g->clock[w] == g->least)
		g->slowest--;
}

void
stale_done(struct stale *g, uint32_t w, uint64_t step)
{
	if (step <= g->clock[w])
		return;
	drop_slowest(g, w);
	g->clock[w] = step;
}

void
stale_leave(struct stale *g, uint32_t w)
{
	drop_slowest(g, w);
	g->gone[w] = true;
}

uint64_t
stale_least(struct stale *g)
{
	if (g->slowest > 0)
		return g->least;
	g->least = UINT64_MAX;
	for (uint32_t i = 0; i < g->n; i++) {
		if (g->gone[i] || g->clock[i] > g->least)
			continue;
		g->slowest = g->clock[i] < g->least ? 1 : g->slowest + 1;
		g->least = g->clock[i];
	}
	return g->least;
}

/* The steps of the slowest worker that has not left; w's own if all have. */
static uint64_t
find_slowest(struct stale *g, uint32_t w)
{
	uint64_t least = stale_least(g);

	return least < UINT64_MAX ? least : g->clock[w];
}

void
stale_join(struct stale *g, uint32_t w)
{
	if (!g->gone[w])
		return;
	stale_done(g, w, find_slowest(g, w));
	stale_return(g, w);
}

void
stale_return(struct stale *g, uint32_t w)
{
	g->slowest = 0;
	g->gone[w] = false;
}

bool
stale_waits(const struct stale *g, uint32_t w, uint32_t late)
{
	return g->slack != STALE_ASYNC && !g->gone[late] && g->clock[w] > g->clock[late] &&
	    g->clock[w] - g->clock[late] > g->slack;
}

static bool
is_within(struct stale *g, uint32_t w, uint32_t slack)
{
	uint64_t least;

	if (slack == STALE_ASYNC)
		return true;
	least = find_slowest(g, w);
	return g->clock[w] <= least || g->clock[w] - least <= slack;
}

bool
stale_may_step(struct stale *g, uint32_t w)
{
	return is_within(g, w, g->slack);
}

bool
stale_may_have_begun(struct stale *g, uint32_t w)
{
	return is_within(g, w, g->most);
}
