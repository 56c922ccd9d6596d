/*
 * average - moving averages of the weights.
 *
 * After an update, with w the weights, a the average and n the number of weights averaged so far:
 *
 * 	ema		a = w the first time, then a + (1 - rate) (w - a)
 * 	swa		after marked updates only (the last of an epoch): a = a + (w - a) / (n + 1)
 * 	lookahead	after every k-th update: a = a + rate (w - a), and w = a; a starts as the initial weights
 *
 * Running statistics of batch norm are averaged with the weights, except in lookahead, whose statistics are the learned
 * ones.  Averages do not touch the optimizer's state.
 * Sources: ema, swa: torch/optim/swa_utils.py; Izmailov et al., "Averaging Weights Leads to Wider Optima and Better
 * Generalization", UAI 2018; Zhang et al., "Lookahead Optimizer: k steps forward, 1 step back", NeurIPS 2019.
 *
 * The computation is elementwise: splitting a range does not change the bits.  Threads: different ranges at the same
 * time.
 */
#ifndef NET_OPTIM_AVERAGE_H
#define NET_OPTIM_AVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum average_kind { AVERAGE_NONE, AVERAGE_EMA, AVERAGE_SWA, AVERAGE_LOOKAHEAD, AVERAGE_KINDS };

#define AVERAGE_TAIL	":average"	/* suffix of a tensor's name in a file */

struct average {
	enum average_kind kind;
	float	 rate;		/* ema: the part kept; lookahead: the step towards w */
	uint32_t every;		/* lookahead: k */
};

const char *average_name(enum average_kind kind);	/* "none", "ema" ... */
bool	 average_find(const char *name, enum average_kind *kind);
/*
 * Averages after update t (from 1) of w [count]; statistics: w are batch norm's.  Returns whether n
 * increases by one.
 */
bool	 average_step(const struct average *o, float *a, float *w, size_t count, uint32_t n, uint64_t t, bool marked,
	     bool statistics);

#endif
