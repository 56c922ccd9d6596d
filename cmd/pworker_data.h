/*
 * pworker_data - the options that say how records are read and what becomes of their pictures.
 */
#ifndef CMD_PWORKER_DATA_H
#define CMD_PWORKER_DATA_H

#include "batch/batch.h"

#include <getopt.h>

#define WORKER_DATA	1024	/* the least of these options' values */

/* For getopt_long(); ends with a zero. */
extern const struct option worker_data_longs[];

/* Takes an option of value c; a fault of it ends the process.  worker_data_settle() looks whether they go together. */
void	worker_data_take(struct batch_opt *o, int c, const char *text);
void	worker_data_settle(const struct batch_opt *o);

#endif
