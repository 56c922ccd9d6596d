/*
 * sched - learning rate schedules.
 *
 * A schedule is text, parts separated by commas:
 *
 * 	warmup:5:FROM	first: linear from FROM (default 0) to the rate over the first 5 epochs
 * 	0.1		the rate
 * 	x0.1@80		then any number of factors: multiply at the start of epoch 80
 * 	cosine:END@30	then at most one curve, from the end of the warm-up to END (default 0) at epoch 30;
 * 			constant after that
 * 	linear:END@30
 * 	poly:P:END@30
 * 	exp:F		multiply by F after each epoch
 * 	triangle:LOW@2	down to LOW and up again every 2 epochs
 *
 * Epochs may have fractions and count from the start of the run.  A one-cycle schedule is a warm-up and a curve.
 *
 * Let s be the step, from 0, and e = s / steps its epoch.  Let R be the rate, and W, E and P the steps of the warm-up,
 * to the end of a curve, and of a period (of poly: its power).  With p = (s - W) / (E - W), clipped to [0, 1]:
 *
 * 	warmup		s + 1 < W: FROM + (R - FROM) (s + 1) / W
 * 	cosine		END + (R - END) (1 + cos(pi p)) / 2
 * 	poly, linear	END + (R - END) (1 - p)^P; linear has P = 1
 * 	exp		R F^floor(e)
 * 	triangle	LOW + (R - LOW) |1 - 2 frac(s / P)|
 *
 * A sweep has no text: from `from` to `end` in `steps` steps, with the same factor between any two.
 *
 * So the first step has the full rate, as in PyTorch's CosineAnnealingLR, PolynomialLR, ExponentialLR and MultiStepLR.
 * MXNet counts updates from 1: its CosineScheduler and PolyScheduler have at step s the rate of our step s + 1.
 * Warm-ups and factors are MXNet's.  OneCycleLR starts to decrease at the last step of the warm-up, this module one
 * step later. CyclicLR starts at LOW, half a period earlier.
 *
 * Sources:
 *	MXNet 1.9.1, lr_scheduler.py; PyTorch, torch/optim/lr_scheduler.py
 *	Goyal et al., "Accurate, Large Minibatch SGD", 2017: warm-up from another rate
 *	Loshchilov and Hutter, "SGDR", ICLR 2017: cosine
 *	Smith, "Cyclical Learning Rates", WACV 2017: triangle
 */
#ifndef NET_OPTIM_SCHED_H
#define NET_OPTIM_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#define SCHED_PARTS 64

enum sched_curve { SCHED_FLAT, SCHED_COSINE, SCHED_POLY, SCHED_EXP, SCHED_TRIANGLE, SCHED_SWEEP };

struct sched {
	double	 base;
	double	 warmup, from;		/* epochs of the warm-up, and its first rate */
	struct { double at, factor; } part[SCHED_PARTS];	/* at: epoch, increasing */
	uint32_t n;
	enum sched_curve curve;		/* linear is poly with power 1 */
	double	 end, until;		/* last rate and epoch of a curve; lowest rate and period of a triangle */
	uint64_t steps;			/* steps of a sweep, at least 2; all but from and end are ignored then */
	double	 power;			/* power of poly; the factor of exp */
};

/* Parses a schedule.  Returns 0, ERR_FORMAT or ERR_LIMIT; the message names the part. */
int	 sched_parse(const char *text, struct sched *s);
/*
 * The rate of step `step` (from 0) if an epoch has `steps` steps.  scale multiplies the rate, but not the first rate of
 * a warm-up, which is that of one worker (Goyal et al., section 2.2).
 */
float	 sched_rate(const struct sched *s, uint64_t step, uint64_t steps, double scale);
/* Whether the rate changes within an epoch, so that the steps per epoch must be known. */
bool	 sched_within(const struct sched *s);

#endif
