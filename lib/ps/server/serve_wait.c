/* serve_wait - who is late: answers workers that wait, and finds those that do not answer: serves serve. */
#include "base/clk.h"
#include "ps/server/serve_in.h"

#include <inttypes.h>
#include <math.h>

#define TELL_S		10.0	/* least time between two lines about a worker that is late */
#define ASK_S		1.0	/* silence after which a worker is asked for a sign of life */
#define ANSWER_S	1.0	/* least time for the answer */
#define SILENT_S	2.5	/* silence that is reported: the look after it comes within 3 s */
#define NAMES		4	/* most workers that are named at once if they have not connected */
#define QUIET_S		3.0	/* time for the others after this process was stopped */

static void
report_late(struct serve *s, uint32_t rank)
{
	const struct client *g = serve_find_client(s, rank);
	/* If this process was stopped, messages of that worker may be unread. */
	const double now = serve_check_pause(s);

	if (now < s->quiet_until || (s->worker[rank].told > 0 && now - s->worker[rank].told < TELL_S))
		return;
	s->worker[rank].told = now;
	log_callback_line(s->o->say, s->o->arg, "waiting for worker %" PRIu32 " (%s%s)", rank,
	    g != NULL ? conn_peer(g->conn) : "not connected",
	    g != NULL && conn_unanswered(g->conn) ? "; its host or the network does not answer" : "");
}

void
serve_answer_wait(struct serve *s, struct client *g, const struct msg *m)
{
	uint32_t late;

	serve_count_msg(s, m->worker, PEER_TRAFFIC_RECEIVED, m);
	s->worker[m->worker].waits = m->slice < s->o->nservers ? m->slice : MSG_NOBODY;
	if (s->worker[m->worker].waits == MSG_NOBODY)
		return;
	late = server_state_late(s->state, m->worker);
	serve_send(s, g, m->worker, &(struct msg){ .type = MSG_WAIT, .incarnation = s->o->incarnation,
	    .worker = m->worker, .slice = late, .samples = late != MSG_NOBODY ? s->worker[late].waits : MSG_NOBODY });
	if (m->slice == s->o->index && late != MSG_NOBODY && s->worker[late].waits == MSG_NOBODY)
		report_late(s, late);
}

/* The connection of a worker that is to take part in the next step. */
static bool
is_awaited(const struct serve *s, const struct client *g)
{
	return g->rank >= 0 && !g->done && !g->over && !server_state_gone(s->state, (uint32_t)g->rank);
}

/* Returns whether a worker gives no sign of life.  When one that did not does, its next silence is another. */
static bool
is_silent(struct serve *s, struct client *g, double now)
{
	const struct claim_sign sign = serve_claim_sign(g);
	const uint32_t rank = (uint32_t)g->rank;

	if (g->heard == 0 || claim_moved(&g->seen, &sign)) {
		if (g->heard > 0 && now - g->heard >= SILENT_S)
			s->worker[rank].told = 0;
		g->seen = sign;
		g->heard = now;
		g->asked = 0;
	}
	/* The question of a claim is as good, and its answer must not be lost. */
	if (g->asked == 0 && now - g->heard >= ASK_S) {
		g->asked = now;
		if (!serve_claimed(s, rank))
			serve_send(s, g, rank, &(struct msg){ .type = MSG_PING, .incarnation = s->o->incarnation,
			    .worker = rank });
	}
	return g->asked > 0 && now - g->asked >= ANSWER_S && now - g->heard >= SILENT_S;
}

/* A worker of the start that has not connected yet, although the job has begun. */
static bool
is_absent(const struct serve *s, uint32_t rank, double now)
{
	return s->since > 0 && now - s->since >= SILENT_S && !server_state_here(s->state, rank) &&
	    !server_state_gone(s->state, rank);
}

/* Workers without which the others go on are not named, unless all are silent. */
void
serve_check_workers(struct serve *s)
{
	const uint32_t start = s->o->elastic > 0 ? s->o->elastic : s->o->nworkers;
	const double now = serve_check_pause(s);
	uint32_t absent = 0, awaited, silent;

	for (uint32_t w = 0; w < start; w++)
		absent += is_absent(s, w, now);
	awaited = silent = absent;
	for (uint32_t i = 0; i < s->n; i++)
		if (is_awaited(s, &s->client[i])) {
			awaited++;
			silent += is_silent(s, &s->client[i], now);
		}
	if (silent == 0 || (silent <= server_state_spare(s->state) && silent < awaited))
		return;
	absent = 0;
	for (uint32_t w = 0; w < start && absent < NAMES; w++)
		if (is_absent(s, w, now)) {
			report_late(s, w);
			absent++;
		}
	for (uint32_t i = 0; i < s->n && now >= s->quiet_until; i++)
		if (is_awaited(s, &s->client[i]) && is_silent(s, &s->client[i], now))
			report_late(s, (uint32_t)s->client[i].rank);
}

double
serve_check_pause(struct serve *s)
{
	const double now = clk_s();

	if (s->due > 0 && clk_stopped(s->due)) {
		s->quiet_until = now + QUIET_S;
		serve_expect_again(s);
		for (uint32_t i = 0; i < s->n; i++) {
			struct client *g = &s->client[i];

			g->heard = g->asked = 0;
			if (g->rank < 0 && !g->done && g->claims < 0)
				g->until = now + SERVE_HELLO_S;
		}
	}
	s->due = now;
	return now;
}
