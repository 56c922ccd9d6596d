/*
 * hand - the result of a synchronous job, by plain sums over whole arrays.
 *
 * The samples, gradients and rates are those of a world, and a worker takes part until `steps` of its actor.
 */
#ifndef TESTS_LAW_HAND_H
#define TESTS_LAW_HAND_H

#include "law/world.h"

struct hand {
	float	*w, *aux, *state, *average;	/* [P], [A], [P, states], [P + A] */
	float	*seen;		/* [P] what workers have of w */
};

/* Allocates and fills h: what a job has after so many steps. */
void	 hand_run(const struct world *x, const struct shard_plan *p, uint64_t steps, struct hand *h);
void	 hand_free(struct hand *h);

#endif
