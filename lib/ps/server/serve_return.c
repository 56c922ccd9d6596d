/* serve_return - workers that are away, and may return: serves serve. */
#include "ps/server/serve_in.h"
#include "base/clk.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define AFTER_S	30.0	/* least time beyond the silence, for which an outage may keep a worker away */

void
serve_expect_nobody(struct serve *s)
{
	for (uint32_t w = 0; w < s->o->nworkers; w++)
		s->worker[w].return_by = (double)INFINITY;
}

static double
get_return_s(const struct serve *s)
{
	return s->o->return_s > 0 ? s->o->return_s : fmax(SERVE_RETURN_S, s->o->silence_s + AFTER_S);
}

void
serve_expect_worker(struct serve *s, uint32_t rank, const char *why_away)
{
	s->worker[rank].return_by = clk_s() + get_return_s(s);
	log_callback_line(s->o->say, s->o->arg, "worker %" PRIu32 " is away: %s; it has %.0f s to return", rank,
	    why_away, get_return_s(s));
}

void
serve_expect_again(struct serve *s)
{
	for (uint32_t w = 0; w < s->o->nworkers; w++)
		if (isfinite(s->worker[w].return_by))
			s->worker[w].return_by = clk_s() + get_return_s(s);
}

void
serve_greet_worker(struct serve *s, uint32_t rank)
{
	if (isfinite(s->worker[rank].return_by))
		log_callback_line(s->o->say, s->o->arg, "worker %" PRIu32 " is back, from %s", rank,
		    conn_peer(s->now->conn));
	s->worker[rank].return_by = (double)INFINITY;
}

void
serve_expect_workers(struct serve *s)
{
	serve_expect_nobody(s);
	for (uint32_t w = 0; w < s->o->nworkers; w++) {
		if (server_state_here(s->state, w))
			s->worker[w].return_by = clk_s() + get_return_s(s);
		if (server_state_missed(s->state, w))
			s->worker[w].lost = true;
	}
}

double
serve_next_return(const struct serve *s)
{
	double first = (double)INFINITY;

	for (uint32_t w = 0; w < s->o->nworkers; w++)
		first = fmin(first, s->worker[w].return_by);
	return first;
}

void
serve_lose_absent(struct serve *s)
{
	const double now = serve_check_pause(s);

	for (uint32_t w = 0; w < s->o->nworkers; w++)
		if (now >= s->worker[w].return_by) {
			s->worker[w].return_by = (double)INFINITY;
			serve_lose_worker(s, w, "it did not return");
		}
}
