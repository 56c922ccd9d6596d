/*
 * sched - the learning rate of a step.
 *
 * A schedule is text, parts with commas between:
 *
 *	warmup:5:FROM	first: rises linearly from FROM (":FROM" may be left out: 0) to the rate over the first 5 epochs
 *	0.1		the rate
 *	x0.1@80		then, any number: multiplied at the start of epoch 80
 *	cosine:END@30	then, once: one of these curves from the warm-up's end to END at epoch 30, where it stays
 *	linear:END@30	(":END" may be left out: 0)
 *	poly:P:END@30	(1 - p)^P of the way left, p the part of the way that is done
 *	exp:F		multiplied by F after each epoch
 *	triangle:LOW@2	down to LOW and up again every 2 epochs
 *
 * Epochs may have fractions, and all are counted from the run's start.  A one-cycle is a warm-up with a curve.
 *
 * With s the step, from 0, e = s / steps its epoch, W, E, P and R the steps of the warm-up, to a curve's end, of a period and
 * the rate, and p = (s - W) / (E - W), cut to [0, 1]:
 *
 *	warmup		s + 1 < W: FROM + (R - FROM) (s + 1) / W
 *	cosine		END + (R - END) (1 + cos(pi p)) / 2
 *	poly, linear	END + (R - END) (1 - p)^P, linear's P being 1
 *	exp		R F^floor(e)
 *	triangle	LOW + (R - LOW) |1 - 2 frac(s / P)|
 *
 * So the first step has the rate itself, as in PyTorch's CosineAnnealingLR, PolynomialLR, ExponentialLR and MultiStepLR; MXNet
 * counts updates from 1, and its CosineScheduler and PolyScheduler have at step s what this has at s + 1.  Warm-ups and factors
 * are MXNet's.  OneCycleLR's way down begins at a warm-up's last step, this one's at the step behind it; CyclicLR begins at LOW,
 * half a period ahead of this.
 * Sources: MXNet 1.9.1, lr_scheduler.py; PyTorch, torch/optim/lr_scheduler.py; Goyal et al., "Accurate, Large Minibatch SGD",
 * 2017 (warm-up from another rate); Loshchilov and Hutter, "SGDR", ICLR 2017 (cosine); Smith, "Cyclical Learning Rates", WACV
 * 2017 (triangle).
 */
#ifndef NET_OPTIM_SCHED_H
#define NET_OPTIM_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#define SCHED_PARTS 64

enum sched_curve { SCHED_FLAT, SCHED_COSINE, SCHED_POLY, SCHED_EXP, SCHED_TRIANGLE };

struct sched {
	double	 base;
	double	 warmup, from;		/* epochs, and the rate before them */
	struct { double at, factor; } part[SCHED_PARTS];	/* at in epochs, rising */
	uint32_t n;
	enum sched_curve curve;		/* linear is poly with power 1 */
	double	 end, until;		/* where it goes, and when; a triangle's lowest and its period */
	double	 power;			/* of poly; the factor of exp */
};

/* Returns 0, ERR_FORMAT or ERR_LIMIT; the line names the part. */
int	 sched_parse(const char *text, struct sched *s);
/*
 * The rate of step `step` (from 0) when an epoch has `steps` steps, multiplied by scale; not so the rate that a warm-up begins
 * at, which is one worker's, so that many go from there to what they have together (Goyal et al., section 2.2).
 */
float	 sched_rate(const struct sched *s, uint64_t step, uint64_t steps, double scale);
/* Whether the rate changes within an epoch, so that its steps must be known. */
bool	 sched_within(const struct sched *s);

#endif
