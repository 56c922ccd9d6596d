/* train_best - the best epoch by its validation, and the end of a run that does not get better. */
#include "ps/train_in.h"
#include "base/err.h"

/*
 * Worker 0 judges, since it alone has read what a checkpoint says of earlier epochs; in a synchronous job all hear it and
 * end after the same epoch, else the servers tell the others.
 */
int
train_rate(struct train *t, uint64_t epoch, double accuracy)
{
	const struct train_opt *o = t->o;
	bool judges = o->ps.rank == 0 && (o->best || o->patience > 0), better = t->best_epoch == 0 || accuracy > t->best;
	double over = 0;
	int e = 0;

	if (judges && better) {
		t->best = accuracy;
		t->best_epoch = epoch + 1;
		t->is_best = true;
		train_tell(t, &(struct train_event){ .kind = TRAIN_BEST, .epoch = epoch, .accuracy = accuracy });
	} else if (judges && o->patience > 0 && epoch + 1 - t->best_epoch >= o->patience) {
		over = 1;
		train_tell(t, &(struct train_event){ .kind = TRAIN_EARLY, .epoch = t->best_epoch - 1, .accuracy = t->best,
		    .samples = o->patience });
	}
	if (o->patience == 0)
		return 0;
	e = t->sync ? worker_sum(t->wk, &over, 1) : over > 0 ? worker_stop(t->wk) : 0;
	return e < 0 ? e : over > 0 ? ERR_STOP : 0;
}
