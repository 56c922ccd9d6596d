/*
 * score - rank, loss and top classes from a net's probabilities p [classes] of a sample.
 *
 * The probabilities of a diverged net are NaN.  Such a sample counts as wrong, and its loss is NaN.
 */
#ifndef ENGINE_SCORE_H
#define ENGINE_SCORE_H

#include "net/graph/graph.h"

/*
 * Returns how many classes precede y: more probable ones, equal ones with a lower number, and those whose p is NaN; all
 * if p[y] is NaN.  So a sample of a net that has diverged is wrong.
 */
size_t	 score_rank(const float *p, size_t classes, size_t y);
/* Returns -log p, with p raised to 1e-37, near the least normal float. */
double	 score_loss(float p);
/*
 * The loss of outputs p [n] against their targets, a mean over them; a target that is NaN adds 0.  *right: sigmoid,
 * and all are on their targets' side of 1/2.
 */
double	 score_targets(enum graph_loss loss, const float *p, const float *target, size_t n, bool *right);
/* The first `top` classes by that order, but classes whose p is NaN come last; 1 <= top <= classes. */
void	 score_top(const float *p, uint32_t classes, uint32_t top, uint32_t *order);

#endif
