/* train_return - a worker's place in its job, which it keeps and its successor takes over: serves train. */
#include "train/train_in.h"
#include "base/err.h"

#include <inttypes.h>

int
train_sum(struct train *t, enum train_phase phase, double *v, uint32_t n)
{
	int e;

	if (kept_find_sum(t->kept, t->step, phase, v, n))
		return 0;
	if ((e = worker_sum(t->wk, phase, v, n)) == 0)
		kept_put_sum(t->kept, t->step, phase, v, n);
	return e;
}

bool
train_had_sum(const struct train *t, enum train_phase phase)
{
	return kept_find_sum(t->kept, t->step, phase, NULL, 0);
}

static struct kept_place
get_place(const struct train *t, const struct train_sums *sums)
{
	return (struct kept_place){ sums->loss, sums->correct, sums->top5, sums->samples, t->best, t->best_epoch,
	    t->cuts.next, t->left_out };
}

int
train_join(struct train *t)
{
	struct kept_place p = get_place(t, &t->epoch), next;

	if (!t->returned) {
		t->first = t->step;
		kept_begin(t->kept, t->step, &p);
		return 0;
	}
	if (!kept_find(t->kept, t->step, &p))
		return err_fail(ERR_ARG, "the servers are at step %" PRIu64 ", which this worker never reached:"
		    " its state is another run's; remove it", t->step);
	t->epoch = (struct train_sums){ p.loss, p.correct, p.top5, p.samples };
	t->best = p.best;
	t->best_epoch = p.best_epoch;
	t->cuts.next = p.next_cut;
	t->left_out = p.left_out;
	/* Gradients were sent: the end of the epoch before is done, and its validation may have been the best. */
	if (t->step > t->first && t->step % t->steps == 0 && kept_find(t->kept, t->step + 1, &next)) {
		t->epoch = (struct train_sums){ 0 };
		t->left_out = 0;
		t->best = next.best;
		t->best_epoch = next.best_epoch;
	}
	return 0;
}

void
train_keep_step(struct train *t, const struct train_sums *sums)
{
	const struct train_sums all = { t->epoch.loss + sums->loss, t->epoch.correct + sums->correct,
	    t->epoch.top5 + sums->top5, t->epoch.samples + sums->samples };
	const struct kept_place p = get_place(t, &all);

	if (t->kept == NULL)
		return;
	/*
	 * The servers go on after this step, so that a successor could not write the last checkpoint again.  It need
	 * not write a cut again.
	 */
	if (!t->writes_cut)
		train_saved(t, true);
	kept_put(t->kept, t->step + 1, &p);
}

bool
train_died_within(const struct train *t, uint64_t *epoch)
{
	struct kept_place next;

	if (!t->returned || t->step == t->first)
		return false;
	*epoch = (t->step - 1) / t->steps;
	return t->step % t->steps != 0 || !kept_find(t->kept, t->step + 1, &next);
}

int
train_part(struct train *t)
{
	struct worker_opt ps = t->o->ps;
	int e;

	ps.kept = ps.returns = ps.parting = true;
	ps.w = t->w;
	ps.aux = t->aux;
	ERR_TRY(worker_open(&ps, &t->wk));
	t->step = kept_last_told(t->kept);
	if ((e = worker_bye(t->wk)) == 0)
		train_tell(t, &(struct train_event){ .kind = TRAIN_END });
	return e;
}
