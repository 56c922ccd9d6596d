/*
 * watch - what the GPU does when: marks that know their time before and behind each piece of a step.
 *
 * The pieces are those that the engine enqueues: a batch up, weights up, the pass forward with its loss, each slice of
 * the pass backward, its way down, the optimizer.  The marks stand between them and never inside what is recorded: so a
 * step that is watched plays what any step plays, where marks between layers would make another recording of it, with
 * gaps. A piece that is enqueued twice in a step (f16 that tries again) is told as it was the last time.
 *
 * Spans are told when a pass has waited for the GPU anyway: those of a pass backward by the next pass forward.
 * Threads: those of the plan; a slice's down may be another's, see join.h.
 */
#ifndef ENGINE_CUDA_WATCH_H
#define ENGINE_CUDA_WATCH_H

#include "engine/cuda/plan.h"

/* Of slices, the first. */
enum watch_span { WATCH_BATCH, WATCH_AHEAD, WATCH_WEIGHTS, WATCH_FORWARD, WATCH_EVALUATE, WATCH_RESULT, WATCH_UPDATE,
    WATCH_BACK,
	WATCH_SUM = WATCH_BACK + PLAN_SLICES, WATCH_DOWN = WATCH_SUM + PLAN_SLICES,
	    WATCH_SPANS = WATCH_DOWN + PLAN_SLICES };

/* As struct engine has it. */
int	 watch_set(struct engine_plan *p, const struct engine_profile *how);
void	 watch_free(struct engine_plan *p);
/* A piece begins, and ends, in its stream.  Without a watch nothing. */
int	 watch_from(struct engine_plan *p, uint32_t span);
int	 watch_to(struct engine_plan *p, uint32_t span);
/* The GPU has done all that it was given. */
int	 watch_tell(struct engine_plan *p);

#endif
