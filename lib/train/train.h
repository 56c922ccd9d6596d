/*
 * train - the training of one worker: records in, gradients out, weights in, epoch after epoch.
 *
 * The step: read a batch, forward (each layer waits for the weights it needs
 * first), backward (each gradient leaves the moment it exists), and on to the
 * next; validation and a checkpoint after each epoch.  The library is silent:
 * what happens is told to opt.event.
 *
 * The position in a job is the number of steps done: epoch and step within it
 * follow from the steps of an epoch.  A run stopped anywhere and resumed from
 * its checkpoint with the same seed, batch and number of pieces gives the same
 * bits as one that was not.
 *
 * Workers of different batches divide each step's records in that proportion;
 * a gradient counts as much as its records, so that together they compute what
 * one worker with the sum of the batches does.
 */
#ifndef TRAIN_TRAIN_H
#define TRAIN_TRAIN_H

#include "batch/batch.h"
#include "net/optim/sched.h"
#include "net/weights.h"
#include "engine/engine.h"
#include "train/tta.h"
#include "ps/worker/worker.h"

#include <signal.h>

enum train_kind {
	TRAIN_START,		/* batch: the steps of an epoch; samples: its records; text: the device */
	TRAIN_STEP,		/* this worker's own batch */
	TRAIN_EPOCH,		/* of all workers when synchronous, else this worker's own */
	TRAIN_VALIDATION,	/* likewise; of the average where there is one */
	TRAIN_SAVE,		/* text: the file */
	TRAIN_BEST,		/* a validation was better than all before */
	TRAIN_EARLY,		/* samples: so many epochs were no better than this one: the run ends */
	TRAIN_CACHE,		/* samples: the pictures kept in memory after an epoch; text: how many bytes */
	TRAIN_FROM,		/* batch: arrays that start has; samples: arrays left, text: which and why */
	TRAIN_REMARK,		/* text: a line about the devices, before START */
	TRAIN_BAD,		/* text: a record that was left out, and why */
	TRAIN_WAIT,		/* text: who is waited for, after a while of it */
	TRAIN_END		/* seconds and traffic of the whole run */
};

struct split_place;

struct train_event {
	enum train_kind	 kind;
	uint64_t	 epoch;		/* from 0 */
	uint64_t	 batch;		/* step within the epoch, from 0 */
	uint64_t	 step;		/* steps done, this one counted */
	uint64_t	 updates;	/* of all workers, as far as this one knows: step in a synchronous job */
	uint64_t	 samples;
	double		 loss;		/* mean over the samples; as accuracy NAN where there is none */
	double		 accuracy, top5;	/* 0..1 */
	double		 seconds;	/* that it took */
	double		 rate;		/* learning rate */
	double		 waited_s;	/* of seconds, waiting for servers */
	uint64_t	 sent, got;	/* bytes on the wire so far */
	const struct peer_traffic *traffic;	/* [peers] START, EPOCH, END: what moved between each server and here so far; lent */
	uint32_t	 peers;
	const struct split_place *place;	/* [places] START: the GPUs that this worker computes on; lent */
	uint32_t	 places;
	const char	*text;		/* lent for the call; "" when there is none */
};

struct train_opt {
	const struct engine *engine;
	const char	*devices;		/* engines and numbers of engine/split/split.h in place of engine, or NULL */
	unsigned	 threads;		/* the engine's; 0: its choice */
	enum engine_precision precision;
	struct engine_tune tune;		/* of kernels, where the engine has several */
	struct batch_opt data;			/* path, batch, crop ...; the seed, pieces and shape are filled in here */
	bool		 hold;			/* the pictures of data are kept on the device */
	const uint32_t	*batches;		/* [ps.nworkers] each worker's data.batch where they differ; NULL: all alike */
	const char	*val;			/* .rec validated after each epoch, or NULL */
	struct tta_opt views;			/* ... as the mean of so many */
	struct recs	*val_recs;		/* the same, opened already and lent; NULL: opened from val */
	struct worker_opt ps;			/* graph, rank, servers ...; w, aux, waiting and arg are filled in here */
	struct sched	 sched;
	double		 lr_scale;		/* rates are multiplied by the number of workers to this power */
	uint64_t	 swa;			/* of AVERAGE_SWA: the first epoch whose last weights count */
	const char	*init;			/* rule of net/init.h */
	uint64_t	 seed;
	uint32_t	 accumulate;		/* pieces of a step that this worker takes; at least 1 */
	uint64_t	 epochs;		/* ends after so many in all */
	uint64_t	 steps;			/* ends after so many steps in all; 0: not */
	const char	*save;			/* PREFIX of checkpoints, or NULL: rank 0 writes PREFIX-EEEE.safetensors */
	uint32_t	 keep;			/* of them the newest so many stay; 0: all */
	bool		 best;			/* the best by validation is PREFIX-best.safetensors too; needs save and val */
	bool		 skip_nan;		/* a batch whose loss is no number is left out; else it ends the run */
	uint32_t	 patience;		/* ends after so many epochs without a better validation; 0: does not */
	const char	*start;			/* a file of tensors to begin with by name, or NULL; read by rank 0 */
	const struct rename_rules *start_rename;	/* of its names, or NULL */
	const char	*resume;		/* a checkpoint, or NULL; read by rank 0 */
	const volatile sig_atomic_t *stop;	/* other than 0: end soon, with a checkpoint */
	void		(*event)(void *arg, const struct train_event *ev);
	void		*arg;
};

/*
 * Bytes that a run takes beside the engine's plan.  Not counted: the decoded pictures that data.cache keeps, no more than it
 * says; with hold all pictures of data, in memory until the first weights are there.
 */
struct train_memory {
	uint64_t weights;	/* the worker's, those that come from servers, and the server's where it is within */
	uint64_t gradients;	/* likewise, with the sum of the pieces of a step */
	uint64_t optimizer;	/* its state, and the average of the weights */
	uint64_t checkpoint;	/* the copy that is written while the training goes on */
	uint64_t samples;	/* made ahead, for training and validation */
};

/* Of opt the graph, the job, the optimizer, the batch and what becomes of pictures are looked at.  Returns the sum. */
uint64_t train_memory(const struct train_opt *opt, struct train_memory *m);

/*
 * Trains until the epochs or steps are done or a stop was asked for.  Returns 0, ERR_STOP after an orderly stop, or
 * the first error: of the options (ERR_ARG), a file, the engine, or the job (ERR_PEER, ERR_AUTH).
 */
int	 train_run(const struct train_opt *opt);

#endif
