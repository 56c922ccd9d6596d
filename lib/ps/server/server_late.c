/* server_late - finds the worker that keeps another one waiting: serves server_state. */
#include "ps/server/server_state_in.h"

/*
 * Whether an answer to worker w needs a gradient, first weights or a part of a sum that `late` has not sent.  The
 * worker with the first weights is one of those that have not asked for them.
 */
static bool
needs_worker(const struct server_state *s, uint32_t w, uint32_t late)
{
	if (late == w || server_state_gone(s, late))
		return false;
	if (s->total.open && s->total.due[w] == TOTAL_WAITS)
		return !s->total.here[late];
	for (uint32_t i = 0; i < s->shard.plan->n; i++) {
		const struct slice *sl = &s->shard.slice[i];

		if (shard_mine(&s->shard, i) && sl->due[w] != 0 &&
		    (sl->ready ? stale_waits(&sl->stale, w, late) : sl->due[late] == 0))
			return true;
	}
	return false;
}

uint32_t
server_state_late(const struct server_state *s, uint32_t w)
{
	for (uint32_t late = 0; s->shard.plan != NULL && late < s->o.nworkers; late++)
		if (needs_worker(s, w, late))
			return late;
	return MSG_NOBODY;
}
