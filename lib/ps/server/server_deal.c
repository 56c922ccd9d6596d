/* server_deal - the number of workers of an elastic job, which server 0 decides: serves server_state. */
#include "ps/server/server_state_in.h"

static bool
is_dealer(const struct server_state *s)
{
	return s->o.elastic > 0 && s->o.index == 0 && s->shard.plan != NULL;
}

static const struct deal *
get_deal(const struct server_state *s)
{
	int half = memory_half(&s->shard.deal->word);

	return &s->shard.deal->record[half > 0];
}

/* Publishes a change before any worker hears of it. */
static void
publish_deal(struct server_state *s, const struct deal *d)
{
	unsigned to = memory_other(&s->shard.deal->word);
	struct deal *r = &s->shard.deal->record[to];

	*r = *d;
	memory_report_change(s->shard.memory, r, sizeof(*r));
	memory_publish(s->shard.memory, &s->shard.deal->word, to);
}

void
server_deal_attach(struct server_state *s)
{
	struct deal d = { 0 };

	if (!is_dealer(s) || (memory_half(&s->shard.deal->word) >= 0 && get_deal(s)->n <= DEAL_CHANGES))
		return;
	deal_add(&d, 0, s->o.elastic);
	publish_deal(s, &d);
}

static void
send_change(struct server_state *s, uint32_t w, const struct deal_change *c)
{
	server_state_emit(s, w, (struct msg){ .type = MSG_DEAL, .step = c->from, .samples = (uint32_t)c->workers });
}

void
server_deal_tell(struct server_state *s, uint32_t w)
{
	const struct deal *d;

	if (!is_dealer(s))
		return;
	d = get_deal(s);
	for (uint64_t i = 0; i < d->n; i++)
		send_change(s, w, &d->change[i]);
}

/* Workers of the start may not have said hello yet. */
static uint32_t
count_workers(const struct server_state *s)
{
	uint32_t n = s->o.nworkers;

	while (n > 0 && !(s->peer[n - 1].at == SHARD_HERE ||
	    (n <= s->o.elastic && s->peer[n - 1].at == SHARD_ABSENT)))
		n--;
	return n;
}

void
server_deal_count(struct server_state *s)
{
	uint32_t n = count_workers(s);
	struct deal d;

	if (!is_dealer(s) || n == 0 || n == deal_workers(get_deal(s)))
		return;
	d = *get_deal(s);
	deal_decide(&d, shard_furthest(&s->shard), n);
	publish_deal(s, &d);
	for (uint32_t w = 0; w < s->o.nworkers; w++)
		if (s->peer[w].known && s->peer[w].at == SHARD_HERE)
			send_change(s, w, &d.change[d.n - 1]);
}
