/* server_norms - the norms of a server's updates (ps/norms.h): serves server_state. */
#include "ps/server/server_state_in.h"
#include "base/err.h"

#include <inttypes.h>

static void
send_norms_part(struct server_state *s, uint32_t w, const struct norm *part, uint64_t step)
{
	struct norms *n = &s->shard.norms;

	if (!s->peer[w].known || s->peer[w].at != SHARD_HERE || n->sent[w] > step)
		return;
	n->sent[w] = step + 1;
	norms_put(n, part);
	server_state_emit(s, w, (struct msg){ .type = MSG_NORMS, .step = step, .len = n->n * NORM_BYTES,
	    .payload = n->bytes });
}

/* Closes the step of all slices of weights, and sends the answers. */
static void
update_shard(struct server_state *s, const struct norm *sums)
{
	uint64_t was = shard_at(&s->shard);

	shard_update(&s->shard, sums);
	for (uint32_t i = 0; i < s->shard.plan->nweights; i++)
		if (shard_learns(&s->shard, i))
			server_answer(s, i, was, SERVER_ALL);
}

void
server_norms_count(struct server_state *s, uint32_t i)
{
	struct norms *n = &s->shard.norms;
	uint64_t was = s->shard.slice[i].step;

	shard_slice_filled(&s->shard, i);
	if (s->shard.slice[i].step > was)
		server_answer(s, i, was, SERVER_ALL);
	if (n->open || !shard_full(&s->shard))
		return;
	if (s->o.nservers == 1 || shard_samples(&s->shard) == 0) {
		update_shard(s, n->now);
		return;
	}
	n->open = true;
	for (uint32_t w = 0; w < s->o.nworkers; w++)
		send_norms_part(s, w, n->now, shard_at(&s->shard));
}

void
server_norms_repeat(struct server_state *s, const struct msg *m)
{
	const struct norms *n = &s->shard.norms;

	if (n->open && m->step == shard_at(&s->shard))
		send_norms_part(s, m->worker, n->now, m->step);
	else if (n->has_before && s->o.nservers > 1 && m->step == n->before_step)
		send_norms_part(s, m->worker, n->before, m->step);
}

int
server_norms_handle(struct server_state *s, const struct msg *m)
{
	struct norms *n = &s->shard.norms;

	if (n->n == 0 || m->step > shard_at(&s->shard))
		return err_fail(ERR_FORMAT, "norms of step %" PRIu64 " are out of turn", m->step);
	if (!norms_get(m->payload, m->len, n->all, n->n))
		return err_fail(ERR_FORMAT, "%" PRIu32 " bytes of norms", m->len);
	/* A server that was restarted sends its part again when it has it, which the total answers. */
	if (m->step == shard_at(&s->shard) && n->open)
		update_shard(s, n->all);
	return 0;
}
