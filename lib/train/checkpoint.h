/*
 * checkpoint - a run's checkpoints: written by a thread of their own, so that no step waits for the disk; how many stay; the best.
 *
 * A checkpoint is put as a copy of the run's arrays, and appears under its name when it is whole (base/io.h): whatever is
 * killed at whatever moment, the one before is there.  One is written at a time; who puts the next waits for it.  Older ones
 * go when a newer one is whole.
 * Threads: all calls from one.
 */
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H

#include "net/weights.h"
#include "ps/worker/trace.h"

#define CHECKPOINT_PATH 4096

struct checkpoint_opt {
	const char	*prefix;	/* lent */
	const struct graph *graph;	/* lent */
	enum opt_rule	 rule;
	bool		 average;	/* the run has one (net/optim/average.h) */
	struct trace	*trace;		/* lent; NULL: none */
	uint32_t	 most;		/* that stay of those up to the newest; 0: all */
};

struct checkpoint;

/* Returns 0, ERR_NOMEM or ERR_SYS. */
int	 checkpoint_open(const struct checkpoint_opt *opt, struct checkpoint **k);
/* Waits until all is written; NULL is fine. */
void	 checkpoint_close(struct checkpoint *k);

/*
 * Where a copy goes: w [P], aux [A], state [P, states], average [P + A] (NULL: the run has none).  Waits until the
 * checkpoint before is written.
 */
void	 checkpoint_room(struct checkpoint *k, float **w, float **aux, float **state, float **average);
/*
 * The copy is complete: PREFIX-EEEE.safetensors, or PREFIX-EEEE-SSSSSS where at is not 0; average: with it.  Returns 0 or
 * ERR_NOMEM.
 */
int	 checkpoint_put(struct checkpoint *k, uint64_t epoch, uint64_t at, bool average, const struct tensors_meta *meta, uint32_t n);
/* The checkpoint that was put last is also PREFIX-best.safetensors, once it is written. */
void	 checkpoint_best(struct checkpoint *k);

/*
 * 1: a checkpoint was written since, of that epoch and step, path is its name; 0: none; or, once, the error of writing it:
 * ERR_SYS, ERR_NOMEM, ERR_LIMIT, and the line names the file.  wait: not before all that was put is written.
 */
int	 checkpoint_done(struct checkpoint *k, bool wait, uint64_t *epoch, uint64_t *at, char path[CHECKPOINT_PATH]);

#endif
