/*
 * train_open - all that one worker trains with: data, device, plan, memory, its connection, first weights: serves
 * train.
 */
#include "base/err.h"
#include "base/io.h"
#include "base/num.h"
#include "engine/split/split.h"
#include "ps/total.h"
#include "train/train_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
open_train_data(struct train *t, const char *path, struct recs *recs, bool train, struct batch_reader **r)
{
	const struct graph_node *x = &t->graph->node[0];
	struct batch_opt d = t->o->data;
	int e;

	d.batch = train_largest_batch(t->o);
	d.path = path;
	d.recs = recs;
	d.aug.c = x->c;
	d.aug.h = x->h;
	d.aug.w = x->w;
	d.aug.seed = t->o->seed;
	d.classes = t->graph->classes;
	d.targets = graph_targets(t->graph);
	d.unit_targets = t->graph->node[t->graph->n - 1].loss == GRAPH_LOSS_SIGMOID;
	if (train) {
		d.micros = t->o->accumulate * train_sharers(t->o);
		d.first_micro = t->o->accumulate * train_place(t->o);
		d.my_micros = t->o->accumulate;
		d.sizes = t->sizes;
		/* The servers of a job would miss the step. */
		d.stop = t->o->ps.nservers == 0 ? t->o->stop : NULL;
	} else {
		/* Synchronous workers share the validation; the others are in different epochs. */
		d.shuffle = d.drop_last = false;
		d.window = d.cache = 0;
		d.class_weight = NULL;
		d.weighted = false;
		d.class_of = t->o->val_class_of;
		d.labels = t->o->val_labels;
		d.aug = aug_plain(&d.aug);
		d.micros = t->sync ? t->o->ps.nworkers : 1;
		d.first_micro = t->sync ? t->o->ps.rank : 0;
		d.my_micros = 1;
		d.sizes = t->sync ? t->batches : NULL;
	}
	if ((e = batch_open(&d, r)) == 0)
		return 0;
	if (strstr(err_line(), path) == NULL)
		err_within("%s", path);
	return e;
}

static int
alloc_floats(size_t n, float **p)
{
	size_t bytes;
	int e = num_mul(n > 0 ? n : 1, sizeof(float), &bytes);

	if (e == 0 && (*p = calloc(1, bytes)) == NULL)
		e = err_nomem();
	return e;
}

/* The array whose gradients are sent, which servers on this host read where it is. */
static int
alloc_pushed(struct train *t, float **p)
{
	if (t->o->ps.nservers == 0 || t->o->ps.transport != CONN_AUTO)
		return alloc_floats(t->graph->P, p);
	ERR_TRY(loan_make((t->graph->P + 1) * sizeof(float), &t->lends));
	*p = t->lends.p;
	return 0;
}

static int
alloc_train(struct train *t)
{
	const struct graph *g = t->graph;
	const bool sums = t->o->accumulate > 1 || t->o->skip_nan || t->o->local;

	ERR_TRY(alloc_floats(g->P, &t->w));
	ERR_TRY(alloc_floats(g->A, &t->aux));
	ERR_TRY(alloc_floats(g->A, &t->stats));
	if (sums)
		ERR_TRY(alloc_floats(g->P, &t->g));
	ERR_TRY(alloc_pushed(t, sums ? &t->sum : &t->g));
	if (t->o->accumulate > 1)
		ERR_TRY(alloc_floats(g->A, &t->stats_sum));
	if (t->o->ps.hyper.average.kind != AVERAGE_NONE)
		ERR_TRY(alloc_floats(g->P + g->A, &t->average));
	if ((t->loaded = calloc(g->nw, sizeof(*t->loaded))) == NULL)
		return err_nomem();
	ERR_TRY(train_local_open(t));
	return train_open_batches(t);
}

/* Copies all images of the training data to the device. */
static int
fill_device_cache(struct train *t)
{
	size_t bytes;

	ERR_TRY(batch_device_cache(t->in, &t->images, &bytes));
	if (t->engine->accel == NULL)
		return err_fail(ERR_ARG, "%s: has no memory of its own for images", t->engine->name);
	return t->engine->accel->cache_images(t->dev, t->images, bytes);
}

void
train_report_wait(void *arg, const char *whom)
{
	train_tell(arg, &(struct train_event){ .kind = TRAIN_WAIT, .text = whom });
}

