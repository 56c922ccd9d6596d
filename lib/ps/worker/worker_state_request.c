/* worker_state_request - requests besides gradients, and their repetition: serves worker_state. */
#include "ps/worker/worker_state_in.h"

#include <assert.h>
#include <string.h>

static void
send_sum(struct worker_state *ws)
{
	worker_state_emit(ws, 0, (struct msg){ .type = MSG_SUM, .step = ws->sum_step,
	    .slice = TOTAL_INDEX(ws->sum_phase, ws->sum_index), .payload = ws->sum,
	    .len = (uint32_t)(ws->sum_n * sizeof(double)) });
}

/* In a synchronous job sums are counted within a phase of a step.  Workers of other jobs share no steps: all count. */
void
worker_state_sum(struct worker_state *ws, uint32_t phase, const double *v, uint32_t n)
{
	uint64_t step = ws->w->slack == STALE_SYNC ? ws->step : 0;

	assert(n <= TOTAL_MOST && !ws->summing);
	if (step != ws->sum_step || phase != ws->sum_phase)
		ws->sum_index = 0;
	ws->sum_step = step;
	ws->sum_phase = phase;
	ws->sum_n = n;
	ws->summing = true;
	if (n > 0)
		memcpy(ws->sum, v, n * sizeof(double));
	send_sum(ws);
}

void
worker_state_total(const struct worker_state *ws, double *v, uint32_t n)
{
	if (n > 0)
		memcpy(v, ws->sum, n * sizeof(double));
}

/* Requests what `wants` says from the owner of slice i. */
static void
pull_asked(struct worker_state *ws, uint32_t i)
{
	worker_state_emit_slice(ws, i, (struct msg){ .type = MSG_PULL, .step = ws->step, .flags = ws->wants });
}

void
worker_state_state(struct worker_state *ws, float *state)
{
	uint32_t states = opt_states(ws->w->hyper.rule);

	ws->wants = MSG_STATE_OF;
	ws->to = state;
	for (uint32_t i = 0; states > 0 && i < ws->plan->nweights; i++) {
		const struct shard_plan_slice *s = &ws->plan->slice[i];

		if (s->frozen) {
			memset(state + s->first * states, 0, s->count * states * sizeof(float));
			continue;
		}
		ws->part[i].asked = true;
		pull_asked(ws, i);
	}
}

void
worker_state_average(struct worker_state *ws, float *average)
{
	ws->wants = MSG_AVERAGE_OF;
	ws->to = average;
	ws->averaged = 0;
	for (uint32_t i = 0; i < ws->plan->n; i++) {
		const struct shard_plan_slice *s = &ws->plan->slice[i];
		bool aux = s->kind == SHARD_PLAN_AUX;

		if (s->frozen) {
			memcpy(average + (aux ? ws->graph->P : 0) + s->first, (aux ? ws->w->aux : ws->w->w) + s->first,
			    s->count * sizeof(float));
			continue;
		}
		ws->part[i].asked = true;
		pull_asked(ws, i);
	}
}

void
worker_state_exact(struct worker_state *ws, float *weights)
{
	const bool recoded = settings_codec(&ws->settings, UINT64_MAX, &(struct codec){ 0 });

	ws->wants = MSG_EXACT;
	ws->to = weights;
	memcpy(weights, ws->w->w, ws->graph->P * sizeof(*weights));
	for (uint32_t i = 0; i < ws->plan->nweights; i++)
		if (!ws->plan->slice[i].frozen && (recoded || ws->plan->slice[i].codec.kind != CODEC_F32)) {
			ws->part[i].asked = true;
			pull_asked(ws, i);
		}
}

uint32_t
worker_state_averaged(const struct worker_state *ws)
{
	return ws->averaged;
}

static void
send_stop(struct worker_state *ws)
{
	worker_state_emit(ws, 0, (struct msg){ .type = MSG_STOP, .step = ws->step });
}

void
worker_state_stop(struct worker_state *ws)
{
	if (!ws->stopping)
		send_stop(ws);
	ws->stopping = true;
}

static void
send_epoch(struct worker_state *ws, uint32_t server)
{
	worker_state_emit(ws, server, (struct msg){ .type = MSG_EPOCH, .step = ws->epoch });
}

void
worker_state_epoch(struct worker_state *ws, uint64_t n)
{
	ws->announced = true;
	ws->epoch = n;
	for (uint32_t s = 0; s < ws->o.nservers; s++)
		send_epoch(ws, s);
}

static void
send_bye(struct worker_state *ws, uint32_t server)
{
	worker_state_emit(ws, server, (struct msg){ .type = MSG_BYE, .step = ws->step });
}

void
worker_state_bye(struct worker_state *ws)
{
	ws->parting = true;
	for (uint32_t s = 0; s < ws->o.nservers; s++) {
		worker_state_keep(ws, s);	/* the next update does not wait for this worker */
		send_bye(ws, s);
	}
}

static void
repeat_slice(struct worker_state *ws, uint32_t i)
{
	struct worker_part *p = &ws->part[i];

	if (p->waiting && ws->begin_done)
		worker_state_emit_slice(ws, i, p->push);
	else if (p->waiting)
		worker_state_start_slice(ws, i);
	if (p->asked)
		pull_asked(ws, i);
}

void
worker_state_repeat(struct worker_state *ws, uint32_t server)
{
	if (ws->announced)
		send_epoch(ws, server);
	worker_state_repeat_settings(ws, server);
	if (ws->stopping && server == 0)
		send_stop(ws);
	for (uint32_t i = 0; i < ws->plan->n; i++)
		if (ws->plan->slice[i].owner == server)
			repeat_slice(ws, i);
	if (ws->summing && server == 0)
		send_sum(ws);
	if (ws->parting && !ws->link[server].bye)
		send_bye(ws, server);
}

bool
worker_state_owed(const struct worker_state *ws, uint32_t server)
{
	for (uint32_t i = 0; i < ws->plan->n; i++)
		if (ws->plan->slice[i].owner == server && (ws->part[i].waiting || ws->part[i].asked))
			return true;
	return (ws->summing && server == 0) || (ws->parting && !ws->link[server].bye);
}
