/* train_save - saves a run as a checkpoint, and starts a run from a checkpoint or a file of weights. */
#include "train/preprocess.h"
#include "train/train_in.h"
#include "base/err.h"
#include "base/num.h"
#include "net/init.h"
#include "net/whiten.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE 32	/* bytes of a metadata value's text */
#define SETTINGS "settings"	/* changes of settings (ps/settings.h), if there are any */

/*
 * What a checkpoint says beside the tensors, in this order; the last four where there is such a thing.  The accuracy is
 * that of the best epoch of which there is a file, if that is not the best.
 */
enum { M_TALLY, M_EPOCH, M_BATCH_AT, M_SEED, M_BATCH, M_MICRO_BATCHES, M_LOSS, M_CORRECT, M_TOP5, M_SAMPLES, M_BEST,
	M_BEST_EPOCH, M_AVERAGE, M_AVERAGED, M_UPDATES, M_ACCURACY, METAS };
static const char *const meta_key[METAS] = {
	"tally", "epoch", "step_in_epoch", "seed", "batch", "pieces", "epoch_loss", "epoch_correct", "epoch_top5",
	"epoch_samples", "best_accuracy", "best_epoch", "average", "averaged", "updates",
	"accuracy",
};

static uint32_t
count_micro_batches(const struct train *t)
{
	return t->o->accumulate * train_sharers(t->o);
}

/* The batch of a micro-batch as the command line has it: "16", or "16:48" where workers differ. */
static int
put_batch(const struct train *t, struct buf *b)
{
	ERR_TRY(t->o->batches != NULL ? balance_put(b, t->o->batches, t->o->ps.nworkers) :
	    balance_put(b, &t->o->data.batch, 1));
	return buf_terminate(b);
}

/* A cut that nobody asked for may be missing. */
static void
tell_unsaved(struct train *t)
{
	char why[ERR_LINE];

	snprintf(why, sizeof(why), "%s", err_line());
	if (t->writes_cut) {
		if (!t->cuts.failed)
			train_tell(t, &(struct train_event){ .kind = TRAIN_NO_CUT, .text = why });
		t->cuts.failed = true;
		return;
	}
	kept_warn(t->kept, KEPT_UNSAVED);
	train_tell(t, &(struct train_event){ .kind = TRAIN_UNSAVED, .text = why });
}

void
train_tell_untidy(struct train *t)
{
	char why[ERR_LINE];

	snprintf(why, sizeof(why), "%s", err_line());
	train_tell(t, &(struct train_event){ .kind = TRAIN_UNTIDY, .text = why });
}

void
train_saved(struct train *t, bool wait)
{
	struct train_event ev = { .kind = TRAIN_SAVE };
	char path[CHECKPOINT_PATH];
	int e = 0;

	ev.text = path;
	while (t->writer != NULL && (e = checkpoint_done(t->writer, wait, &ev.epoch, &ev.batch, path)) > 0) {
		t->saved = true;
		train_tell(t, &ev);
	}
	if (e == ERR_ITEM)
		train_tell_untidy(t);
	else if (e < 0)
		tell_unsaved(t);
}

