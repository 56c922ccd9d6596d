/*
 * stats - records and weights in, batch norm's statistics out.
 *
 * After weights were averaged, or training ended, the running statistics are those of other weights.  Here they are taken
 * anew: passes as in training over batches, by whose own statistics each layer normalizes, and over all samples of all
 * batches the mean and, by the law of total variance, the variance of what each batch norm saw:
 *
 *	mean = sum n_b mean_b / n	var = sum n_b (var_b + (mean_b - mean)^2) / n
 *
 * Source: Izmailov et al., "Averaging weights leads to wider optima and better generalization", UAI 2018, 3.2; Wu, Johnson,
 * "Rethinking 'batch' in BatchNorm", arXiv:2105.07576, 3 (precise batch norm).
 */
#ifndef TRAIN_STATS_H
#define TRAIN_STATS_H

#include "batch/batch.h"
#include "engine/engine.h"
#include "net/weights.h"

struct stats_opt {
	const struct engine *engine;
	const char	*device;	/* of engine/split/split.h, one alone, in place of engine, or NULL */
	unsigned	 threads;	/* the engine's; 0: its choice */
	enum engine_precision precision;
	struct engine_tune tune;
	const struct weights *weights;	/* with a graph, lent */
	struct batch_opt data;		/* path or recs, batch, aug ...; the shape is filled in here */
	uint64_t	 seed;		/* of what is dropped */
	uint64_t	 steps;		/* batches at most; 0: an epoch */
	void		(*bad)(void *arg, uint32_t n, const char *why);	/* n records were left out; the first one's reason */
	void		*arg;
};

/*
 * Writes aux [A] of the graph; *samples says how many they are of.  Labels are not looked at.  Returns 0, ERR_FORMAT (no sample
 * at all), or what the reader and the engine return.
 */
int	 stats_run(const struct stats_opt *o, float *aux, uint64_t *samples);

#endif
