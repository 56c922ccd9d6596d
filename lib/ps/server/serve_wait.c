/* serve_wait - tells a worker that waits who is late: serves serve. */
#include "base/clk.h"
#include "ps/server/serve_in.h"

#include <inttypes.h>

#define TELL_S	10.0	/* least time between two lines about a worker that is late */

static void
report_late(struct serve *s, uint32_t rank)
{
	const struct client *g = serve_find_client(s, rank);
	double now = clk_s();

	if (s->told[rank] > 0 && now - s->told[rank] < TELL_S)
		return;
	s->told[rank] = now;
	log_callback_line(s->o->say, s->o->arg, "waiting for worker %" PRIu32 " (%s)", rank,
	    g != NULL ? conn_peer(g->conn) : "not connected");
}

void
serve_answer_wait(struct serve *s, struct client *g, const struct msg *m)
{
	uint32_t late;

	serve_count_msg(s, m->worker, PEER_TRAFFIC_IN, m);
	s->waits[m->worker] = m->slice < s->o->nservers ? m->slice : MSG_NOBODY;
	if (s->waits[m->worker] == MSG_NOBODY)
		return;
	late = server_state_late(s->state, m->worker);
	serve_send(s, g, m->worker, &(struct msg){ .type = MSG_WAIT, .incarnation = s->o->incarnation,
	    .worker = m->worker, .slice = late, .samples = late != MSG_NOBODY ? s->waits[late] : MSG_NOBODY });
	if (m->slice == s->o->index && late != MSG_NOBODY && s->waits[late] == MSG_NOBODY)
		report_late(s, late);
}
