/*
 * tta - test-time augmentation: the mean prediction over an image, its mirror image and shifted copies.
 *
 * A shift of d pixels adds four copies of the sample, moved by d along each diagonal.  The edge that becomes visible
 * is a reflection of the sample, without repeating its outermost line.  A flip adds the mirror image of each copy.
 * Probabilities are the plain mean of up to ten.  After Jordan, arXiv:2404.00498, who uses two of the four diagonals
 * and doubles the weight of the centre.
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

/*
 * Makes one for a plan of batches of up to `batch`; engine, plan and graph are lent.  Returns 0, ERR_ARG (the shift
 * exceeds the sample) or ERR_NOMEM.
 */
int	 tta_open(const struct tta_opt *opt, const struct engine *engine, struct engine_plan *plan,
	    const struct graph *graph, uint32_t batch, struct tta **v);
void	 tta_close(struct tta *v);	/* NULL does nothing */
/* As evaluate() of the engine, for samples of pixels without mixtures; loss, correct and top5 are those of the mean. */
int	 tta_evaluate(struct tta *v, const struct samples *s, struct engine_result *r, float *prob);

#endif