int
train_save(struct train *t, enum checkpoint_kind kind, const struct train_sums *sums)
{
	uint64_t from = trace_now(t->trace);
	char value[METAS][VALUE];
	struct tensors_meta meta[METAS + 4];
	struct preprocess images;
	uint64_t epoch = t->step / t->steps, at = t->step % t->steps, updates;
	float *w, *aux, *state, *average;
	uint32_t n = 0;
	struct buf batch = { 0 }, text = { 0 }, settings = { 0 };
	int e;

	ERR_TRY(worker_ready(t->wk));
	ERR_TRY(worker_read(t->wk));
	train_saved(t, true);
	t->saved = false;
	t->writes_cut = kind == CHECKPOINT_CUT;
	updates = t->sync ? 0 : worker_updates(t->wk);
	preprocess_from_aug(&t->o->data.aug, &images);
	images.label_at = (float)t->o->data.label_at;
	checkpoint_room(t->writer, &w, &aux, &state, &average);
	memcpy(aux, t->aux, t->graph->A * sizeof(*aux));
	if ((e = worker_exact(t->wk, w)) < 0 || (e = worker_pull_state(t->wk, state)) < 0 ||
	    (average != NULL && (e = worker_average(t->wk, average, &t->averaged)) < 0) ||
	    (e = train_check_weights(t, w, state, average)) < 0 || (e = put_batch(t, &batch)) < 0 ||
	    (e = preprocess_put(&images, &text)) < 0 || (e = settings_put(&t->settings, &settings)) < 0) {
		buf_free(&batch);
		buf_free(&text);
		buf_free(&settings);
		return e;
	}
	snprintf(value[M_TALLY], VALUE, "%s", TALLY_VERSION);
	snprintf(value[M_EPOCH], VALUE, "%" PRIu64, epoch);
	snprintf(value[M_BATCH_AT], VALUE, "%" PRIu64, at);
	snprintf(value[M_SEED], VALUE, "%" PRIu64, t->o->seed);
	snprintf(value[M_MICRO_BATCHES], VALUE, "%" PRIu32, count_micro_batches(t));
	snprintf(value[M_LOSS], VALUE, "%.17g", sums->loss);
	snprintf(value[M_CORRECT], VALUE, "%.17g", sums->correct);
	snprintf(value[M_TOP5], VALUE, "%.17g", sums->top5);
	snprintf(value[M_SAMPLES], VALUE, "%.17g", sums->samples);
	snprintf(value[M_BEST], VALUE, "%.17g", t->best);
	snprintf(value[M_BEST_EPOCH], VALUE, "%" PRIu64, t->best_epoch);
	snprintf(value[M_AVERAGE], VALUE, "%s", average_name(t->o->ps.hyper.average.kind));
	snprintf(value[M_AVERAGED], VALUE, "%" PRIu32, t->averaged);
	snprintf(value[M_UPDATES], VALUE, "%" PRIu64, updates);
	snprintf(value[M_ACCURACY], VALUE, "%.17g", t->accuracy);
	for (int i = 0; i < METAS; i++)
		if (i < M_AVERAGE || (i < M_UPDATES ? t->averaged > 0 : i < M_ACCURACY ? updates > 0 :
		    kind == CHECKPOINT_BEST && t->accuracy < t->best))
			meta[n++] = (struct tensors_meta){ (char *)(uintptr_t)meta_key[i],
			    i == M_BATCH ? (char *)batch.p : value[i] };
	meta[n++] = (struct tensors_meta){ (char *)(uintptr_t)WEIGHTS_PREPROCESSING, (char *)text.p };
	if (t->o->class_names != NULL)
		meta[n++] = (struct tensors_meta){ (char *)(uintptr_t)WEIGHTS_CLASS_NAMES,
		    (char *)(uintptr_t)t->o->class_names };
	if (t->o->net_text != NULL)
		meta[n++] = (struct tensors_meta){ (char *)(uintptr_t)WEIGHTS_NET, (char *)(uintptr_t)t->o->net_text };
	if (t->settings.n > 0)
		meta[n++] = (struct tensors_meta){ (char *)(uintptr_t)SETTINGS, (char *)settings.p };
	if (checkpoint_put(t->writer, kind, epoch, at, t->averaged > 0, meta, n) < 0)
		tell_unsaved(t);
	buf_free(&batch);
	buf_free(&text);
	buf_free(&settings);
	trace_span(t->trace, TRACE_STEPS, from, kind == CHECKPOINT_CUT ? "cut" : "checkpoint");
	return 0;
}

static int
read_meta_u64(const struct weights *f, int m, uint64_t *v)
{
	const char *text = weights_get(f, meta_key[m]);

	if (text == NULL)
		return err_fail(ERR_FORMAT, "has no '%s', so it is not a checkpoint of pworker; use --start",
		    meta_key[m]);
	if (num_u64(text, 0, UINT64_MAX, v) < 0) {
		err_within("'%s'", meta_key[m]);
		return ERR_FORMAT;
	}
	return 0;
}

static int
read_meta_f64(const struct weights *f, int m, double *v)
{
	const char *text = weights_get(f, meta_key[m]);

	if (text == NULL || num_f64(text, -DBL_MAX, DBL_MAX, v) < 0)
		return err_fail(ERR_FORMAT, "'%s' is missing or not a number", meta_key[m]);
	return 0;
}

int
train_read_best(const char *path, double *accuracy)
{
	const char *text;
	struct tensors f;
	int e;

	ERR_TRY(tensors_open(&f, path));
	if ((text = tensors_meta(&f, meta_key[M_ACCURACY])) == NULL)
		text = tensors_meta(&f, meta_key[M_BEST]);
	e = text != NULL ? num_f64(text, -DBL_MAX, DBL_MAX, accuracy) : err_fail(ERR_FORMAT, "%s: has no accuracy",
	    path);
	tensors_close(&f);
	return e;
}

/* At the start of an epoch another batch is allowed, and may not be meant. */
static void
tell_other_batch(struct train *t, const char *was, const char *is)
{
	char text[256];

	if (t->o->ps.rank > 0 || was == NULL || strcmp(was, is) == 0)
		return;
	snprintf(text, sizeof(text), "resumes with --batch %.64s, and the checkpoint was saved with %.64s", is, was);
	train_tell(t, &(struct train_event){ .kind = TRAIN_REMARK, .text = text });
}

