/* worker_state_late - goes on where the servers are, if backup workers closed steps without it: serves worker_state. */
#include "ps/worker/worker_state_in.h"

bool
worker_state_exact_steps(const struct worker_state *ws)
{
	return ws->w->slack == STALE_SYNC && ws->w->backup == 0;
}

static void
renew_slice(struct worker_state *ws, uint32_t i)
{
	struct worker_part *p = &ws->part[i];

	p->waiting = true;
	p->want = p->got;
	p->push = (struct msg){ .type = MSG_PULL, .step = ws->step };
	worker_state_emit_slice(ws, i, p->push);
}

/* Requests all slices that are behind the first one: they were sent before the servers closed more steps. */
static void
renew_slices(struct worker_state *ws)
{
	const uint64_t newest = ws->part[ws->plan->lead].got;

	ws->renewing = true;
	for (uint32_t i = 0; i < ws->plan->n; i++)
		if (!ws->plan->slice[i].frozen && ws->part[i].got < newest)
			renew_slice(ws, i);
	for (uint32_t a = 0; a < ws->graph->nw; a++)
		worker_state_expect(ws, a);
	ws->aux_stale = true;
}

/*
 * The first slice, whose gradient is the last of a step, shows whether the worker is late.  Until then the others need
 * not have arrived.
 */
int
worker_state_find_newest(struct worker_state *ws, uint32_t *server)
{
	const struct worker_part *lead = &ws->part[ws->plan->lead];

	*server = 0;
	if (lead->waiting || (lead->got <= ws->step && !ws->renewing))
		return lead->waiting;
	if (worker_state_find_missing(ws, server) > 0)
		return 1;
	if (ws->renewing)
		return 0;
	renew_slices(ws);
	return worker_state_find_missing(ws, server);
}

/*
 * A slice may be behind the others, because a worker died before it had sent all gradients of a step.  Then all workers
 * repeat that step for it, as their gradients of the other slices are dropped.
 */
uint64_t
worker_state_catch_up(struct worker_state *ws, bool *renewed)
{
	uint64_t least = UINT64_MAX;

	*renewed = ws->renewing;
	if (!ws->renewing)
		return ws->step;
	ws->renewing = false;
	for (uint32_t i = 0; i < ws->plan->n; i++)
		if (!ws->plan->slice[i].frozen && ws->part[i].got < least)
			least = ws->part[i].got;
	ws->step = ws->turn = least > ws->step ? least : ws->step;
	return ws->step;
}
