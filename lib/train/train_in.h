/* train_in - what the files of train share: the state of one worker's run. */
#ifndef TRAIN_TRAIN_IN_H
#define TRAIN_TRAIN_IN_H

#include "ps/shard_plan.h"
#include "train/checkpoint.h"
#include "ps/mailbox.h"
#include "train/kept.h"
#include "train/train.h"

#include <math.h>

/* Sums over samples. */
struct train_sums {
	double loss, correct, top5, samples;
};

/* When cuts are made: train_cut.c. */
struct train_cuts {
	uint64_t next;		/* the step before which this worker is at a cut; 0: there is none */
	double	 from_s;	/* worker 0: when it began to measure steps, and at which */
	uint64_t from;
	bool	 failed;	/* a cut could not be written, which was reported */
	double	 collect_s;	/* worker 0: the time that the last cut took from the step; 0: not known yet */
};

/* How the batches follow the speeds of the workers: train_balance.c. */
struct train_balance {
	uint64_t next;		/* the step before which the workers compare their times */
	uint32_t skip;		/* steps that are not measured yet */
	uint64_t steps;		/* steps that were measured, and their time */
	double	 all_s;
	double	 own_s, samples;	/* the same without waiting for others, and the samples of this worker */
};

/* A worker's own optimizer: train_local.c. */
struct train_local {
	struct shard_plan *plan;	/* its parameter groups */
	float		*start;		/* [P] weights at the start of the step */
	float		*state[2];	/* [P, states] before even and odd steps */
	float		*own;		/* the memory of state if nothing outlives the worker, else NULL */
	uint32_t	 updates;	/* within this step so far */
};

struct train {
	const struct train_opt *o;
	const struct graph *graph;
	const struct engine *engine;
	struct engine_dev *dev;
	struct engine_plan *plan;
	struct worker	*wk;
	struct batch_reader *in, *val;
	struct tta	*tta;		/* test-time augmentation in validation, or NULL */
	uint8_t		*images;	/* images for the device, until the first weights arrive; or NULL */
	uint32_t	*batches;	/* [workers] the batch of each now, if they differ or change; else NULL */
	uint32_t	*sizes;		/* [micro-batches of a step] their sizes by it; else NULL */
	struct train_balance balance;
	float		*w, *aux;	/* [P], [A] weights and statistics of the job, filled by wk */
	float		*g, *sum;	/* [P] gradient of a micro-batch; sum over micro-batches, or NULL */
	struct loan	 lends;		/* the one that is pushed, if servers of this host may read it */
	float		*stats, *stats_sum;	/* [A] statistics in the same way */
	float		*into;		/* destination of this backward(): g or sum */
	bool		 add;		/* g is added to sum before it is pushed */
	bool		 push;		/* this backward() is the step's last: final gradients are pushed at once */
	uint32_t	 bad_array;	/* array whose gradient is NaN or infinite; UINT32_MAX: none */
	uint64_t	*loaded;	/* [nw] 1 + the step whose weights the plan has; 0: none */
	uint64_t	 steps;		/* steps of an epoch; of a stream an upper bound */
	bool		 stream;	/* the records are a stream, whose length is not known */
	bool		 over;		/* the stream has ended */
	bool		 unread;	/* the records of the next step could not be read */
	uint64_t	 step;		/* steps done */
	struct train_local local;
	bool		 sync;		/* the job is synchronous */
	bool		 elastic;	/* its number of workers changes (ps/deal.h): steps are batches */
	uint32_t	 workers;	/* elastic: their number at this worker's last batch; 0: it had none yet */
	uint64_t	 reads;		/* elastic: the batch that `in` returns next; DEAL_NONE: none */
	float		*average;	/* [P + A], or NULL */
	uint32_t	 averaged;	/* number of weights in average */
	struct peer_traffic	*traffic;	/* [nservers], NULL without servers */
	struct checkpoint	*writer;	/* writer of checkpoints and cuts, or NULL */
	struct trace	*trace;		/* NULL: none */
	bool		 watched;	/* the device reports to the trace */
	bool		 kernels_told;	/* TRAIN_KERNELS was reported, with this many refused graphs */
	uint32_t	 refused;
	uint32_t	 layer;		/* node that the trace records now, since layer_from */
	uint64_t	 layer_from;	/* 0: none */
	double		 best;		/* worker 0: best accuracy of a validation */
	double		 accuracy;	/* accuracy of the last validation, or minus the loss without one */
	bool		 is_best;	/* the next checkpoint is the best that there is a file of */
	bool		 saved;		/* what was saved last is a checkpoint, not a cut, and it was written */
	bool		 writes_cut;	/* what was saved last is a cut */
	struct train_cuts cuts;
	uint64_t	 best_epoch;	/* from 1; 0: none yet */
	struct train_sums epoch;	/* sums of this worker in this epoch so far */
	uint64_t	 left_out;	/* its records that could not be used in this epoch so far */
	struct settings	 settings;	/* changes of settings that are known */
	struct settings	 resumed;	/* those of the checkpoint that the job goes on from */
	uint64_t	 settings_told;	/* how many of them were reported */
	uint64_t	 request;	/* id of the last change that was asked for; 0: none was */
	uint64_t	 joined;	/* step at which this process joined the job */
	struct kept	*kept;		/* what it leaves to its successor, or NULL */
	bool		 returned;	/* a predecessor had joined the job at step `first` */
	uint64_t	 first;		/* step at which this worker or its predecessor joined the job */
	uint64_t	 begun;		/* 1 + the step of which a predecessor sent gradients; 0: none */
};