int
train_choose_starter(struct train *t, uint32_t *rank)
{
	const struct train_opt *o = t->o;
	double newest = 0;

	*rank = 0;
	for (uint32_t from = 0, n; o->cut_copies > 0 && from < o->ps.nworkers; from += n) {
		double at[TOTAL_MOST] = { 0 };

		n = o->ps.nworkers - from < TOTAL_MOST ? o->ps.nworkers - from : TOTAL_MOST;
		if (o->ps.rank - from < n && o->resumes_last && o->resume != NULL)
			at[o->ps.rank - from] = (double)o->resume_at.epoch * 0x1p32 + (double)o->resume_at.step + 1;
		ERR_TRY(worker_sum(t->wk, TRAIN_STARTS, at, n));
		for (uint32_t w = 0; w < n; w++)
			if (at[w] > newest) {
				newest = at[w];
				*rank = from + w;
			}
	}
	return 0;
}

static int
start_job(struct train *t, float *state, struct worker_first *first)
{
	char text[CHECKPOINT_PATH + 64];

	snprintf(text, sizeof(text), "resumes from %s", t->o->resume != NULL ? t->o->resume :
	    "the beginning: there is no checkpoint yet");
	if (t->o->resumes_last)
		train_tell(t, &(struct train_event){ .kind = TRAIN_REMARK, .text = text });
	return train_first(t, state, first, &t->step);
}

static int
join_job(struct train *t)
{
	struct worker_opt ps = t->o->ps;
	struct worker_first first = { 0 };
	uint32_t starter = 0;
	float *state = NULL;
	int e;

	ps.w = t->w;
	ps.aux = t->aux;
	ps.lends = t->lends.p != NULL ? &t->lends : NULL;
	ps.engine = t->engine;
	/* Gradients are to be seen before weights change. */
	ps.plan = t->o->skip_nan || t->o->local ? NULL : t->plan;
	ps.accumulate = t->o->accumulate > 1;
	ps.kept = t->kept != NULL;
	if (t->kept != NULL) {
		ps.residuals = t->kept->rest;
		ps.memory = t->kept->memory;
	}
	ps.returns = t->returned = kept_began(t->kept, &t->first);
	ps.stop = t->o->stop;
	ps.waiting = train_report_wait;
	ps.arg = t;
	ERR_TRY(worker_open(&ps, &t->wk));
	if (t->o->connected != NULL)
		t->o->connected(t->wk);
	if (!t->returned)
		ERR_TRY(train_choose_starter(t, &starter));
	if (ps.rank == starter && !t->returned &&
	    ((e = alloc_floats(t->graph->P * opt_states(ps.hyper.rule), &state)) < 0 ||
	    (e = start_job(t, state, &first)) < 0)) {
		free(state);
		return e;
	}
	first.starter = starter;
	e = worker_begin(t->wk, &first, &t->step);
	free(state);
	if (e < 0 || (e = train_join(t)) < 0)
		return e;
	train_join_batches(t);
	/* The others have compared options with the predecessor's, which were the same. */
	e = t->step == t->first ? train_agree(t) : 0;
	if (e == 0 && !t->returned)
		train_drop_cuts(t);
	return e;
}

/* Checks that checkpoints can be written. */
static int
check_save(const char *prefix)
{
	struct io_new f;
	int e = io_create(&f, prefix);

	if (e < 0)
		err_within("%s", prefix);
	else
		io_abandon(&f);
	return e;
}

/* Fails now, not after the first epoch.  A worker that was started again goes on, as its predecessor would have. */
int
train_open_writer(struct train *t)
{
	const bool copies = train_copies_cuts(t->o);
	uint64_t step;
	int e;

	if (t->o->save == NULL || (t->o->ps.rank != 0 && !copies))
		return 0;
	if (!kept_began(t->kept, &step) && ((!copies && (e = check_save(t->o->save)) < 0) ||
	    (t->o->cuts != NULL && !t->o->no_cuts && (e = check_save(t->o->cuts)) < 0)))
		return e;
	return checkpoint_open(&(struct checkpoint_opt){ .prefix = copies ? t->o->cuts : t->o->save, .graph = t->graph,
	    .rule = t->o->ps.hyper.rule, .state = !t->o->local, .average = t->average != NULL,
	    .mean_image = t->o->data.aug.mean, .trace = t->trace, .most = t->o->keep, .cuts = t->o->cuts,
	    .run = train_run_id(t->o) }, &t->writer);
}

/* Opens the device and the plan before anything else allocates, so that a plan that does not fit fails at once. */
static int
open_train_plan(struct train *t)
{
	const struct train_opt *o = t->o;
	struct train_memory m;
	const char *remark;

	ERR_TRY(split_open(o->devices, o->threads, &t->engine, &t->dev));
	if ((remark = split_remark(t->engine, t->dev)) != NULL)
		train_tell(t, &(struct train_event){ .kind = TRAIN_REMARK, .text = remark });
	engine_tune(t->engine, t->dev, &o->tune);
	return engine_plan(t->engine, t->dev, t->graph, train_largest_batch(o), o->precision,
	    train_memory(o, &m), &t->plan);
}

