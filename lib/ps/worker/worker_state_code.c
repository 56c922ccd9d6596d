/* worker_state_code - gradients encoded for sending, and their residuals: serves worker_state. */
#include "ps/worker/worker_state_in.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

size_t
worker_residuals_size(const char *mults, size_t P)
{
	if (!shard_plan_coded(mults) && !shard_plan_recodes(mults))
		return 0;
	return sizeof(struct worker_residuals) + 2 * P * sizeof(float);
}

/* The room of a slice that is sent, so that the next one is aligned; 0: it is never encoded. */
static size_t
count_room(const struct worker_state *ws, uint32_t i)
{
	const struct shard_plan_slice *s = &ws->plan->slice[i];

	if (shard_plan_recodes(ws->w->mults) && s->kind == SHARD_PLAN_WEIGHTS && !s->frozen)
		return s->count * sizeof(float);
	return s->codec.kind == CODEC_F32 ? 0 :
	    (shard_plan_bytes(s) + sizeof(float) - 1) / sizeof(float) * sizeof(float);
}

int
worker_state_alloc_coded(struct worker_state *ws)
{
	size_t size = worker_residuals_size(ws->w->mults, ws->graph->P), bytes = 0;
	const struct shard_plan *p = ws->plan;

	if (size == 0)
		return 0;
	if ((ws->residuals = ws->w->residuals) == NULL)
		ws->residuals = ws->own_residuals = calloc(1, size);
	for (uint32_t i = 0; i < p->n; i++)
		bytes += count_room(ws, i);
	ws->coded = malloc(bytes + 1);
	if (ws->residuals == NULL || ws->coded == NULL)
		return err_nomem();
	bytes = 0;
	for (uint32_t i = 0; i < p->n; i++)
		if (count_room(ws, i) > 0) {
			ws->part[i].coded = ws->coded + bytes;
			bytes += count_room(ws, i);
		}
	return 0;
}

struct codec
worker_state_codec(const struct worker_state *ws, uint32_t i)
{
	const struct shard_plan_slice *s = &ws->plan->slice[i];

	return ws->recodes && s->kind == SHARD_PLAN_WEIGHTS && !s->frozen ? ws->recoded : s->codec;
}

/* After a change to f32 the residual becomes part of the next gradient. */
bool
worker_state_encodes(const struct worker_state *ws, uint32_t i)
{
	return ws->part[i].coded != NULL && (ws->recodes || ws->plan->slice[i].codec.kind != CODEC_F32);
}

void
worker_state_choose_codec(struct worker_state *ws)
{
	ws->recodes = settings_codec(&ws->settings, ws->step, &ws->recoded);
	ws->ncoded = 0;
	for (uint32_t i = 0; i < ws->plan->n && ws->coded != NULL; i++)
		ws->ncoded += worker_state_encodes(ws, i);
	ws->uncoded = ws->ncoded;
}

/*
 * Whether the residual of slice i that is in memory is that of another gradient, which the server has.  In a
 * synchronous job a step that is repeated has the same gradients, and stores the same residuals.
 */
static bool
is_residual_sent(const struct worker_state *ws, uint32_t i)
{
	return ws->w->slack != STALE_SYNC && ws->part[i].got > ws->step;
}

/* Encodes the gradient v of slice i; v NULL: there is none, and the residual goes on to the next step. */
static void
encode_gradient(struct worker_state *ws, uint32_t i, const float *v)
{
	const struct shard_plan_slice *s = &ws->plan->slice[i];
	const struct memory *m = ws->own_residuals != NULL ? &ws->own_memory : ws->w->memory;
	const float *before = ws->residuals->residual + ws->turn % 2 * ws->graph->P + s->first;
	float *after = is_residual_sent(ws, i) ? NULL :
	    ws->residuals->residual + (ws->turn + 1) % 2 * ws->graph->P + s->first;

	if (v != NULL)
		codec_encode(worker_state_codec(ws, i), v, before, s->count, after, ws->part[i].coded);
	else if (after != NULL && s->count > 0)
		memcpy(after, before, s->count * sizeof(*after));
	if (after != NULL)
		memory_report_change(m, after, s->count * sizeof(*after));
	if (--ws->uncoded > 0 || ws->residuals->step == ws->turn + 1)
		return;
	memory_store_number(m, &ws->residuals->batch[(ws->turn + 1) % 2], ws->step + 1);
	memory_store_number(m, &ws->residuals->step, ws->turn + 1);
}

void
worker_state_resume_residuals(struct worker_state *ws)
{
	const struct worker_residuals *r = ws->residuals;

	if (r != NULL && r->step > 0)
		ws->turn = r->step - (r->batch[r->step % 2] == ws->step + 1);
}

void
worker_state_encode(struct worker_state *ws, uint32_t a, const float *g)
{
	uint32_t from, to;

	if (ws->ncoded == 0 || ws->n == 0)
		return;
	shard_plan_over(ws->plan, ws->graph->w[a].first, ws->graph->w[a].count, &from, &to);
	for (uint32_t i = from; i < to; i++)
		if (ws->part[i].left == 1 && worker_state_encodes(ws, i))
			encode_gradient(ws, i, g + ws->plan->slice[i].first);
}

void
worker_state_keep_residual(struct worker_state *ws, uint32_t i)
{
	if (worker_state_encodes(ws, i))
		encode_gradient(ws, i, NULL);
}
