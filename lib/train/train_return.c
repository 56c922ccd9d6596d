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
	if ((e = t->sync ? worker_sum(t->wk, phase, v, n) : 0) == 0)
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

/*
 * The job has gone on without the predecessor, which the servers of an asynchronous job took for lost, or which backup
 * workers replaced.
 */
static void
skip_missed(const struct train *t, uint64_t newest, struct kept_place *p)
{
	const uint64_t last = newest > 0 ? newest - 1 : 0;	/* the last step of these figures */

	if (last / t->steps != t->step / t->steps)
		p->loss = p->correct = p->top5 = p->samples = p->left_out = 0;
}

/*
 * The predecessor sent gradients of the batch before `newest`, the next one that it had: it had made the cuts before
 * that, and the end of the epoch before is done, whose validation may have been the best.
 */
static void
skip_done(struct train *t, uint64_t newest, const struct kept_place *next)
{
	const bool other_epoch = t->step > t->first && (newest - 1) / t->steps > (t->step - 1) / t->steps;

	t->step = newest - 1;
	t->begun = newest;
	t->cuts.next = next->next_cut;
	if (!other_epoch)
		return;
	t->epoch = (struct train_sums){ 0 };
	t->left_out = 0;
	t->best = next->best;
	t->best_epoch = next->best_epoch;
}

int
train_join(struct train *t)
{
	struct kept_place p = get_place(t, &t->epoch), next = p;
	uint64_t newest = 0;

	if (!t->returned) {
		t->first = t->step;
		kept_begin(t->kept, t->step, &p);
		return 0;
	}
	kept_newest(t->kept, &newest, &next);
	if (!kept_find(t->kept, t->step, &p)) {
		if ((t->sync && t->o->ps.backup == 0) || newest > t->step)
			return err_fail(ERR_ARG, "the servers are at step %" PRIu64 ", which this worker never reached:"
			    " its state is another run's; remove it", t->step);
		p = next;
		skip_missed(t, newest, &p);
		kept_put(t->kept, t->step, &p);
	}
	t->epoch = (struct train_sums){ p.loss, p.correct, p.top5, p.samples };
	t->best = p.best;
	t->best_epoch = p.best_epoch;
	t->cuts.next = p.next_cut;
	t->left_out = p.left_out;
	if (newest > t->step)
		skip_done(t, newest, &next);
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

void
train_keep_place(struct train *t)
{
	const struct kept_place p = get_place(t, &t->epoch);

	kept_put(t->kept, t->step, &p);
}

bool
train_died_within(const struct train *t, uint64_t *epoch)
{
	struct kept_place next;
	uint64_t newest;

	if (!t->returned || t->step == t->first)
		return false;
	*epoch = (t->step - 1) / t->steps;
	return t->step % t->steps != 0 || !kept_newest(t->kept, &newest, &next) || newest <= t->step;
}

int
train_part(struct train *t)
{
	struct worker_opt ps = t->o->ps;
	int e;

	ps.kept = ps.returns = ps.parting = true;
	ps.waiting = train_report_wait;
	ps.arg = t;
	ps.w = t->w;
	ps.aux = t->aux;
	ERR_TRY(worker_open(&ps, &t->wk));
	t->step = kept_last_told(t->kept);
	if ((e = worker_bye(t->wk)) == 0)
		train_tell(t, &(struct train_event){ .kind = TRAIN_END });
	return e;
}
