/* job_cut - the checkpoints and cuts of a worker in simulated time, which lib/train makes and finds: serves job. */
#include "law/job_in.h"
#include "law/sim/disk.h"

#include "train/cut.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT	2u	/* checkpoints that stay */

/* A manifest is written after its cut is on disk, so that no cut with a manifest may be refused. */
static struct job *finds;

static void
check_refused(const char *why)
{
	sim_log("refuses %s", why);
	if (strstr(why, "was not completed") == NULL && strstr(why, "is gone") == NULL &&
	    strstr(why, "is of a run with another") == NULL)
		world_fault(&finds->x, why);
}

static void
handle_event(void *arg, const struct train_event *ev)
{
	struct job *j = arg;

	if ((ev->kind == TRAIN_UNSAVED || ev->kind == TRAIN_NO_CUT) && disk_met(DISK_FULL) + disk_met(DISK_FLUSH) == 0)
		world_fault(&j->x, ev->text);
	if (ev->kind == TRAIN_SAVE || ev->kind == TRAIN_UNSAVED || ev->kind == TRAIN_NO_CUT || ev->kind == TRAIN_REMARK)
		sim_log("%s: %s", ev->kind == TRAIN_SAVE ? "saved" : ev->kind == TRAIN_REMARK ? "remark" : "not saved",
		    ev->text);
}

/* As --resume-last of pworker. */
static int
find_newest(struct job_life *l)
{
	struct train_opt *o = &l->o;
	int e;

	if (l->returned || (o->ps.rank > 0 && o->cut_copies == 0))
		return 0;
	finds = l->p->job;
	if ((e = cut_find(o->save, o->cuts, train_run_id(o), check_refused, &o->resume_at, &l->found)) < 0)
		return e;
	o->resume = l->found;
	o->from_cut = e == 2;
	return 0;
}

void
job_cut_leave(struct job *j, uint32_t host)
{
	const struct cut_manifest m = { .run = rng_u64(sim_chance()), .epoch = JOB_OTHER_EPOCH, .step = 1 };
	char save[DISK_PATH + 8], *cuts, *path;
	FILE *f;

	disk_folder(host, save);
	strcat(save, "/r");
	if ((cuts = cut_prefix(save, NULL)) == NULL ||
	    (path = checkpoint_path(cuts, &(struct checkpoint_name){ m.epoch, m.step })) == NULL ||
	    (f = fopen(path, "w")) == NULL || fprintf(f, "of seed %" PRIu64, j->x.seed) < 0 || fclose(f) != 0 ||
	    cut_seal(path, &m) < 0)
		abort();
	free(cuts);
	free(path);
}

int
job_cut_open(struct job_life *l)
{
	struct job *j = l->p->job;
	int e;

	disk_folder(l->p->host, l->save);
	strcat(l->save, "/r");
	if ((l->cuts = cut_prefix(l->save, NULL)) == NULL)
		return ERR_NOMEM;
	l->o.save = l->save;
	l->o.keep = KEPT;
	l->o.cuts = l->cuts;
	l->o.cut = j->cut;
	l->o.cut_copies = j->copies;
	l->o.resumes_last = true;
	l->o.event = handle_event;
	l->o.arg = j;
	if (l->o.ps.hyper.average.kind != AVERAGE_NONE)
		l->t.average = world_floats(j->x.graph->P + j->x.graph->A);
	/* A job that cannot save from the start is refused. */
	disk_spare(true);
	e = train_open_writer(&l->t);
	disk_spare(false);
	return e < 0 ? e : find_newest(l);
}

void
job_cut_close(struct job_life *l)
{
	checkpoint_close(l->t.writer);
	free(l->t.average);
	free(l->cuts);
	free(l->found);
}

int
job_cut_first(struct job_life *l, struct worker_first *first)
{
	uint32_t starter = 0;

	if (l->returned)
		return 0;
	ERR_TRY(train_choose_starter(&l->t, &starter));
	if (l->p->index == starter && l->o.resume != NULL)
		ERR_TRY(train_first(&l->t, l->state, first, &l->step));
	else if (l->p->index == starter)
		world_first(l->x, l->p->w, l->p->aux, l->state);
	first->starter = starter;
	return 0;
}

int
job_cut_join(struct job_life *l)
{
	const struct job *j = l->p->job;
	double next;

	l->t.step = l->step;
	ERR_TRY(train_join(&l->t));
	l->first = l->t.first;
	l->running = l->t.epoch.loss;
	if (!l->returned && l->step != j->newest)
		return err_fail(ERR_FORMAT, "goes on from step %" PRIu64 ", and the newest cut is of step %" PRIu64,
		    l->step, j->newest);
	if (l->step > l->first)
		return 0;
	next = (double)train_first_cut(&l->t);
	ERR_TRY(train_sum(&l->t, TRAIN_AGREES, &next, 1));
	l->t.cuts.next = next > 0 ? l->step + (uint64_t)next : 0;
	if (!l->returned)
		train_drop_cuts(&l->t);
	return 0;
}

int
job_cut_step(struct job_life *l)
{
	l->t.step = l->step;
	l->t.epoch.loss = l->running;
	train_saved(&l->t, false);
	if (l->t.cuts.next == l->step && rng_below(sim_chance(), 2))
		job_fault_soon(l->p->job);
	return train_cut(&l->t);
}

void
job_cut_keep(struct job_life *l, double figure)
{
	train_keep_step(&l->t, &(struct train_sums){ .loss = figure });
}

int
job_cut_epoch(struct job_life *l)
{
	struct kept_place next;

	l->t.step = l->step;
	/* A predecessor sent gradients of the next step, so that this one is saved. */
	if (l->p->index > 0 || kept_find(&l->kept, l->step + 1, &next))
		return 0;
	return train_save(&l->t, CHECKPOINT_PLAIN, &(struct train_sums){ .loss = 0 });
}

int
job_cut_end(struct job_life *l)
{
	l->t.step = l->step;
	ERR_TRY(train_sum(&l->t, TRAIN_STOPS, &l->running, 1));
	if (l->p->index == 0)
		ERR_TRY(train_save(&l->t, CHECKPOINT_PLAIN, &(struct train_sums){ .loss = l->running }));
	train_saved(&l->t, true);
	train_end_cuts(&l->t);
	return 0;
}
