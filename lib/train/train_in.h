/* train_in - what the files of train share: the state of one worker's run. */
#ifndef TRAIN_TRAIN_IN_H
#define TRAIN_TRAIN_IN_H

#include "train/checkpoint.h"
#include "train/train.h"

#include <math.h>

/* Sums over samples. */
struct train_sums {
	double loss, correct, top5, samples;
};

struct train {
	const struct train_opt *o;
	const struct graph *graph;
	const struct engine *engine;
	struct engine_dev *dev;
	struct engine_plan *plan;
	struct worker	*wk;
	struct batch_reader *in, *val;
	struct tta	*views;		/* of validation, or NULL */
	uint8_t		*pictures;	/* that the device holds, until the first weights are there; or NULL */
	uint32_t	*sizes;		/* [pieces] for the readers, where batches differ; else NULL */
	float		*w, *aux;	/* [P], [A]: the job's, filled by wk */
	float		*g, *sum;	/* [P]: a piece's gradient; the sum over pieces when accumulating */
	float		*stats, *stats_sum;	/* [A] likewise */
	float		*into;		/* where backward() writes now: g or sum */
	bool		 add;		/* g is to be added to sum before it is pushed */
	bool		 push;		/* this backward() is the step's last: arrays leave as they are born */
	uint32_t	 bad_array;	/* whose gradient has what is no number; UINT32_MAX: none */
	uint64_t	*loaded;	/* [nw] 1 + the step whose weights the plan holds; 0: none */
	uint64_t	 steps;		/* of an epoch; of a stream's, more than there are */
	bool		 stream;	/* the records come in one, whose end nobody knows ... */
	bool		 over;		/* ... until it is there */
	uint64_t	 step;		/* done so far */
	bool		 sync;
	float		*average;	/* [P + A], NULL where the job has none */
	uint32_t	 averaged;	/* ... of so many weights */
	struct peer_traffic	*traffic;		/* [nservers], NULL without servers */
	struct checkpoint	*keep;		/* where this worker writes checkpoints, or NULL */
	struct trace	*trace;		/* NULL: none */
	bool		 watched;	/* the device tells the trace what it does */
	uint32_t	 layer;		/* of the trace: the node that runs ... */
	uint64_t	 layer_from;	/* ... since then; 0: none */
	double		 best;		/* validation's accuracy, of worker 0's */
	bool		 is_best;	/* the checkpoint that comes next */
	uint64_t	 best_epoch;	/* from 1; 0: none yet */
	struct train_sums epoch;	/* of this epoch so far, this worker's */
};

/* A loss on a grid of 2^-20, so that sums of up to 2^33 are exact and their order changes no bit. */
static inline double
train_loss(double loss)
{
	return rint(loss * 0x1p20) * 0x1p-20;
}

/* Opens all that a run needs and gets its first weights, then tells TRAIN_START.  train_close() follows, after an error too. */
int	train_open(struct train *t);
void	train_close(struct train *t);
/*
 * Synchronous workers whose options or records differ would wait for each other
 * for ever, or read other records than they should: all must say the same.
 */
int	train_agree(struct train *t);
/* The learning rate of a step. */
float	train_lr(const struct train *t, uint64_t step);
/* One step.  1, 0 when the epoch has no more, ERR_STOP when the job ended before it, or an error. */
int	train_step(struct train *t, struct train_sums *seen);
/* Batches from here in an epoch. */
int	train_start(struct train *t, uint64_t epoch);
/* Waits for all weights and loads those the plan does not hold. */
int	train_load_all(struct train *t);
/* Fills w, aux, average, state [P, states], *first and step from the checkpoint or by the rule. */
int	train_first(struct train *t, float *state, struct worker_first *first, uint64_t *step);
int	train_save(struct train *t);
/* Tells what was written since; wait: of all.  Returns 0, or what writing came to. */
int	train_saved(struct train *t, bool wait);
/*
 * Looks for NaN and infinity in the loss of a batch; draw is what it went forward with.  Returns 0 when there is none; 1 when
 * the batch is to be left out, which is told; or ERR_FORMAT, and the line says the step, the first layer whose output has
 * them, where the engine can tell, and whether the weights have them, too.
 */
int	train_check_loss(struct train *t, const struct batch *b, const struct engine_draw *draw, double loss);
/* Whether array a's gradient in g has neither; if it has, train_bad_gradient() returns 1 or ERR_FORMAT as above. */
bool	train_gradient_finite(struct train *t, uint32_t a, const float *g);
int	train_bad_gradient(struct train *t, const struct batch *b, const struct engine_draw *draw);
/*
 * The same in what is to be judged or kept: w and aux after worker_read(), and state [P, states] and average [P + A] unless
 * NULL.  A loss does not tell of all: an engine's ReLU may make 0 of what is no number.  Returns 0, or ERR_FORMAT and the
 * line says the step and the arrays.
 */
int	train_check_weights(const struct train *t, const float *state, const float *average);
int	train_check_array(const struct train *t, uint32_t a);	/* of one array of w, after worker_need() */
/* After a validation: keeps the best.  Returns 0, ERR_STOP when patience is at its end, or an error. */
int	train_rate(struct train *t, uint64_t epoch, double accuracy);
/* Before the first step, in all workers: ERR_STOP when the run that is resumed had come to that end. */
int	train_spent(struct train *t);
/* All pictures of its data to the device, which has the plan's memory already. */
int	train_hold(struct train *t);
void	train_tell(struct train *t, struct train_event *ev);

#endif
