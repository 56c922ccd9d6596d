/*
 * pworker_learn - the options that say how weights change: optimizer, rate, decay.
 */
#ifndef CMD_PWORKER_LEARN_H
#define CMD_PWORKER_LEARN_H

#include "net/sched.h"
#include "ps/worker.h"

#include <getopt.h>

#define WORKER_LEARN	2048	/* the least of these options' values */

/* What they come to; a number that was not given is NAN. */
struct worker_learn {
	struct sched	 sched;
	enum opt_rule	 rule;
	double		 momentum, beta2, eps, wd, l1, clip;
	struct buf	 mults;		/* text of ps/plan.h */
};

/* For getopt_long(); ends with a zero. */
extern const struct option worker_learn_longs[];

void	worker_learn_init(struct worker_learn *l);
/* Takes an option of value c; a fault of it ends the process. */
void	worker_learn_take(struct worker_learn *l, int c, const char *text);
/* Fills hyper and mults, which are lent as long as l. */
void	worker_learn_settle(struct worker_learn *l, struct worker_opt *o);

#endif
