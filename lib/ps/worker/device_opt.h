/*
 * device_opt - learning without servers on an engine that learns where its weights are.
 *
 * Instead of a server's brain in this process: gradients, weights and the optimizer's
 * state stay with the plan, and what a checkpoint needs is fetched when one is made.
 * A step is forward() without a hook, backward() without arrays, and device_opt_update().
 *
 * Threads: as the plan's.  Errors are the engine's.
 */
#ifndef PS_WORKER_DEVICE_OPT_H
#define PS_WORKER_DEVICE_OPT_H

#include "ps/worker/worker.h"

struct device_opt;

/* Is this a job for it: no servers, one worker, and opt->plan of an engine that learns? */
bool	 device_opt_may(const struct worker_opt *opt);
/* opt is lent.  ERR_ARG as shard_plan_new(), ERR_NOMEM. */
int	 device_opt_new(const struct worker_opt *opt, struct device_opt **d);
void	 device_opt_free(struct device_opt *d);	/* NULL is fine */

/* What is in opt->w and aux, *first (NULL: nothing) and the steps done.  ERR_NOTSUP: not by this rule on this device. */
int	 device_opt_begin(struct device_opt *d, const struct worker_first *first, uint64_t step);
/* Ends a step of n samples, 0 when there were none; mark: its weights go into the average. */
int	 device_opt_update(struct device_opt *d, uint32_t n, float rate, bool mark);
uint64_t device_opt_steps(const struct device_opt *d);	/* done */
/* opt->w and aux become those of now. */
int	 device_opt_read(struct device_opt *d);
int	 device_opt_state(struct device_opt *d, float *state);
int	 device_opt_average(struct device_opt *d, float *to, uint32_t *n);
int	 device_opt_show(struct device_opt *d, bool average);

#endif
