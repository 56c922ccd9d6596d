/*
 * checkpoint - the checkpoint writer: a thread of its own, so that no step waits for the disk.
 *
 * The caller supplies a copy of the run's arrays.  A file appears under its name only when it is complete (base/io.h),
 * so that a kill at any moment leaves the checkpoint before it.  One is written at a time; the next one waits for it.
 * Older checkpoints are removed after a newer one is complete.  If there is no room for it, those that it replaces are
 * removed before: the oldest first, and the last one only if the new one fits then.
 *
 * A cut (train/cut.h) is a checkpoint between these, under another prefix, which is sealed when it is complete.
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
	bool		 state;		/* files have the state, and name the rule */
	bool		 average;	/* the run has an average (net/optim/average.h) */
	const float	*mean_image;	/* mean image of the samples, lent, or NULL */
	struct trace	*trace;		/* lent; NULL: none */
	uint32_t	 most;		/* newest checkpoints that stay; 0: all */
	const char	*cuts;		/* prefix of cuts, lent; NULL: there are none */
	uint64_t	 run;		/* identifies the run in the manifests of cuts */
};

enum checkpoint_kind {
	CHECKPOINT_PLAIN,
	CHECKPOINT_BEST,	/* it is PREFIX-best.safetensors too, once it is written */
	CHECKPOINT_CUT
};

struct checkpoint;

/* Removes what a killed process left unfinished under the prefixes.  Returns 0, ERR_NOMEM or ERR_SYS. */
int	 checkpoint_open(const struct checkpoint_opt *opt, struct checkpoint **k);
/* Waits until all is written.  NULL does nothing. */
void	 checkpoint_close(struct checkpoint *k);

/*
 * Returns buffers for a copy: w [P], aux [A], state [P, states], average [P + A] (NULL: the run has none).  Waits
 * until the checkpoint before is written.
 */
void	 checkpoint_room(struct checkpoint *k, float **w, float **aux, float **state, float **average);
/*
 * Starts to write the copy as PREFIX-EEEE.safetensors, or PREFIX-EEEE-SSSSSS.safetensors if at is not 0; average: with
 * the average.  Returns 0 or ERR_NOMEM.
 */
int	 checkpoint_put(struct checkpoint *k, enum checkpoint_kind kind, uint64_t epoch, uint64_t at, bool average,
    const struct tensors_meta *meta, uint32_t n);
/*
 * Returns 1, with epoch, step and path, if a checkpoint other than a cut was completed since the last call; 0 if none
 * was.  Else returns the last error once; the line names the file.  ERR_SYS, ERR_NOMEM and ERR_LIMIT: a checkpoint or
 * cut was not written.  ERR_ITEM: it was, but older ones were not removed, or the best one was not kept.  A caller
 * calls again until it returns 0 or an error.  wait: waits until all is written.
 */
int	 checkpoint_done(struct checkpoint *k, bool wait, uint64_t *epoch, uint64_t *at, char path[CHECKPOINT_PATH]);
/* The path of PREFIX-best.safetensors. */
const char *checkpoint_best(const struct checkpoint *k);
/* Seconds that the last one took to write; 0: none is written yet. */
double	 checkpoint_seconds(struct checkpoint *k);

#endif
