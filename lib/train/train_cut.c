/* train_cut - when a run makes cuts, and what is in them: serves train. */
#include "train/train_in.h"
#include "base/err.h"
#include "base/clk.h"
#include "base/hash.h"
#include "record/recs.h"
#include "train/cut.h"

#include <string.h>

#define LOOK	8	/* steps that are measured before the first cut is planned */
#define LEAST_S	30.0	/* least time between two cuts */
#define SHARE	100	/* a cut may cost one step in so many */

uint64_t
train_run_id(const struct train_opt *o)
{
	const uint64_t of[] = { graph_hash(o->ps.graph), o->ps.hyper.rule, o->ps.hyper.average.kind, o->seed,
	    (uint64_t)o->accumulate * train_sharers(o), o->batches == NULL ? o->data.batch : 0,
	    o->data.recs != NULL ? o->data.recs->count : 0 };
	const char *slash = o->cuts != NULL ? strrchr(o->cuts, '/') : NULL, *name = slash != NULL ? slash + 1 : o->cuts;
	uint64_t hash = hash_update(HASH_START, of, sizeof(of));

	if (name != NULL)
		hash = hash_update(hash, name, strlen(name));
	if (o->data.drop_last)
		hash = hash_update(hash, &o->data.drop_last, sizeof(o->data.drop_last));
	if (o->local)
		hash = hash_update(hash, &o->local_hyper.rule, sizeof(o->local_hyper.rule));
	return o->batches == NULL ? hash : hash_update(hash, o->batches, o->ps.nworkers * sizeof(*o->batches));
}

uint64_t
train_first_cut(const struct train *t)
{
	if (t->writer == NULL || t->o->ps.rank > 0 || t->o->cuts == NULL || t->o->no_cuts || t->stream)
		return 0;
	return t->o->cut > 0 ? t->o->cut - t->step % t->o->cut : LOOK;
}

void
train_drop_cuts(struct train *t)
{
	const uint32_t most = t->o->from_cut || t->o->cut_copies > 0 ? CUT_KEPT : 0;

	if (t->writer != NULL && t->o->cuts != NULL && err_wrap(cut_prune(t->o->cuts, train_run_id(t->o),
	    t->step / t->steps, t->step % t->steps, most), "cannot remove an older cut") < 0)
		train_tell_untidy(t);
}

void
train_end_cuts(struct train *t)
{
	double saved = t->saved;

	/* Copies are needed until worker 0 has written the last checkpoint. */
	if (t->o->cut_copies > 0 && train_sum(t, TRAIN_ENDS, &saved, 1) < 0)
		return;
	if (t->writer != NULL && t->o->cuts != NULL && saved > 0)
		cut_prune(t->o->cuts, train_run_id(t->o), 0, 0, 0);	/* what stays is older than the checkpoint */
}

/*
 * Steps to the next cut.  Before a cut was measured its cost has a bound: a step takes at least as long as the transfer
 * of all weights, and a cut transfers state and average once.
 */
static uint64_t
plan_next_cut(const struct train *t)
{
	const struct train_cuts *c = &t->cuts;
	double step_s, interval_s;
	uint64_t n = t->step - c->from;

	if (t->o->cut > 0)
		return t->o->cut;
	if (n == 0)
		return LOOK;
	step_s = (clk_s() - c->from_s) / (double)n;
	interval_s = SHARE * (c->collect_s > 0 ? c->collect_s + checkpoint_seconds(t->writer) :
	    (opt_states(t->o->ps.hyper.rule) + 1 + (t->average != NULL)) * step_s);
	return 1 + (uint64_t)(fmax(interval_s, LEAST_S) / fmax(step_s, 1e-6));
}

/*
 * All workers of a synchronous job are at the cut.  Worker 0 plans the next one for all, and tells what only it knows.
 * Sets v to the sums of the epoch.
 */
static int
agree_on_cut(struct train *t, double v[4])
{
	bool plans = t->o->ps.rank == 0 && t->writer != NULL;
	double all[7] = { v[0], v[1], v[2], v[3], plans ? (double)plan_next_cut(t) : 0, plans ? t->best : 0,
	    plans ? (double)t->best_epoch : 0 };

	if (t->sync) {
		ERR_TRY(train_sum(t, TRAIN_CUTS, all, 7));
		t->best = all[5];
		t->best_epoch = (uint64_t)all[6];
	}
	memcpy(v, all, 4 * sizeof(*v));
	t->cuts.next = t->step + (uint64_t)all[4];
	return 0;
}

/* Before the step's first gradient.  In a job that is not synchronous, the others go on meanwhile. */
int
train_cut(struct train *t)
{
	struct train_cuts *c = &t->cuts;
	double v[4] = { t->epoch.loss, t->epoch.correct, t->epoch.top5, t->epoch.samples }, from;
	bool looks = t->o->cut == 0 && c->next == t->first + LOOK;
	int e;

	if (c->from_s <= 0) {
		c->from_s = clk_s();
		c->from = t->step;
	}
	if (c->next == 0 || t->step < c->next)
		return 0;
	ERR_TRY(agree_on_cut(t, v));
	/* Between two epochs worker 0 writes a checkpoint. */
	if (t->writer == NULL || looks || (t->step % t->steps == 0 && t->o->ps.rank == 0))
		return 0;
	from = clk_s();
	e = train_save(t, CHECKPOINT_CUT, &(struct train_sums){ v[0], v[1], v[2], v[3] });
	c->collect_s = clk_s() - from;
	c->from_s = clk_s();
	c->from = t->step;
	return e;
}
