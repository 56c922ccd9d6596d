/*
 * tta - a picture, its mirror image and itself shifted: what a net says of all of them on average.
 *
 * With a shift of d pixels there are five places: the sample as it is, and moved by d in both directions at once, the four
 * ways; what comes in at an edge is the sample reflected there, without its outermost line twice.  With flip each place is
 * mirrored too.  Probabilities are the plain mean of up to ten.  After the test-time augmentation of Jordan, arXiv:2404.00498,
 * which takes two of the four ways and weighs the middle double.
 *
 * Threads: one at a time.
 */
#ifndef TRAIN_TTA_H
#define TRAIN_TTA_H

#include "engine/engine.h"

#include <stdbool.h>

struct tta_opt {
	bool		 flip;
	uint32_t	 shift;		/* pixels; 0: none */
};

struct tta;

/* For a plan of batches of up to `batch`; engine, plan and graph are lent.  Returns 0, ERR_ARG (a shift beyond the sample), ERR_NOMEM. */
int	 tta_open(struct tta **v, const struct tta_opt *opt, const struct engine *engine, struct engine_plan *plan,
	    const struct graph *graph, uint32_t batch);
void	 tta_close(struct tta *v);	/* NULL is fine */
/* As the engine's evaluate(), of samples that are pixels without mixtures; loss, correct and top5 are those of the mean. */
int	 tta_evaluate(struct tta *v, const struct samples *s, struct engine_result *r, float *prob);

#endif
