/* worker_state_first - the first weights of a job, sent and requested: serves worker_state. */
#include "ps/worker/worker_state_in.h"

#include "base/num.h"

static void
send_first(struct worker_state *ws, uint32_t i)
{
	const struct shard_plan_slice *s = &ws->plan->slice[i];
	const struct worker_first *f = &ws->first;
	struct msg m = { .type = MSG_INIT, .step = ws->first_step, .len = (uint32_t)(s->count * sizeof(float)) };
	uint32_t states = opt_states(ws->w->hyper.rule);

	/* A server's memory is zero at first. */
	if (s->kind == SHARD_PLAN_WEIGHTS && !s->frozen && f->state != NULL &&
	    !num_zeros(f->state + s->first * states, s->count * states)) {
		struct msg of = m;

		of.flags = MSG_STATE_OF;
		of.len *= states;
		of.payload = f->state + s->first * states;
		worker_state_emit_slice(ws, i, of);
	}
	if (!s->frozen && f->average != NULL) {
		struct msg of = m;

		of.flags = MSG_AVERAGE_OF;
		of.samples = f->averaged;
		of.payload = f->average + (s->kind == SHARD_PLAN_AUX ? ws->graph->P : 0) + s->first;
		worker_state_emit_slice(ws, i, of);
	}
	m.samples = f->updates;
	m.payload = (s->kind == SHARD_PLAN_AUX ? ws->w->aux : ws->w->w) + s->first;
	worker_state_emit_slice(ws, i, m);
}

bool
worker_state_starts(const struct worker_state *ws, uint32_t i)
{
	return ws->w->rank == ws->first.starter && ws->link[ws->plan->slice[i].owner].empty;
}

/* Whether the server sends the first weights of slice i as they are. */
static bool
begins_exact(const struct worker_state *ws, uint32_t i)
{
	const struct shard_plan_slice *s = &ws->plan->slice[i];
	struct codec c = s->codec, now;

	if (ws->first_step > 0 && s->kind == SHARD_PLAN_WEIGHTS && !s->frozen &&
	    settings_codec(&ws->settings, ws->first_step - 1, &now))
		c = now;
	return c.kind == CODEC_F32;
}

void
worker_state_start_slice(struct worker_state *ws, uint32_t i)
{
	struct msg pull = { .type = MSG_PULL, .step = ws->from };

	if (worker_state_starts(ws, i)) {
		send_first(ws, i);
		/* With a codec all workers begin with rounded weights.  Backup workers may have gone on. */
		pull.flags = begins_exact(ws, i) && ws->w->backup == 0 ? MSG_EMPTY : 0;
	}
	worker_state_emit_slice(ws, i, pull);
}