/* Reads the position of a checkpoint, in steps of this run. */
static int
read_position(struct train *t, const struct weights *f, uint64_t *step)
{
	const char *batch = weights_get(f, meta_key[M_BATCH]);
	uint64_t epoch, at, seed, n;
	struct buf mine = { 0 };
	int e = 0;

	ERR_TRY(read_meta_u64(f, M_EPOCH, &epoch));
	ERR_TRY(read_meta_u64(f, M_BATCH_AT, &at));
	ERR_TRY(read_meta_u64(f, M_SEED, &seed));
	ERR_TRY(read_meta_u64(f, M_MICRO_BATCHES, &n));
	ERR_TRY(put_batch(t, &mine));
	if (at > 0 && (n != count_micro_batches(t) || batch == NULL || strcmp(batch, (char *)mine.p) != 0))
		e = err_fail(ERR_ARG, "stopped within an epoch with %" PRIu64
		    " micro-batches of %.64s a step; resume with the same", n, batch != NULL ? batch : "?");
	else if (n == count_micro_batches(t))
		tell_other_batch(t, batch, (char *)mine.p);
	buf_free(&mine);
	if (e < 0)
		return e;
	if (seed != t->o->seed)
		return err_fail(ERR_ARG, "was saved with --seed %" PRIu64 "; resume with the same", seed);
	if (epoch > UINT32_MAX || at >= t->steps)
		return err_fail(ERR_FORMAT, "epoch %" PRIu64 ", step %" PRIu64 " is not in this data", epoch, at);
	if (at > 0 && ((e = read_meta_f64(f, M_LOSS, &t->epoch.loss)) < 0 ||
	    (e = read_meta_f64(f, M_CORRECT, &t->epoch.correct)) < 0 ||
	    (e = read_meta_f64(f, M_TOP5, &t->epoch.top5)) < 0 ||
	    (e = read_meta_f64(f, M_SAMPLES, &t->epoch.samples)) < 0))
		return e;
	/* Checkpoints of runs without validation, and of older versions, have no best epoch. */
	if (weights_get(f, meta_key[M_BEST_EPOCH]) != NULL &&
	    ((e = read_meta_u64(f, M_BEST_EPOCH, &t->best_epoch)) < 0 || (e = read_meta_f64(f, M_BEST, &t->best)) < 0))
		return e;
	*step = epoch * t->steps + at;
	return 0;
}

/* Whitens with the first batch of the first epoch, which is the same for any number of workers. */
static int
whiten_first_layer(struct train *t)
{
	const struct batch *b;
	struct samples s;
	uint8_t *pixel;
	size_t numbers;
	float *x;
	int e;

	if (t->stream)
		return err_fail(ERR_ARG,
		    "%s: a pipe cannot be read twice, and this net computes its first weights from the first batch",
		    t->o->data.path);
	batch_start(t->in, 0, 0);
	if ((e = batch_next(t->in, &b)) <= 0)
		return e;
	if (b->s.n == 0)
		return 0;
	s = b->s;
	numbers = (size_t)s.n * s.c * s.h * s.w;
	x = calloc(numbers, sizeof(*x));
	pixel = calloc(numbers, 1);
	e = x == NULL || pixel == NULL ? err_nomem() : 0;
	if (e == 0 && s.cached != NULL) {
		samples_cut(&s, t->images, pixel);
		s.cached = NULL;
		s.pixel = pixel;
	}
	if (e == 0) {
		samples_f32(&s, 0, s.n, x);
		e = whiten_weights(t->graph, x, s.n, t->w);
	}
	free(x);
	free(pixel);
	return e;
}

/* Initializes the weights, then replaces those that a file has for this net. */
static int
init_train_weights(struct train *t)
{
	struct weights_taken r = { 0 };
	int e;

	ERR_TRY(init_weights(t->graph, t->o->init, t->o->seed, t->w, t->aux));
	if (whiten_wanted(t->graph))
		ERR_TRY(whiten_first_layer(t));
	if (t->o->start == NULL)
		return 0;
	if ((e = weights_start(t->o->start, t->o->start_rename, t->graph, t->w, t->aux, &r)) == 0)
		train_tell(t, &(struct train_event){ .kind = TRAIN_FROM, .batch = r.taken, .samples = r.left,
		    .text = (const char *)r.names.p });
	buf_free(&r.names);
	return e;
}

/* Continues the checkpoint's average if this run has one of the same kind.  Reports one that this run does without. */
static int
resume_average(struct train *t, const struct weights *f, struct worker_first *first)
{
	enum average_kind kind = t->o->ps.hyper.average.kind;
	const char *was = weights_get(f, meta_key[M_AVERAGE]);
	char text[128];
	uint64_t n = 0;

	if (f->average == NULL)
		return 0;
	if (kind == AVERAGE_NONE) {
		snprintf(text, sizeof(text), "resumes without the checkpoint's average of the weights, which --%.32s "
		    "continues", was != NULL ? was : "ema");
		train_tell(t, &(struct train_event){ .kind = TRAIN_REMARK, .text = text });
		return 0;
	}
	if (was == NULL || strcmp(was, average_name(kind)) != 0)
		return err_fail(ERR_ARG, "was saved with another average, '%.32s'; resume with the same",
		    was != NULL ? was : "?");
	ERR_TRY(read_meta_u64(f, M_AVERAGED, &n));
	memcpy(t->average, f->average, (t->graph->P + t->graph->A) * sizeof(float));
	t->averaged = first->averaged = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
	first->average = t->average;
	return 0;
}

