/* worker_state_request - requests besides gradients, and their repetition: serves worker_state. */
#include "ps/worker/worker_state_in.h"

#include <assert.h>
#include <string.h>

static void
send_sum(struct worker_state *b)
{
	worker_state_emit(b, 0, (struct msg){ .type = MSG_SUM, .step = b->sum_step,
	    .slice = TOTAL_INDEX(b->sum_phase, b->sum_index), .payload = b->sum,
	    .len = (uint32_t)(b->sum_n * sizeof(double)) });
}

/* In a synchronous job sums are counted within a phase of a step.  Workers of other jobs share no steps: all count. */
void
worker_state_sum(struct worker_state *b, uint32_t phase, const double *v, uint32_t n)
{
	uint64_t step = b->w->slack == STALE_SYNC ? b->step : 0;

	assert(n <= TOTAL_MOST && !b->summing);
	if (step != b->sum_step || phase != b->sum_phase)
		b->sum_index = 0;
	b->sum_step = step;
	b->sum_phase = phase;
	b->sum_n = n;
	b->summing = true;
	if (n > 0)
		memcpy(b->sum, v, n * sizeof(double));
	send_sum(b);
}

void
worker_state_total(const struct worker_state *b, double *v, uint32_t n)
{
	if (n > 0)
		memcpy(v, b->sum, n * sizeof(double));
}

/* Requests what `wants` says from the owner of slice i. */
static void
pull_asked(struct worker_state *b, uint32_t i)
{
	worker_state_emit_slice(b, i, (struct msg){ .type = MSG_PULL, .step = b->step, .flags = b->wants });
}

void
worker_state_state(struct worker_state *b, float *state)
{
	uint32_t states = opt_states(b->w->hyper.rule);

	b->wants = MSG_STATE_OF;
	b->to = state;
	for (uint32_t i = 0; i < b->plan->nweights; i++) {
		const struct shard_plan_slice *s = &b->plan->slice[i];

		if (s->frozen) {
			memset(state + s->first * states, 0, s->count * states * sizeof(float));
			continue;
		}
		b->part[i].asked = true;
		pull_asked(b, i);
	}
}

void
worker_state_average(struct worker_state *b, float *average)
{
	b->wants = MSG_AVERAGE_OF;
	b->to = average;
	b->averaged = 0;
	for (uint32_t i = 0; i < b->plan->n; i++) {
		const struct shard_plan_slice *s = &b->plan->slice[i];
		bool aux = s->kind == SHARD_PLAN_AUX;

		if (s->frozen) {
			memcpy(average + (aux ? b->graph->P : 0) + s->first, (aux ? b->w->aux : b->w->w) + s->first,
			    s->count * sizeof(float));
			continue;
		}
		b->part[i].asked = true;
		pull_asked(b, i);
	}
}

void
worker_state_exact(struct worker_state *b, float *weights)
{
	b->wants = MSG_EXACT;
	b->to = weights;
	memcpy(weights, b->w->w, b->graph->P * sizeof(*weights));
	for (uint32_t i = 0; i < b->plan->nweights; i++)
		if (b->plan->slice[i].codec.kind != CODEC_F32) {
			b->part[i].asked = true;
			pull_asked(b, i);
		}
}

uint32_t
worker_state_averaged(const struct worker_state *b)
{
	return b->averaged;
}

static void
send_stop(struct worker_state *b)
{
	worker_state_emit(b, 0, (struct msg){ .type = MSG_STOP, .step = b->step });
}

void
worker_state_stop(struct worker_state *b)
{
	if (!b->stopping)
		send_stop(b);
	b->stopping = true;
}

static void
send_epoch(struct worker_state *b, uint32_t server)
{
	worker_state_emit(b, server, (struct msg){ .type = MSG_EPOCH, .step = b->epoch });
}

void
worker_state_epoch(struct worker_state *b, uint64_t n)
{
	b->announced = true;
	b->epoch = n;
	for (uint32_t s = 0; s < b->o.nservers; s++)
		send_epoch(b, s);
}

static void
send_bye(struct worker_state *b, uint32_t server)
{
	worker_state_emit(b, server, (struct msg){ .type = MSG_BYE, .step = b->step });
}

void
worker_state_bye(struct worker_state *b)
{
	b->parting = true;
	for (uint32_t s = 0; s < b->o.nservers; s++)
		send_bye(b, s);
}

static void
repeat_slice(struct worker_state *b, uint32_t i)
{
	struct worker_part *p = &b->part[i];

	if (p->waiting && b->begun)
		worker_state_emit_slice(b, i, p->push);
	else if (p->waiting)
		worker_state_start_slice(b, i);
	if (p->asked)
		pull_asked(b, i);
}

void
worker_state_repeat(struct worker_state *b, uint32_t server)
{
	if (b->announced)
		send_epoch(b, server);
	if (b->stopping && server == 0)
		send_stop(b);
	for (uint32_t i = 0; i < b->plan->n; i++)
		if (b->plan->slice[i].owner == server)
			repeat_slice(b, i);
	if (b->summing && server == 0)
		send_sum(b);
	if (b->parting && !b->link[server].bye)
		send_bye(b, server);
}
