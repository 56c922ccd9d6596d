/*
 * options_batch - the option --batch: "16" for all workers, or "16:48", a number a worker.
 */
#ifndef CMD_PWORKER_OPTIONS_BATCH_H
#define CMD_PWORKER_OPTIONS_BATCH_H

#include "train/train.h"

struct worker_batch {
	uint32_t	*each, n;	/* [n]; NULL: not said */
};

/* Takes the option's value, of which nothing is left; a fault of it ends the process. */
void	worker_batch_take(struct worker_batch *b, char *text);
/* The largest of them; 0 when none was said. */
uint32_t worker_batch_most(const struct worker_batch *b);
/* Fills t->data.batch and t->batches, which is lent as long as b, once rank and number of workers are known. */
void	worker_batch_settle(const struct worker_batch *b, struct train_opt *t);

#endif
