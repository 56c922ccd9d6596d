/*
 * train - the training loop of one worker: records in, gradients out, weights in.
 *
 * lib/train turns records, a net, an engine and a worker (ps/worker/worker.h) into a training run.  Read it in this
 * order: train (epochs) with train_step, train_open, train_save and train_cut; balance with train_balance; checkpoint,
 * checkpoint_find and cut; tta, eval and stats.  preprocess is stored with weights, kept is stored for a successor.
 *
 * A step reads a batch, runs forward (each layer first waits for its weights) and backward (each gradient is sent as
 * soon as it is final).  A validation and a checkpoint follow each epoch.  The library prints nothing: opt.event gets
 * the events.
 *
 * The position in a job is the number of steps done; epoch and step within it follow from the steps of an epoch.  A
 * run that was stopped anywhere and resumed from its checkpoint, with the same seed, batch and number of
 * micro-batches, computes the same bits as an uninterrupted one.
 *
 * A checkpoint has the preprocessing of its images (train/preprocess.h), but no paths, ranks or numbers of threads.
 *
 * In an elastic job (ps/deal.h) the steps of an epoch are its batches, of which each worker computes its own.  The
 * position of a worker is the batch before which all of its own are done.
 *
 * Workers with different batches divide each step's records in that proportion, and each gradient counts by its
 * samples.  Together they compute what one worker with the sum of the batches computes.
 */
#ifndef TRAIN_TRAIN_H
#define TRAIN_TRAIN_H

#include "batch/batch.h"
#include "net/optim/sched.h"
#include "net/weights.h"
#include "engine/engine.h"
#include "train/balance.h"
#include "train/checkpoint_find.h"
#include "train/tta.h"
#include "ps/worker/worker.h"

#include <signal.h>

enum train_kind {
	TRAIN_START,		/* batch: steps of an epoch; samples: records of an epoch; text: device */
	TRAIN_STEP,		/* figures of this worker's batch */
	TRAIN_EPOCH,		/* figures of all workers if synchronous, else of this worker */
	TRAIN_VALIDATION,	/* as for an epoch; of the average of the weights if there is one */
	TRAIN_SAVE,		/* text: file name of a checkpoint */
	TRAIN_UNSAVED,		/* text: why a checkpoint could not be written; the run goes on */
	TRAIN_NO_CUT,		/* text: why the first cut could not be written; the run goes on */
	TRAIN_BEST,		/* a validation was better than all before; text: than only that in this file */
	TRAIN_EARLY,		/* the run ends: `samples` epochs in a row were no better than this one */
	TRAIN_CACHE,		/* samples: images kept in memory after an epoch; text: their bytes */
	TRAIN_FROM,		/* batch: arrays read from `start`; samples: arrays left out; text: which and why */
	TRAIN_REMARK,		/* text: a line for people, before START */
	TRAIN_KERNELS,		/* text: the chosen kernels and CUDA graphs; samples: the graphs refused */
	TRAIN_BAD,		/* text: a record that was left out, and why */
	TRAIN_WAIT,		/* text: the peer that this worker has waited for */
	TRAIN_END,		/* seconds and traffic of the whole run */
	TRAIN_SET,		/* text: settings that change (ps/settings.h); samples: the step from which on */
	TRAIN_WORKERS,		/* elastic: another number of workers; batch: 1 if this one joins; text: how many */
	/* text: the batches of the workers from the next step on, as in the log; batch: 1 if they were others before */
	TRAIN_BATCHES,
	TRAIN_UNTIDY		/* text: what could not be done after a checkpoint or cut was written */
};

struct kept;
struct mailbox;
struct split_place;

struct train_event {
	enum train_kind	 kind;
	uint64_t	 epoch;		/* from 0 */
	uint64_t	 batch;		/* step within the epoch, from 0 */
	uint64_t	 step;		/* steps done, with this one */
	uint64_t	 updates;	/* those of all workers, as far as this one knows; step in a synchronous job */
	uint64_t	 samples;
	uint64_t	 before;	/* EPOCH: those of a run that this one resumes, not in seconds */
	double		 loss;		/* mean over the samples; NAN without samples */
	double		 accuracy, top5;	/* 0..1; NAN without samples; below 0: the loss has none */
	double		 seconds;	/* duration */
	double		 rate;		/* learning rate */
	double		 waited_s;	/* part of seconds spent waiting for servers */
	uint64_t	 sent, received;	/* bytes on the wire so far */
	const struct peer_traffic *traffic;	/* [peers] START, EPOCH, END: traffic with each server so far; lent */
	uint32_t	 peers;
	struct staleness staleness;	/* EPOCH, END: how many updates gradients were behind since the last one */
	const struct split_place *place;	/* [places] START: GPUs that this worker computes on; lent */
	uint32_t	 places;
	uint64_t	 left_out;	/* EPOCH, VALIDATION: records of this worker that could not be used */
	bool		 again;			/* START: the worker was started again, and its log goes on */
	const char	*text;		/* lent for the call; "" if there is none */
};

