/* slice_code - weights of a slice as they are sent: serves slice. */
#include "ps/server/slice.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

int
slice_alloc_coded(struct slice *s, bool sync)
{
	size_t bytes;

	s->answer = shard_plan_answer(s->at, sync);
	bytes = codec_bytes(s->answer, s->at->count);
	if (s->answer.kind == CODEC_F32)
		return 0;
	bytes += sizeof(float) - bytes % sizeof(float);	/* so that both are aligned */
	if ((s->coded[0] = malloc(2 * bytes)) == NULL)
		return err_nomem();
	s->coded[1] = s->coded[0] + bytes;
	return 0;
}

const void *
slice_coded(struct slice *s, unsigned half)
{
	const float *v = s->w[half];

	if (s->coded[0] == NULL)
		return v;
	if (!s->encoded[half] && s->worker_w[0] != NULL) {
		for (size_t i = 0; i < s->at->count; i++)
			s->pool->work[i] = s->w[half][i] - s->worker_w[!half][i];
		v = s->pool->work;
	}
	if (!s->encoded[half])
		codec_encode(s->answer, v, NULL, s->at->count, NULL, s->coded[half]);
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
