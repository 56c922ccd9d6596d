/*
 * sched - the learning rate of a step.
 *
 * A schedule is text, parts with commas between:
 *
 *	warmup:5	first: rises linearly from 0 to the rate over the first 5 epochs
 *	0.1		the rate
 *	x0.1@80		then, any number: multiplied at the start of epoch 80
 *	cosine:END@30	then, once: one of these curves from the warm-up's end to END at epoch 30, where it stays
 *	linear:END@30	(":END" may be left out: 0)
 *	poly:P:END@30	(1 - p)^P of the way left, p the part of the way that is done
 *	exp:F		multiplied by F after each epoch
 *	triangle:LOW@2	down to LOW and up again every 2 epochs
 *
 * Epochs may have fractions.  A one-cycle is a warm-up with a curve.
 * Sources: Loshchilov and Hutter, "SGDR", ICLR 2017 (cosine); Smith, "Cyclical Learning Rates", WACV 2017 (triangle).
 */
#ifndef NET_SCHED_H
#define NET_SCHED_H

#include <stdint.h>

#define SCHED_PARTS 64

enum sched_curve { SCHED_FLAT, SCHED_COSINE, SCHED_POLY, SCHED_EXP, SCHED_TRIANGLE };

struct sched {
	double	 base;
	double	 warmup;		/* epochs */
	struct { double at, factor; } part[SCHED_PARTS];	/* at in epochs, rising */
	uint32_t n;
	enum sched_curve curve;		/* linear is poly with power 1 */
	double	 end, until;		/* where it goes, and when; a triangle's lowest and its period */
	double	 power;			/* of poly; the factor of exp */
};

/* Returns 0, ERR_FORMAT or ERR_LIMIT; the line names the part. */
int	 sched_parse(const char *text, struct sched *s);
/* The rate of step `step` (from 0) when an epoch has `steps` steps. */
float	 sched_rate(const struct sched *s, uint64_t step, uint64_t steps);

#endif