struct train_opt {
	const struct engine *engine;
	/* engines and numbers of engine/split/split.h in place of engine, or NULL */
	const char	*devices;
	unsigned	 threads;		/* the engine's; 0: its choice */
	enum engine_precision precision;
	struct engine_tune tune;		/* choice of kernels, where the engine has several */
	/* path, batch, crop ...; train_run() sets seed, micro-batches and shape */
	struct batch_opt data;
	bool		 device_cache;		/* the device keeps the images of data */
	const uint32_t	*batches;		/* [ps.nworkers] data.batch of each worker if they differ, or NULL */
	/*
	 * The batches change by this schedule, or by measured speeds if it is empty; NULL: they do not change.  The job
	 * is synchronous, without backup workers and pipes, and has 2 to BALANCE_WORKERS workers.
	 */
	const struct balance_schedule *balance;
	const char	*val;			/* .rec validated after each epoch, or NULL */
	struct tta_opt views;			/* test-time augmentation of the validation */
	bool		 final_views;		/* only in the last epoch: not with best and patience */
	struct recs	*val_recs;		/* val, opened already and lent, or NULL */
	const uint32_t	*val_class_of;		/* class_of [val_labels] of val, as that of data */
	uint32_t	 val_labels;
	struct worker_opt ps;			/* graph, rank, servers ...; train_run() sets w, aux, waiting and arg */
	struct sched	 sched;
	double		 lr_scale;		/* rates are multiplied by the number of workers to this power */
	/* AVERAGE_SWA: first epoch whose last weights become part of the average */
	uint64_t	 swa;
	const char	*init;			/* rule of net/init.h */
	uint64_t	 seed;
	uint32_t	 accumulate;		/* micro-batches of this worker in a step; at least 1 */
	/*
	 * Each micro-batch is an update by an optimizer in this worker, which has these settings and rules of
	 * ps/shard_plan.h; lent.  ps.hyper is then plain sgd, and ps.mults has no lr: and wd:.
	 */
	bool		 local;
	struct opt_hyper local_hyper;
	const char	*local_mults;
	uint64_t	 epochs;		/* last epoch */
	uint64_t	 steps;			/* last step of the job; 0: no limit */
	/* not synchronous: worker_updates() after which the job ends; 0: no limit */
	uint64_t	 updates;
	const char	*class_names;		/* lines, stored with checkpoints, or NULL */
	const char	*net_text;		/* the net and its options, stored with checkpoints, or NULL */
	const char	*save;			/* PREFIX of checkpoints, which rank 0 writes, or NULL */
	uint32_t	 keep;			/* newest checkpoints that stay; 0: all */
	const char	*cuts;			/* prefix of cuts (train/cut.h) of rank 0 and its copies, or NULL */
	uint64_t	 cut;			/* steps from one cut to the next; 0: so that they cost little */
	/*
	 * Workers after rank 0 that make each cut too, on disks of their own.  Then the one that has the newest starts
	 * the job, else rank 0 does.  All workers have the same number.
	 */
	uint32_t	 cut_copies;
	bool		 no_cuts;		/* makes none, but goes on from those that are there */
	/* the best by validation is PREFIX-best.safetensors too; needs save and val */
	bool		 best;
	/* leave out a batch whose loss or gradient is NaN or infinite; else the run fails */
	bool		 skip_nan;
	/* epochs without a better validation after which the run ends; 0: no limit */
	uint32_t	 patience;
	const char	*start;			/* file of tensors to start from by name, or NULL; read by rank 0 */
	struct rename_rules *start_rename;	/* rules that rename its arrays, or NULL */
	const char	*resume;		/* checkpoint, or NULL; read by the worker that starts the job */
	bool		 from_cut;		/* resume is a cut */
	/* resume is the newest one that this worker has, at this position, or NULL as it has none */
	bool		 resumes_last;
	struct checkpoint_name resume_at;
	struct kept	*kept;			/* what this worker leaves to its successor, lent, or NULL */
	struct mailbox	*mailbox;		/* requests for other settings, which rank 0 answers; lent, or NULL */
	const volatile sig_atomic_t *stop;	/* other than 0: end soon, with a checkpoint */
	/* called with the run's worker, for worker_quit(), and with NULL before that is closed; or NULL */
	void		(*connected)(struct worker *wk);
	void		(*event)(void *arg, const struct train_event *ev);
	void		*arg;
};

/*
 * Bytes that a run takes besides the engine's plan.  Not counted are the decoded images of data.cache, and with
 * device_cache all images of data, which stay in memory until the first weights arrive.
 */
struct train_memory {
	uint64_t weights;	/* the worker's, those staged from servers, and those of a server in this process */
	uint64_t gradients;	/* the worker's, their sum over micro-batches, those of a server in this process */
	uint64_t optimizer;	/* its state, and the average of the weights */
	uint64_t checkpoint;	/* the copy that is written while the training goes on */
	uint64_t samples;	/* prepared ahead, for training and validation */
};

/*
 * Identifies a run for its cuts, by their name and by what a position within an epoch depends on: the net, the
 * optimizer, the seed, the micro-batches of a step and the number of records.
 */
uint64_t train_run_id(const struct train_opt *o);

/* The bytes of the optimizer in a worker that outlive it, after worker_residuals_size() bytes in kept.rest. */
size_t	 train_local_size(const struct train_opt *o);

/* The most samples of a micro-batch of this worker: with `balance` more than data.batch. */
uint32_t train_largest_batch(const struct train_opt *o);

/* Computes the memory of a run from its options, and returns the sum. */
uint64_t train_memory(const struct train_opt *opt, struct train_memory *m);

/*
 * Trains until the epochs or steps are done or a stop is requested.  Returns 0, ERR_STOP after an orderly stop, or the
 * first error: of the options (ERR_ARG), a file, the engine, or the job (ERR_PEER, ERR_AUTH).
 */
int	 train_run(const struct train_opt *opt);

#endif