/* The sums over workers, in the order of a step in which several fall. */
enum train_phase { TRAIN_STARTS, TRAIN_AGREES, TRAIN_MAY_GO_ON, TRAIN_HAS_RECORDS, TRAIN_ENDS_EPOCH, TRAIN_VALIDATES,
	TRAIN_RATES, TRAIN_ENDED, TRAIN_CUTS, TRAIN_BALANCES, TRAIN_STOPS, TRAIN_ENDS };

_Static_assert(TRAIN_ENDS < KEPT_PHASES && TRAIN_END < KEPT_KINDS, "kept has room for the sums and the events");

/* Rounds a loss to multiples of 2^-20: sums up to 2^33 are exact and do not depend on their order. */
static inline double
train_loss(double loss)
{
	return rint(loss * 0x1p20) * 0x1p-20;
}

/*
 * Opens all that a run needs, gets its first weights, and reports TRAIN_START.  Call train_close() even after an
 * error.
 */
int	train_open(struct train *t);
void	train_close(struct train *t);
/* For worker_opt.waiting, with the run as its argument: reports TRAIN_WAIT. */
void	train_report_wait(void *arg, const char *whom);
/* Opens the writer of checkpoints and cuts, if this worker writes any. */
int	train_open_writer(struct train *t);
/* Sets *rank to the worker that has the newest checkpoint or cut.  It alone reads it, and starts the job. */
int	train_choose_starter(struct train *t, uint32_t *rank);
/*
 * Checks that all workers of a synchronous job have the same options and records.  Otherwise they could wait for each
 * other for ever, or read the wrong records.  Sets cuts.next, which worker 0 decides, and
 * in a synchronous job the best epoch, which only the worker that read the checkpoint knows.
 */
int	train_agree(struct train *t);
/* The learning rate of a step. */
float	train_lr(const struct train *t, uint64_t step);
/* Runs one step.  Returns 1, 0 at the end of the epoch, ERR_STOP if the job ended before the step, or an error. */
int	train_step(struct train *t, struct train_sums *seen);
/*
 * Before a step of an elastic job: moves t->step to this worker's next batch in the epoch, or to the epoch's end.
 * Returns 1, 0 at the end, ERR_STOP if the worker has no batches any more, or an error.
 */
int	train_deal(struct train *t, uint64_t epoch);
/*
 * Before a step of a job with backup workers: moves t->step to that of the servers, if this worker is late.  Returns 1,
 * 0 at the end of the epoch, or an error.
 */
int	train_catch_up(struct train *t, uint64_t epoch);
/* Starts to read the batches of an epoch, from the current step on. */
void	train_start(struct train *t, uint64_t epoch);
/* Waits for all weights, and loads those that the plan does not have. */
int	train_load_all(struct train *t);
/* Sets w, aux, average, state [P, states], *first and *step from the checkpoint, or initializes them. */
int	train_first(struct train *t, float *state, struct worker_first *first, uint64_t *step);
/*
 * Starts to write a checkpoint with the running sums of the epoch.  Returns 0 or the error of collecting it;
 * train_saved() reports that of writing it.
 */
int	train_save(struct train *t, enum checkpoint_kind kind, const struct train_sums *sums);
/* Reports a checkpoint written since, or why it was not; wait: waits for the last one. */
void	train_saved(struct train *t, bool wait);
/* Reports err_line(): what could not be done after a checkpoint or cut was written. */
void	train_tell_untidy(struct train *t);
/* Reads the accuracy of the file of --best.  Returns 0, or an error of tensors_open() or num_f64(). */
int	train_read_best(const char *path, double *accuracy);
/*
 * Checks the loss of a batch for NaN and infinity; draw is that of its forward pass.  Returns 0 if it is finite, 1 if
 * the batch is left out, which it reports, or ERR_FORMAT.  The line names the step, the first layer whose output is
 * not finite, if the engine can find it, and says whether the weights are finite.
 */
int	train_check_loss(struct train *t, const struct batch *b, const struct engine_draw *draw, double loss);
/* Whether array a's gradient in g is finite.  If not, train_bad_gradient() returns 1 or ERR_FORMAT as above. */
bool	train_gradient_finite(struct train *t, uint32_t a, const float *g);
int	train_bad_gradient(struct train *t, const struct batch *b, const struct engine_draw *draw);
/*
 * Checks what is evaluated or saved: w and aux after worker_read(), and state [P, states] and average [P + A] unless
 * NULL.  The loss does not show all: a ReLU may turn NaN into 0.  Returns 0, or ERR_FORMAT with a line that names step
 * and arrays.
 */