/* In a job that is not synchronous, updates are pushes of all workers, and their number is stored separately. */
static int
resume_updates(const struct train *t, const struct weights *f, struct worker_first *first)
{
	uint64_t n = 0;
	int e = 0;

	if (!t->sync && weights_get(f, meta_key[M_UPDATES]) != NULL && (e = read_meta_u64(f, M_UPDATES, &n)) == 0)
		first->updates = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
	return e;
}

/*
 * A job that goes on by itself has the settings with which its weights were made.  Its launcher need not have heard of
 * the last ones.
 */
static int
resume_settings(struct train *t, const struct weights *f, struct worker_first *first)
{
	return t->o->resumes_last ? train_resume_settings(t, weights_get(f, SETTINGS), first) : 0;
}

/* After an error of loading a file: says that it is no checkpoint, if that is why. */
static int
explain_load_error(const char *path, int e)
{
	struct tensors file;
	char line[ERR_LINE];

	snprintf(line, sizeof(line), "%s", err_line());
	if (e != ERR_FORMAT || tensors_open(&file, path) < 0) {
		err_note(0, "%s", line);
		return e;
	}
	if (tensors_meta(&file, meta_key[M_EPOCH]) == NULL)
		err_note(0, "%s: is no checkpoint of pworker; --start takes the weights that fit", path);
	tensors_close(&file);
	return e;
}

/*
 * Compares the optimizer of a checkpoint with the run's, and reports a state that starts from zeros.  Adam's bias
 * correction is that of the run's number of updates, so that it needs the state that these have made.
 */
static int
check_state(struct train *t, const struct weights *f)
{
	enum opt_rule rule = t->o->ps.hyper.rule;
	const char *why = NULL;

	if (!t->o->local && f->rule != rule && (f->state != NULL || f->rule == OPT_DESCENT))
		return err_fail(ERR_ARG, "was saved with --optimizer %s; resume with the same, or use --start",
		    opt_name(f->rule));
	/* Servers of local steps once kept sgd's, all zeros. */
	if (t->o->local && f->state != NULL && (f->rule != OPT_SGD || !num_zeros(f->state, t->graph->P)))
		return err_fail(ERR_ARG, "was saved without --local-steps; resume without, or use --start");
	if (t->o->local && opt_states(t->o->local_hyper.rule) > 0)
		why = "the optimizer state of local steps is in no checkpoint, and starts from zeros";
	else if (f->state == NULL && (rule == OPT_ADAM || rule == OPT_ADAMW))
		return err_fail(ERR_ARG, "has no optimizer state, which --optimizer %s needs; use --start",
		    opt_name(rule));
	else if (f->state == NULL && opt_states(rule) > 0)
		why = "the checkpoint has no optimizer state, which starts from zeros";
	if (why != NULL)
		train_tell(t, &(struct train_event){ .kind = TRAIN_REMARK, .text = why });
	return 0;
}

int
train_first(struct train *t, float *state, struct worker_first *first, uint64_t *step)
{
	enum opt_rule rule = t->o->ps.hyper.rule;
	size_t bytes = t->graph->P * opt_states(rule) * sizeof(*state);
	struct weights f;
	int e;

	*step = 0;
	*first = (struct worker_first){ .state = state };
	memset(state, 0, bytes);
	if (t->o->resume == NULL)
		return init_train_weights(t);
	if ((e = weights_load(t->o->resume, t->graph, &f)) < 0)
		return explain_load_error(t->o->resume, e);
	if (f.graph != NULL && graph_hash(f.graph) != graph_hash(t->graph))
		e = err_fail(ERR_FORMAT, "holds the weights of another net; use --start for what fits");
	if (e == 0)
		e = check_state(t, &f);
	if (e == 0 && (e = read_position(t, &f, step)) == 0 && (e = resume_average(t, &f, first)) == 0 &&
	    (e = resume_updates(t, &f, first)) == 0 && (e = resume_settings(t, &f, first)) == 0) {
		memcpy(t->w, f.w, t->graph->P * sizeof(float));
		memcpy(t->aux, f.aux, t->graph->A * sizeof(float));
		if (f.state != NULL)
			memcpy(state, f.state, bytes);
	}
	weights_free(&f);
	return err_wrap(e, "%s", t->o->resume);
}
