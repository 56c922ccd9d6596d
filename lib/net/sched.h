/*
 * sched - the learning rate of a step.
 *
 * A schedule is text: "0.1" alone is constant; "0.1,x0.1@80,x0.1@120" multiplies
 * at the start of those epochs (fractions of an epoch may be given); a first part
 * "warmup:5" rises linearly from 0 to the rate over the first 5 epochs.
 */
#ifndef NET_SCHED_H
#define NET_SCHED_H

#include <stdint.h>

#define SCHED_PARTS 64

struct sched {
	double	 base;
	double	 warmup;		/* epochs */
	struct { double at, factor; } part[SCHED_PARTS];	/* at in epochs, rising */
	uint32_t n;
};

/* Returns 0, ERR_FORMAT or ERR_LIMIT; the line names the part. */
int	 sched_parse(const char *text, struct sched *s);
/* The rate of step `step` (from 0) when an epoch has `steps` steps. */
float	 sched_rate(const struct sched *s, uint64_t step, uint64_t steps);

#endif
