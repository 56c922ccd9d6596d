/*
 * score - how good a net's probabilities p [classes] of a sample are.
 *
 * A net that has come apart gives what is no number: it is right about nothing, and its loss is no number either.
 */
#ifndef ENGINE_SCORE_H
#define ENGINE_SCORE_H

#include <stddef.h>
#include <stdint.h>

/*
 * How many classes come before y: those more probable, and of equals the lower numbers. All where
 * p[y] is no number.
 */
size_t	 score_rank(const float *p, size_t classes, size_t y);
/* -log p, of p = 0 as of 1e-37, near the least that a float can be. */
double	 score_loss(float p);
/* The first `top` classes in that order, 1 <= top <= classes; what is no number comes last. */
void	 score_top(const float *p, uint32_t classes, uint32_t *order, uint32_t top);

#endif
