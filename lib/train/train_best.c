/* train_best - the best epoch by validation, and early stopping. */
#include "train/train_in.h"
#include "base/err.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

/* Whether the best of n epochs is at least `patience` epochs ago. */
static bool
is_patience_spent(const struct train *t, uint64_t n)
{
	return t->o->ps.rank == 0 && t->o->patience > 0 && t->best_epoch > 0 && n > t->best_epoch &&
	    n - t->best_epoch >= t->o->patience;
}

/* Ends the run for all workers. */
static int
agree_on_end(struct train *t, enum train_phase phase, bool over)
{
	double sum = over;
	int e;

	if (over)
		train_tell(t, &(struct train_event){ .kind = TRAIN_EARLY, .epoch = t->best_epoch - 1,
		    .accuracy = t->best, .samples = t->o->patience });
	e = t->sync ? train_sum(t, phase, &sum, 1) : over ? worker_stop(t->wk) : 0;
	return e < 0 ? e : sum > 0 ? ERR_STOP : 0;
}

/*
 * Whether the file of --best has a worse epoch, or is missing: the best one could not be written, or is with the
 * checkpoints of another prefix.
 */
static bool
is_better_than_file(struct train *t, double accuracy)
{
	const char *path = checkpoint_best(t->writer);
	double best;

	train_saved(t, true);
	if (access(path, F_OK) < 0)
		return errno == ENOENT;
	return train_read_best(path, &best) == 0 && accuracy > best;
}

/*
 * Worker 0 decides, since it alone has read the best result of earlier epochs from the checkpoint.  In a synchronous
 * job a sum tells the others, so that all end after the same epoch; else the servers tell them.
 */
int
train_record_validation(struct train *t, uint64_t epoch, double accuracy)
{
	const struct train_opt *o = t->o;
	bool decides = o->ps.rank == 0 && (o->best || o->patience > 0);

	t->accuracy = accuracy;
	/* The loss of values may be NaN or infinite. */
	if (decides && isfinite(accuracy) && (t->best_epoch == 0 || accuracy > t->best)) {
		t->best = accuracy;
		t->best_epoch = epoch + 1;
		t->is_best = true;
		train_tell(t, &(struct train_event){ .kind = TRAIN_BEST, .epoch = epoch, .accuracy = accuracy });
	} else if (decides && isfinite(accuracy) && o->best && is_better_than_file(t, accuracy)) {
		t->is_best = true;
		train_tell(t, &(struct train_event){ .kind = TRAIN_BEST, .epoch = epoch, .accuracy = accuracy,
		    .text = checkpoint_best(t->writer) });
	}
	return o->patience > 0 ? agree_on_end(t, TRAIN_RATES, is_patience_spent(t, epoch + 1)) : 0;
}

int
train_patience_spent(struct train *t)
{
	return t->o->patience > 0 ? agree_on_end(t, TRAIN_MAY_GO_ON, t->step % t->steps == 0 &&
	    is_patience_spent(t, t->step / t->steps)) : 0;
}
