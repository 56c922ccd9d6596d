/* serve_claim - holds a hello with the rank of a connected worker until that worker has answered or not. */
#include "base/clk.h"
#include "base/err.h"
#include "ps/server/serve_in.h"

#include <inttypes.h>

#define NEXT_TURN_S 0.05	/* most time until the turn that decides about a claim */

struct claim_sign
serve_claim_sign(const struct client *g)
{
	struct claim_sign sign = { .queued = conn_queued(g->conn) };

	conn_byte_counts(g->conn, &sign.received, &sign.sent);
	return sign;
}

static struct client *
find_claim(struct serve *s, uint32_t rank)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->client[i].claims == rank && !s->client[i].over)
			return &s->client[i];
	return NULL;
}

bool
serve_claimed(struct serve *s, uint32_t rank)
{
	return find_claim(s, rank) != NULL;
}

static void
reject_claim(struct serve *s, struct client *g)
{
	g->claims = -1;
	serve_reject(s, g);
}

bool
serve_claim_begin(struct serve *s, struct client *g, const struct msg *m)
{
	struct client *first = m->worker < s->o->nworkers ? serve_find_client(s, m->worker) : NULL, *other;
	struct claim_sign sign;

	if (first == NULL || first->done || first->incarnation == m->incarnation ||
	    server_state_gone(s->state, m->worker))
		return false;
	if ((other = find_claim(s, m->worker)) != NULL) {
		err_note(0, "a later process is worker %" PRIu32, m->worker);
		reject_claim(s, other);
	}
	sign = serve_claim_sign(first);
	g->claims = m->worker;
	g->hello = *m;
	claim_begin(&g->claim, &sign, clk_s());
	g->over_at = 0;
	g->until = g->claim.until;
	serve_send(s, first, m->worker, &(struct msg){ .type = MSG_PING, .incarnation = s->o->incarnation,
	    .worker = m->worker,
	    .step = g->nth });
	return true;
}

static void
refuse_claim(struct serve *s, struct client *g)
{
	const struct client *first = serve_find_client(s, (uint32_t)g->claims);

	err_note(0, "worker %" PRId64 " is connected already, from %s, and answers", g->claims, conn_peer(first->conn));
	reject_claim(s, g);
}

/* Returns false if the hello describes another job: then only the claim ends. */
static bool
grant_claim(struct serve *s, struct client *g)
{
	if (serve_hand_over(s, g, &g->hello))
		return true;
	reject_claim(s, g);
	return false;
}

void
serve_claim_answered(struct serve *s, uint32_t rank, uint64_t nth)
{
	struct client *g = find_claim(s, rank);

	if (g != NULL && g->nth == nth)
		refuse_claim(s, g);
}

bool
serve_claim_take(struct serve *s, uint32_t rank)
{
	struct client *g = find_claim(s, rank);

	return g != NULL && grant_claim(s, g);
}

void
serve_claims(struct serve *s)
{
	double now = clk_s();

	for (uint32_t i = 0; i < s->n; i++) {
		struct client *g = &s->client[i], *first;
		struct claim_sign sign;

		if (g->claims < 0 || g->over || now < g->until)
			continue;
		/* If this process was stopped or busy, the worker's answer may be unread: the next turn reads it. */
		if (g->over_at == 0 || g->over_at == s->turns) {
			g->over_at = s->turns;
			g->until = now + NEXT_TURN_S;
			continue;
		}
		g->over_at = 0;
		/* Without a connection the worker is about to be dropped, which grants the claim. */
		g->until = now + CLAIM_SILENCE_S;
		if ((first = serve_find_client(s, (uint32_t)g->claims)) == NULL)
			continue;
		sign = serve_claim_sign(first);
		switch (claim_look(&g->claim, &sign, now)) {
		case CLAIM_OPEN:	g->until = g->claim.until; break;
		case CLAIM_GRANTED:	grant_claim(s, g); break;
		case CLAIM_REFUSED:	refuse_claim(s, g); break;
		}
	}
}