/* Where the optimizer runs, if the engine has one of its own. */
static const char *
describe_optimizer(const struct train *t)
{
	if (t->o->ps.nservers > 0 || t->engine->device_opt == NULL)
		return "";
	return worker_device_opt(t->wk) ? ", optimizer there" : ", optimizer on the host";
}

int
train_open(struct train *t)
{
	const struct engine *en;
	struct split_place place[SPLIT_MOST];
	struct buf text = { 0 };
	uint64_t epoch;
	int e;

	if ((e = open_train_plan(t)) < 0 || (e = alloc_train(t)) < 0 ||
	    (e = open_train_data(t, t->o->data.path, t->o->data.recs, true, &t->in)) < 0 ||
	    (t->o->val != NULL && (e = open_train_data(t, t->o->val, t->o->val_recs, false, &t->val)) < 0) ||
	    (e = train_open_writer(t)) < 0)
		return e;
	t->stream = batch_steps(t->in) == 0;
	/* More steps than any pipe has.  UINT32_MAX epochs, the most of a checkpoint, have fewer than 2^64. */
	t->steps = t->stream ? UINT64_C(1) << 31 : batch_steps(t->in);
	if (t->stream && t->o->ps.backup > 0)
		return err_fail(ERR_ARG, "%s: backup workers need records that do not come from a pipe",
		    t->o->data.path);
	if (t->stream && t->o->balance != NULL)
		return err_fail(ERR_ARG, "%s: --balance needs records that do not come from a pipe", t->o->data.path);
	if (t->stream && t->o->ps.hyper.average.kind == AVERAGE_SWA)
		return err_fail(ERR_ARG,
		    "%s: a pipe has no epochs, which --swa needs",
		    t->o->data.path);
	if (t->stream && sched_within(&t->o->sched))
		return err_fail(ERR_ARG,
		    "%s: a pipe has no epochs, which this --lr needs",
		    t->o->data.path);
	if (t->stream && t->elastic)
		return err_fail(ERR_ARG, "%s: a pipe cannot be divided among workers whose number changes",
		    t->o->data.path);
	en = t->engine;
	if ((t->o->device_cache && (e = fill_device_cache(t)) < 0) || (t->val != NULL &&
	    (e = tta_open(&t->o->views, en, t->plan, t->graph, train_largest_batch(t->o), &t->tta)) < 0))
		return e;
	if (t->o->ps.nservers > 0 && (t->traffic = calloc(t->o->ps.nservers, sizeof(*t->traffic))) == NULL)
		return err_nomem();
	ERR_TRY(train_check_settings(t));
	ERR_TRY(join_job(t));
	ERR_TRY(train_open_settings(t));
	ERR_TRY(en->load_aux(t->plan, t->aux));
	free(t->images);
	t->images = NULL;
	if ((e = en->describe(t->dev, &text)) == 0 &&
	    (e = buf_put_fmt(&text, ", %s%s%s%s", engine_precision_name(t->o->precision),
	    t->o->tune.deterministic ? ", deterministic" : "", t->o->tune.measure ? ", autotune" : "",
	    describe_optimizer(t))) == 0 &&
	    (e = buf_terminate(&text)) == 0)
		train_tell(t, &(struct train_event){ .kind = TRAIN_START, .epoch = t->step / t->steps,
		    .again = t->returned, .samples = batch_records(t->in), .batch = batch_steps(t->in),
		    .text = (char *)text.p, .place = place, .places = split_places(en, t->dev, place) });
	buf_free(&text);
	if (e < 0 || (!t->returned && (e = train_tell_batches(t, false)) < 0))
		return e;
	return worker_epoch(t->wk, train_died_within(t, &epoch) ? epoch : t->step / t->steps);
}

void
train_close(struct train *t)
{
	checkpoint_close(t->writer);
	if (t->o->connected != NULL)
		t->o->connected(NULL);
	worker_close(t->wk);
	tta_close(t->tta);
	t->engine->plan_free(t->plan);
	t->engine->close(t->dev);
	batch_close(t->in);
	batch_close(t->val);
	free(t->w);
	free(t->aux);
	free(t->average);
	free(t->g != t->lends.p ? t->g : NULL);
	free(t->sum != t->lends.p ? t->sum : NULL);
	loan_free(&t->lends);
	train_local_close(t);
	free(t->stats);
	free(t->stats_sum);
	free(t->loaded);
	free(t->batches);
	free(t->sizes);
	free(t->images);
	free(t->traffic);
}