int	train_check_weights(const struct train *t, const float *w, const float *state, const float *average);
int	train_check_array(const struct train *t, uint32_t a);	/* one array of w, after worker_need() */
/*
 * After a validation: remembers the best accuracy, or minus the loss without one.  Returns 0, ERR_STOP if patience has
 * run out, or an error.
 */
int	train_record_validation(struct train *t, uint64_t epoch, double accuracy);
/* Before the first step, in all workers: returns ERR_STOP if patience had run out in the run that is resumed. */
int	train_patience_spent(struct train *t);
void	train_tell(struct train *t, struct train_event *ev);	/* reports an event */
/* Counts the records of a batch that could not be used, and reports the first one. */
void	train_tell_bad(struct train *t, const struct batch *b, uint64_t *left_out);

/*
 * train_local.c, if the optimizer runs in the worker (train_opt.local).  A step of the job is `accumulate` updates of
 * t->w by it, one for each micro-batch.  What they change, times the samples, is pushed as a gradient, so that the
 * servers' sgd with rate 1 makes the weights the mean of all workers.
 */
int	 train_local_open(struct train *t);
void	 train_local_close(struct train *t);
int	 train_local_begin(struct train *t);			/* before the first micro-batch of a step */
void	 train_local_update(struct train *t, uint32_t n);	/* after a backward pass: t->g has n samples */
void	 train_local_end(struct train *t, double n);		/* sets t->sum; n: samples of the step */

/*
 * train_balance.c.  Opens the batches of the workers, if they differ or change; after train_join() they are those of
 * the current step.
 */
int	 train_open_batches(struct train *t);
void	 train_join_batches(struct train *t);
/* Reports the batches if they may change: at the start of a run, and each change. */
int	 train_tell_batches(struct train *t, bool change);
/*
 * Before a step of an epoch: changes the batches, if that is due.  Returns 1 if they change, 0 or an error.  Then all
 * samples from this step on are to be read again, as other workers have other parts of them.
 */
int	 train_balance(struct train *t);
/* After a step: its time, the part that was spent waiting for others, and this worker's samples. */
void	 train_count_time(struct train *t, double seconds, double waited_s, double samples);

/* train_set.c: checks the settings that are known from the start.  Before worker_begin() the device is not known. */
int	 train_check_settings(const struct train *t);
/* Takes over the changes of a checkpoint, for worker_begin().  Returns 0, ERR_FORMAT, or ERR_ARG as above. */
int	 train_resume_settings(struct train *t, const char *text, struct worker_first *first);
/* After it: checks and reports them. */
int	 train_open_settings(struct train *t);
/* Before a step: reports changes of settings, and handles a request for one. */
int	 train_change_settings(struct train *t);
/* Once the weights of a step are there: learns what holds in that step, for train_lr(). */
int	 train_learn_settings(struct train *t);

/* How many workers share a step, and which of them this one is. */
static inline uint32_t
train_sharers(const struct train_opt *o)
{
	return o->ps.elastic > 0 ? 1 : o->ps.nworkers;
}

static inline uint32_t
train_place(const struct train_opt *o)
{
	return o->ps.elastic > 0 ? 0 : o->ps.rank;
}

/* Whether this worker makes cuts but no checkpoints, as a copy on its own disk of those of worker 0. */
static inline bool
train_copies_cuts(const struct train_opt *o)
{
	return o->ps.rank > 0 && o->ps.rank <= o->cut_copies && o->cuts != NULL && !o->no_cuts;
}

/* train_cut.c: steps from this one to the first cut, which worker 0 decides for all; 0: it makes none. */
uint64_t train_first_cut(const struct train *t);
/* Before the first step: removes cuts that the run does not go on from. */
void	train_drop_cuts(struct train *t);
/* Before a step: makes a cut if it is due. */
int	train_cut(struct train *t);
/* At the end of a run: removes its cuts if its last checkpoint is written. */
void	train_end_cuts(struct train *t);

/*
 * train_return.c: the sum over all workers of a synchronous job, or this worker's own figures, which are kept.  If a
 * predecessor had them, they are those.  n <= KEPT_NUMBERS.
 */
int	train_sum(struct train *t, enum train_phase phase, double *v, uint32_t n);
/* Whether a predecessor had them. */
bool	train_had_sum(const struct train *t, enum train_phase phase);
/*
 * After worker_begin(): keeps the place in the job, or takes over the predecessor's.  Returns 0 or ERR_ARG (it is that
 * of another run).
 */
int	train_join(struct train *t);
/* Before the first gradient of a step whose figures with this step are `sums`: keeps them. */
void	train_keep_step(struct train *t, const struct train_sums *sums);
/* The steps before this one were left out: keeps the figures of the epoch so far. */
void	train_keep_place(struct train *t);
/* Whether a predecessor died in this epoch, or at its end before all was done. */
bool	train_died_within(const struct train *t, uint64_t *epoch);
/* Says goodbye for a predecessor that had nothing else left to do. */
int	train_part(struct train *t);

#endif
