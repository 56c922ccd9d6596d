/*
 * stats - records and weights in, statistics of batch norm out.
 *
 * After training, or averaging of weights, the running statistics belong to other weights.  stats_run() measures them
 * again.  It runs training passes over batches, in which each layer normalizes by the batch's own statistics.  It then
 * takes the mean and, by the law of total variance, the variance of each batch norm's input over all samples:
 *
 *	mean = sum n_b mean_b / n	var = sum n_b (var_b + (mean_b - mean)^2) / n
 *
 * Source: Izmailov et al., "Averaging weights leads to wider optima and better generalization", UAI 2018, 3.2; Wu,
 * Johnson, "Rethinking 'batch' in BatchNorm", arXiv:2105.07576, 3 (precise batch norm).
 */
#ifndef TRAIN_STATS_H
#define TRAIN_STATS_H

#include "batch/batch.h"
#include "engine/engine.h"
#include "net/weights.h"

struct stats_opt {
	const struct engine *engine;
	const char	*device;	/* a single device of engine/split/split.h, in place of engine, or NULL */
	unsigned	 threads;	/* the engine's; 0: its choice */
	enum engine_precision precision;
	struct engine_tune tune;
	const struct weights *weights;	/* with a graph, lent */
	struct batch_opt data;		/* path or recs, batch, aug ...; stats_run() sets the shape */
	uint64_t	 seed;		/* seed of dropout */
	uint64_t	 steps;		/* most batches; 0: an epoch */
	/* called for n records left out, with the first reason */
	void		(*bad)(void *arg, uint32_t n, const char *why);
	void		*arg;
};

/*
 * Writes aux [A] of the graph, over *samples samples.  Labels are ignored.  Returns 0, ERR_FORMAT (no sample at all),
 * or the errors of the reader and the engine.
 */
int	 stats_run(const struct stats_opt *o, float *aux, uint64_t *samples);

#endif
