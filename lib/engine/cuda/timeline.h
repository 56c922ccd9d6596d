/*
 * timeline - when the GPU does what: timed events before and after each span of a step.
 *
 * Spans are what the engine enqueues: the upload of a batch, the weights, the forward pass with its
 * loss, each slice of the backward pass and its download, the optimizer.  Events are between spans and
 * never inside a CUDA graph, so a step with a timeline launches the same graphs as any step.  A span
 * that is enqueued twice in a step, in f16 with a smaller loss scale, is reported as it was the last
 * time.
 *
 * Spans are reported after a wait for the GPU: those of a backward pass by the next forward pass.
 * Threads: those of the plan; with joined devices another plan's thread may end a download, see join.h.
 */
#ifndef ENGINE_CUDA_TIMELINE_H
#define ENGINE_CUDA_TIMELINE_H

#include "engine/cuda/exec_plan.h"

/* The last three have a span for each slice. */
enum timeline_span {
	TIMELINE_BATCH, TIMELINE_AHEAD, TIMELINE_WEIGHTS, TIMELINE_FORWARD, TIMELINE_EVALUATE, TIMELINE_RESULT,
	TIMELINE_UPDATE, TIMELINE_BACK,
	TIMELINE_SUM = TIMELINE_BACK + EXEC_SLICES,
	TIMELINE_DOWN = TIMELINE_SUM + EXEC_SLICES,
	TIMELINE_SPANS = TIMELINE_DOWN + EXEC_SLICES
};

/* timeline() of struct engine_accel. */
int	 timeline_set(struct engine_plan *p, const struct engine_timeline *how);
void	 timeline_free(struct engine_plan *p);
/* Enqueue the events of a span on its stream.  Without a timeline they do nothing. */
int	 timeline_begin(struct engine_plan *p, uint32_t span);
int	 timeline_end(struct engine_plan *p, uint32_t span);
/* Reports the ended spans; only after a wait for the GPU. */
int	 timeline_report(struct engine_plan *p);

#endif
