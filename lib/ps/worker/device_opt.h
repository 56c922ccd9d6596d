/*
 * device_opt - the device optimizer: training without servers on an engine that has an optimizer of its own.
 *
 * It replaces the server's state machine in this process.  Gradients, weights and optimizer state stay on the device,
 * and a checkpoint fetches what it needs.  A step is forward() without a hook, backward() without arrays, and
 * device_opt_update().
 *
 * Threads: as for the plan.  Errors are those of the engine.
 */
#ifndef PS_WORKER_DEVICE_OPT_H
#define PS_WORKER_DEVICE_OPT_H

#include "ps/worker/worker.h"

struct device_opt;

/* Whether it can run the job: no servers, one worker, and opt->plan belongs to an engine with an optimizer. */
bool	 device_opt_may(const struct worker_opt *opt);
/* opt is lent.  Returns 0, ERR_ARG as shard_plan_new(), or ERR_NOMEM. */
int	 device_opt_new(const struct worker_opt *opt, struct device_opt **d);
void	 device_opt_free(struct device_opt *d);	/* NULL does nothing */

/*
 * Starts from opt->w and aux, *first (NULL: nothing) and the steps done.  Returns ERR_NOTSUP if the device has no
 * kernel for the optimizer.
 */
int	 device_opt_begin(struct device_opt *d, const struct worker_first *first, uint64_t step);
/* Ends a step of n samples, maybe 0; mark: its weights become part of the average. */
int	 device_opt_update(struct device_opt *d, uint32_t n, float rate, bool mark);
uint64_t device_opt_steps(const struct device_opt *d);	/* steps done */
/* Fetches the weights and statistics into opt->w and aux. */
int	 device_opt_read(struct device_opt *d);
/* Fetches the optimizer's state [P, states]. */
int	 device_opt_state(struct device_opt *d, float *state);
/* Fetches the average [P + A] and the number of weights in it, *n; with 0, it is the weights. */
int	 device_opt_average(struct device_opt *d, float *to, uint32_t *n);
/* Makes the plan evaluate with the average, or with the weights again. */
int	 device_opt_show(struct device_opt *d, bool average);

#endif
