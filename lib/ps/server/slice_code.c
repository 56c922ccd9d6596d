/* slice_code - weights of a slice as they are sent: serves slice. */
#include "ps/server/slice.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

static int
alloc_coded(struct slice *s, struct codec c)
{
	size_t bytes = codec_bytes(c, s->at->count);

	bytes += sizeof(float) - bytes % sizeof(float);	/* so that both are aligned */
	if ((s->coded[0] = malloc(2 * bytes)) == NULL)
		return err_nomem();
	s->coded[1] = s->coded[0] + bytes;
	return 0;
}

int
slice_alloc_coded(struct slice *s, bool sync)
{
	s->answer = shard_plan_answer(s->at, sync);
	return s->answer.kind != CODEC_F32 ? alloc_coded(s, s->answer) : 0;
}

/* bf16 and fp16 have the same size. */
int
slice_realloc_coded(struct slice *s)
{
	struct codec c;

	if (s->coded[0] != NULL || s->at->kind != SHARD_PLAN_WEIGHTS || s->at->frozen ||
	    !settings_codec(settings_kept(s->settings), UINT64_MAX, &c))
		return 0;
	return alloc_coded(s, (struct codec){ .kind = CODEC_BF16 });
}

/* Weights of step n are the answer to the gradients of step n - 1. */
struct codec
slice_answer(const struct slice *s, unsigned half)
{
	const uint64_t step = s->stale.slack == STALE_SYNC ? s->kept->record[half].step : UINT64_MAX;
	struct codec c;

	if (s->at->kind != SHARD_PLAN_WEIGHTS || s->at->frozen || step == 0 ||
	    !settings_codec(settings_kept(s->settings), step - 1, &c))
		return s->answer;
	return c;
}

const void *
slice_coded(struct slice *s, unsigned half)
{
	const struct codec c = s->worker_w[0] != NULL ? s->answer : slice_answer(s, half);
	const float *v = s->w[half];

	if (c.kind == CODEC_F32)
		return v;
	s->encoded[half] &= s->coded_as[half] == c.kind;
	s->coded_as[half] = c.kind;
	if (!s->encoded[half] && s->worker_w[0] != NULL) {
		for (size_t i = 0; i < s->at->count; i++)
			s->pool->work[i] = s->w[half][i] - s->worker_w[!half][i];
		v = s->pool->work;
	}
	if (!s->encoded[half])
		codec_encode(c, v, NULL, s->at->count, NULL, s->coded[half]);
	s->encoded[half] = true;
	return s->coded[half];
}

void
slice_update_worker_w(struct slice *s, unsigned to)
{
	const void *coded;

	if (s->worker_w[0] == NULL)
		return;
	coded = slice_coded(s, to);
	if (s->worker_w[to] != s->worker_w[s->half] && s->at->count > 0)
		memcpy(s->worker_w[to], s->worker_w[s->half], s->at->count * sizeof(float));
	codec_add(s->answer, coded, s->at->count, s->worker_w[to]);
	memory_report_change(s->memory, s->worker_w[to], s->at->count * sizeof(float));
}
