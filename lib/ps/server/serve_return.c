/* serve_return - workers that are away, and may return: serves serve. */
#include "ps/server/serve_in.h"
#include "base/clk.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

void
serve_expect_nobody(struct serve *s)
{
	for (uint32_t w = 0; w < s->o->nworkers; w++)
		s->return_by[w] = (double)INFINITY;
}

void
serve_expect_workers(struct serve *s)
{
	double until = clk_s() + (s->o->return_s > 0 ? s->o->return_s : SERVE_RETURN_S);

	serve_expect_nobody(s);
	for (uint32_t w = 0; w < s->o->nworkers; w++) {
		if (server_state_here(s->state, w))
			s->return_by[w] = until;
		if (server_state_missed(s->state, w))
			snprintf(s->lost[w], ERR_LINE, "worker %" PRIu32 " is lost", w);
	}
}

double
serve_next_return(const struct serve *s)
{
	double first = (double)INFINITY;

	for (uint32_t w = 0; w < s->o->nworkers; w++)
		first = fmin(first, s->return_by[w]);
	return first;
}

void
serve_lose_absent(struct serve *s)
{
	double now = clk_s();

	for (uint32_t w = 0; w < s->o->nworkers; w++)
		if (now >= s->return_by[w]) {
			s->return_by[w] = (double)INFINITY;
			serve_lose_worker(s, w, "it did not return after the server was restarted");
		}
}
