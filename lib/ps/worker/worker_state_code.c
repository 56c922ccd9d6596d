/* worker_state_code - gradients as they are sent, and what is left of them: serves worker_state. */
#include "ps/worker/worker_state_in.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

size_t
worker_left_size(const char *mults, size_t P)
{
	return shard_plan_coded(mults) ? sizeof(struct worker_left) + 2 * P * sizeof(float) : 0;
}

/* The room of a slice that is sent, so that the next one is aligned. */
static size_t
align_bytes(const struct shard_plan_slice *s)
{
	return (shard_plan_bytes(s) + sizeof(float) - 1) / sizeof(float) * sizeof(float);
}

int
worker_state_alloc_coded(struct worker_state *b)
{
	size_t size = worker_left_size(b->w->mults, b->graph->P), bytes = 0;
	const struct shard_plan *p = b->plan;

	if (size == 0)
		return 0;
	if ((b->left = b->w->left) == NULL)
		b->left = b->own_left = calloc(1, size);
	for (uint32_t i = 0; i < p->n; i++)
		bytes += p->slice[i].codec.kind != CODEC_F32 ? align_bytes(&p->slice[i]) : 0;
	b->coded = malloc(bytes + 1);
	if (b->left == NULL || b->coded == NULL)
		return err_nomem();
	bytes = 0;
	for (uint32_t i = 0; i < p->n; i++)
		if (p->slice[i].codec.kind != CODEC_F32) {
			b->part[i].coded = b->coded + bytes;
			bytes += align_bytes(&p->slice[i]);
			b->ncoded++;
		}
	return 0;
}

/* Encodes the gradient v of slice i; v NULL: there is none, and the residual goes on to the next step. */
static void
encode_gradient(struct worker_state *b, uint32_t i, const float *v)
{
	const struct shard_plan_slice *s = &b->plan->slice[i];
	const struct memory *m = b->own_left != NULL ? &b->own_memory : b->w->memory;
	const float *before = b->left->residual + b->step % 2 * b->graph->P + s->first;
	float *after = b->left->step == b->step + 1 ? NULL :
	    b->left->residual + (b->step + 1) % 2 * b->graph->P + s->first;

	if (v != NULL)
		codec_encode(s->codec, v, before, after, s->count, b->part[i].coded);
	else if (after != NULL && s->count > 0)
		memcpy(after, before, s->count * sizeof(*after));
	if (after == NULL)
		return;
	memory_report_change(m, after, s->count * sizeof(*after));
	if (--b->uncoded == 0)
		memory_store_number(m, &b->left->step, b->step + 1);
}

void
worker_state_encode(struct worker_state *b, uint32_t a, const float *g)
{
	uint32_t from, to;

	if (b->ncoded == 0 || b->n == 0)
		return;
	shard_plan_over(b->plan, b->graph->w[a].first, b->graph->w[a].count, &from, &to);
	for (uint32_t i = from; i < to; i++)
		if (b->part[i].left == 1 && b->part[i].coded != NULL)
			encode_gradient(b, i, g + b->plan->slice[i].first);
}

void
worker_state_keep_residual(struct worker_state *b, uint32_t i)
{
	if (b->part[i].coded != NULL)
		encode_gradient(b, i, NULL);
}
