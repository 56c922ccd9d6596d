/*
 * eval - inference: records and weights in, probabilities out.
 *
 * Records are read once, in their own order.  Images are prepared as for validation: resized, cropped to the centre,
 * minus the mean.
 */
#ifndef TRAIN_EVAL_H
#define TRAIN_EVAL_H

#include "batch/batch.h"
#include "net/weights.h"
#include "engine/engine.h"
#include "train/tta.h"

struct eval_opt {
	const struct engine *engine;
	const char	*devices;	/* devices of engine/split/split.h, in place of engine, or NULL */
	unsigned	 threads;	/* the engine's; 0: its choice */
	enum engine_precision precision;
	struct engine_tune tune;
	const struct weights *weights;	/* with a graph, lent */
	/* path, recs or stream, batch, aug ...; eval_run() sets the shape, and targets unless data is unlabelled */
	struct batch_opt data;
	struct tta_opt views;		/* probabilities are the mean over these */
	/*
	 * Called for each sample in the order of records: its label, or its targets f32 [classes] (NULL: not read), and
	 * p f32 [classes], both lent.  A result other than 0 ends the run.
	 */
	int		(*sample)(void *arg, uint64_t id, int32_t label, const float *target, const float *p);
	/* called for a record that is left out: its name and the reason */
	void		(*bad)(void *arg, const char *why);
	void		*arg;
};

/* Returns 0, what sample() returned, or what the reader and the engine return. */
int	 eval_run(const struct eval_opt *o);

#endif
