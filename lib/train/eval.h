/*
 * eval - records and weights in, probabilities out: what a trained net says of pictures.
 *
 * Records are read once, in their own order; pictures are made as for
 * validation: resized, the centre cropped, the mean subtracted.
 */
#ifndef TRAIN_EVAL_H
#define TRAIN_EVAL_H

#include "batch/batch.h"
#include "net/weights.h"
#include "engine/engine.h"
#include "train/tta.h"

struct eval_opt {
	const struct engine *engine;
	const char	*devices;	/* of engine/split/split.h, in place of engine, or NULL */
	unsigned	 threads;	/* the engine's; 0: its choice */
	enum engine_precision precision;
	struct engine_tune tune;
	const struct weights *weights;	/* with a graph, lent */
	struct batch_opt data;		/* path, recs or stream, batch, aug ...; the shape is filled in here */
	struct tta_opt views;		/* what it says is the mean of so many */
	/* Each sample in the records' order: its label, and p f32 [classes], lent.  Anything but 0 ends the run. */
	int		(*sample)(void *arg, uint64_t id, int32_t label, const float *p);
	void		(*bad)(void *arg, const char *why);	/* a record was left out; its name and reason */
	void		*arg;
};

/* Returns 0, what sample() returned, or what the reader and the engine return. */
int	 eval_run(const struct eval_opt *o);

#endif
