/*
 * home - learning without servers on an engine that learns where its weights are.
 *
 * Instead of a server's brain in this process: gradients, weights and the optimizer's
 * state stay with the plan, and what a checkpoint needs is fetched when one is made.
 * A step is forward() without a hook, backward() without arrays, and home_update().
 *
 * Threads: as the plan's.  Errors are the engine's.
 */
#ifndef PS_HOME_H
#define PS_HOME_H

#include "ps/worker.h"

struct home;

/* Is this a job for it: no servers, one worker, and opt->plan of an engine that learns? */
bool	 home_may(const struct worker_opt *opt);
/* opt is lent.  ERR_ARG as plan_new(), ERR_NOMEM. */
int	 home_new(const struct worker_opt *opt, struct home **h);
void	 home_free(struct home *h);	/* NULL is fine */

/* What is in opt->w and aux, *first (NULL: nothing) and the steps done.  ERR_NOTSUP: not by this rule on this device. */
int	 home_begin(struct home *h, const struct worker_first *first, uint64_t step);
/* Ends a step of n samples, 0 when there were none; mark: its weights go into the average. */
int	 home_update(struct home *h, uint32_t n, float rate, bool mark);
uint64_t home_steps(const struct home *h);	/* done */
/* opt->w and aux become those of now. */
int	 home_read(struct home *h);
int	 home_state(struct home *h, float *state);
int	 home_average(struct home *h, float *to, uint32_t *n);
int	 home_show(struct home *h, bool average);

#endif
