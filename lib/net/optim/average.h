/*
 * average - a second set of weights that follows the learned ones smoothly.
 *
 * After an update, with w the weights, a the average and n how many weights it is of so far:
 *
 *	ema		a = w the first time, then a + (1 - rate) (w - a)
 *	swa		after marked updates alone (the last of an epoch): a = a + (w - a) / (n + 1)
 *	lookahead	after every k-th update: a = a + rate (w - a), and w = a; a begins as the first weights
 *
 * Running statistics of batch norm are averaged with the weights, but for lookahead, whose statistics are the learned
 * ones.  What the optimizer keeps is left alone.
 * Sources: ema, swa: torch/optim/swa_utils.py; Izmailov et al., "Averaging Weights Leads to Wider Optima and Better
 * Generalization", UAI 2018; Zhang et al., "Lookahead Optimizer: k steps forward, 1 step back", NeurIPS 2019.
 *
 * Element by element, so that however a range is cut the bits are the same.  Threads: different ranges at once.
 */
#ifndef NET_OPTIM_AVERAGE_H
#define NET_OPTIM_AVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum average_kind { AVERAGE_NONE, AVERAGE_EMA, AVERAGE_SWA, AVERAGE_LOOKAHEAD, AVERAGE_KINDS };

#define AVERAGE_TAIL	":average"	/* behind a tensor's name in a file */

struct average {
	enum average_kind kind;
	float	 rate;		/* ema: what is kept; lookahead: how far a goes */
	uint32_t every;		/* lookahead: k */
};

const char *average_name(enum average_kind kind);	/* "none", "ema" ... */
bool	 average_find(const char *name, enum average_kind *kind);
/* After update t, from 1, of w [count]; statistics: they are batch norm's.  Returns whether n is one more now. */
bool	 average_step(const struct average *o, float *a, float *w, size_t count, uint32_t n, uint64_t t, bool marked,
	     bool statistics);

#endif
