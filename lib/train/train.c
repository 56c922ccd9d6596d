/* train - the training loop of one worker: records in, gradients out, weights in. */
#include "base/clk.h"
#include "base/err.h"
#include "train/train_in.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

void
train_tell(struct train *t, struct train_event *ev)
{
	bool logged = ev->kind != TRAIN_START && ev->kind != TRAIN_REMARK && ev->kind != TRAIN_KERNELS &&
	    ev->kind != TRAIN_FROM && ev->kind != TRAIN_BAD && ev->kind != TRAIN_WAIT && ev->kind != TRAIN_NO_CUT &&
	    ev->kind != TRAIN_WORKERS && ev->kind != TRAIN_BATCHES && ev->kind != TRAIN_SET &&
	    ev->kind != TRAIN_UNTIDY;

	if (logged && !kept_tell(t->kept, t->step, ev->kind))
		return;
	if (ev->kind == TRAIN_BAD)
		kept_warn(t->kept, KEPT_LEFT_OUT);
	if (ev->text == NULL)
		ev->text = "";
	ev->step = t->step;
	if (t->wk != NULL)
		ev->updates = t->sync ? t->step : worker_updates(t->wk);
	bool accounts = ev->kind == TRAIN_START || ev->kind == TRAIN_EPOCH || ev->kind == TRAIN_END;

	for (uint32_t s = 0; t->traffic != NULL && accounts && s < t->o->ps.nservers; s++) {
		worker_peer_traffic(t->wk, s, &t->traffic[s]);
		ev->traffic = t->traffic;
		ev->peers = s + 1;
	}
	/* After an error there are no figures, and the run ends with the error. */
	if (accounts && ev->kind != TRAIN_START && t->traffic != NULL)
		(void)worker_staleness(t->wk, &ev->staleness);
	if (t->o->event != NULL)
		t->o->event(t->o->arg, ev);
}

void
train_tell_bad(struct train *t, const struct batch *b, uint64_t *left_out)
{
	*left_out += b->bad;
	if (b->bad > 0)
		train_tell(t, &(struct train_event){ .kind = TRAIN_BAD, .text = b->why[0] });
}

struct moment {
	double	 at, waited_s;
	uint64_t sent, received;	/* bytes in all */
};

static struct moment
get_moment(const struct train *t)
{
	struct moment m = { .at = clk_s() };

	worker_traffic(t->wk, &m.sent, &m.received, &m.waited_s);
	return m;
}

static void
set_elapsed(const struct train *t, const struct moment *m, struct train_event *ev)
{
	struct moment now = get_moment(t);

	ev->seconds = now.at - m->at;
	ev->waited_s = now.waited_s - m->waited_s;
	ev->sent = now.sent;
	ev->received = now.received;
}

/* Values have no accuracy, and several labels no five most probable ones. */
static void
set_means(const struct train *t, struct train_event *ev, const struct train_sums *s)
{
	enum graph_loss loss = t->graph->node[t->graph->n - 1].loss;

	ev->samples = (uint64_t)s->samples;
	ev->loss = s->samples > 0 ? s->loss / s->samples : (double)NAN;
	ev->accuracy = loss == GRAPH_LOSS_SQUARED ? -1 : s->samples > 0 ? s->correct / s->samples : (double)NAN;
	ev->top5 = loss != GRAPH_LOSS_SOFTMAX ? -1 : s->samples > 0 ? s->top5 / s->samples : (double)NAN;
}

/* In a synchronous job: sums figures over all workers, each of which must call this. */
static int
sum_over_workers(struct train *t, enum train_phase phase, struct train_sums *s)
{
	double v[4] = { s->loss, s->correct, s->top5, s->samples };
	int e;

	if ((e = train_sum(t, phase, v, 4)) == 0)
		*s = (struct train_sums){ v[0], v[1], v[2], v[3] };
	return e;
}

float
train_lr(const struct train *t, uint64_t step)
{
	uint32_t workers = t->elastic && t->workers > 0 ? t->workers : train_sharers(t->o);
	struct sched sched = t->o->sched;
	struct setting s;

	settings_at(&t->settings, step, &s);
	sched.base = s.has & SETTING_LR ? s.lr : sched.base;
	return sched_rate(&sched, step, t->steps, pow((double)workers, t->o->lr_scale));
}

/* Loads the average into the plan, which loads the weights again when it next needs them. */
static int
load_average(struct train *t)
{
	const struct engine *en = t->engine;
	int e;

	if (worker_device_opt(t->wk))
		return worker_show(t->wk, true);
	e = worker_average(t->wk, t->average, &t->averaged);
	for (uint32_t a = 0; e == 0 && a < t->graph->nw; a++) {
		if (t->graph->w[a].frozen)
			continue;
		t->loaded[a] = 0;
		e = en->load(t->plan, a, t->average + t->graph->w[a].first);
	}
	return e == 0 ? en->load_aux(t->plan, t->average + t->graph->P) : e;
}

/* Whether this is the last epoch that the options let end. */
static bool
is_last_epoch(const struct train *t, uint64_t epoch)
{
	return t->over || epoch + 1 >= t->o->epochs || (t->o->steps > 0 && t->o->steps < (epoch + 2) * t->steps);
}

static int
evaluate_batch(struct train *t, uint64_t epoch, const struct samples *s, struct engine_result *r)
{
	if (t->o->final_views && !is_last_epoch(t, epoch))
		return t->engine->evaluate(t->plan, s, r, NULL);
	return tta_evaluate(t->tta, s, r, NULL);
}

/* Evaluates this worker's part of the records to validate on. */
static int
validate_records(struct train *t, uint64_t epoch, struct train_sums *s, uint64_t *left_out)
{
	const struct batch *b;
	struct engine_result r;
	int e;

	if ((e = train_load_all(t)) < 0 || (t->average != NULL && (e = load_average(t)) < 0))
		return e;
	batch_start(t->val, 0, 0);
	while ((e = batch_next(t->val, &b)) > 0) {
		train_tell_bad(t, b, left_out);
		if (b->s.n == 0)
			continue;
		if ((e = evaluate_batch(t, epoch, &b->s, &r)) < 0)
			return e;
		s->loss += train_loss(r.loss);
		s->correct += r.correct;
		s->top5 += r.top5;
		s->samples += b->s.n;
	}
	return e;
}

static int
validate_epoch(struct train *t, uint64_t epoch)
{
	struct train_sums s = { 0 };
	struct train_event ev = { .kind = TRAIN_VALIDATION, .epoch = epoch };
	struct moment m = get_moment(t);
	uint64_t from = trace_now(t->trace);

	if (!train_had_sum(t, TRAIN_VALIDATES))
		ERR_TRY(validate_records(t, epoch, &s, &ev.left_out));
	ERR_TRY(sum_over_workers(t, TRAIN_VALIDATES, &s));
	trace_span(t->trace, TRACE_STEPS, from, "validation");
	set_means(t, &ev, &s);
	set_elapsed(t, &m, &ev);
	train_tell(t, &ev);
	/* The plan has the statistics of the average; weights are loaded again by the next step. */
	if (t->average != NULL)
		ERR_TRY(worker_device_opt(t->wk) ? worker_show(t->wk, false) : t->engine->load_aux(t->plan, t->aux));
	return train_record_validation(t, epoch, ev.accuracy >= 0 ? ev.accuracy : -ev.loss);
}

/* Runs the remaining steps of an epoch.  Returns 0 at its end, ERR_STOP if the run ends within it, or an error. */
static int
run_steps(struct train *t, uint64_t epoch)
{
	struct train_event ev;
	struct train_sums s;
	struct moment m = get_moment(t);
	bool asked = false;
	int e;

	for (;;) {
		if (t->elastic && (e = train_deal(t, epoch)) <= 0)
			return e;
		if (t->o->ps.backup > 0 && (e = train_catch_up(t, epoch)) <= 0)
			return e;
		if (t->o->steps > 0 && t->step >= t->o->steps)
			return ERR_STOP;
		/* Servers may have a part of the gradients of a step that a predecessor has begun. */
		if (*t->o->stop != 0 && !t->sync && t->step + 1 != t->begun)
			return ERR_STOP;
		if (*t->o->stop != 0 && t->sync && !asked && (asked = true))
			ERR_TRY(worker_stop(t->wk));
		ev = (struct train_event){ .kind = TRAIN_STEP, .epoch = epoch, .batch = t->step % t->steps };
		ERR_TRY(train_change_settings(t));
		train_saved(t, false);
		/* After the last step of an epoch its own sums come first. */
		if (t->step < (epoch + 1) * t->steps) {
			ERR_TRY(train_cut(t));
			if ((e = train_balance(t)) < 0)
				return e;
			if (e > 0)
				train_start(t, epoch);
		}
		if ((e = train_step(t, &s)) <= 0)
			return e;
		ev.rate = train_lr(t, t->step - 1);
		t->epoch.loss += s.loss;
		t->epoch.correct += s.correct;
		t->epoch.top5 += s.top5;
		t->epoch.samples += s.samples;
		set_means(t, &ev, &s);
		set_elapsed(t, &m, &ev);
		train_count_time(t, ev.seconds, ev.waited_s, s.samples);
		m = get_moment(t);
		train_tell(t, &ev);
	}
}

/* The run ends within an epoch: the checkpoint stores the sums so far. */
static int
save_stopped_run(struct train *t)
{
	/* A successor of a worker that is saying goodbye repeats nothing. */
	int e = worker_ready(t->wk);

	if (e == 0)
		e = sum_over_workers(t, TRAIN_STOPS, &t->epoch);
	if (e == 0 && t->writer != NULL && !train_copies_cuts(t->o))
		e = train_save(t, CHECKPOINT_PLAIN, &t->epoch);
	return e < 0 ? e : ERR_STOP;
}

/*
 * Saves the steps before records that cannot be read: the rest of a pipe is lost with this process.  Several workers
 * would have to agree on a step first.  Returns the error e of reading.
 */
static int
save_before_unread(struct train *t, int e)
{
	char line[ERR_LINE];

	if (t->o->ps.nworkers > 1)
		return e;
	snprintf(line, sizeof(line), "%s", err_line());
	if (save_stopped_run(t) == ERR_STOP)
		train_saved(t, true);
	err_note(0, "%s", line);
	return e;
}

/* The epoch is complete. */
static int
save_epoch(struct train *t)
{
	int e = t->writer == NULL || train_copies_cuts(t->o) ? 0 :
	    train_save(t, t->is_best && t->o->best ? CHECKPOINT_BEST : CHECKPOINT_PLAIN, &t->epoch);

	t->is_best = false;
	return e;
}

/* Reports the memory of cached images after the first epoch, when all have been read. */
static void
report_cache(struct train *t, uint64_t epoch)
{
	struct train_event ev = { .kind = TRAIN_CACHE, .epoch = epoch };
	char text[32];
	size_t bytes;

	ev.samples = batch_cached(t->in, &bytes);
	snprintf(text, sizeof(text), "%zu bytes", bytes);
	ev.text = text;
	if (epoch == 0 && t->o->data.cache > 0)
		train_tell(t, &ev);
}

/*
 * Backup workers would go on while this worker ends the epoch, and one that dies meanwhile could not end it again: the
 * checkpoint of worker 0 would be missing.
 */
static int
wait_for_late(struct train *t)
{
	double none = 0;

	if (t->o->ps.backup == 0)
		return 0;
	train_saved(t, true);
	return train_sum(t, TRAIN_ENDED, &none, 1);
}

static int
run_epoch(struct train *t, uint64_t n)
{
	struct train_event ev = { .kind = TRAIN_EPOCH, .epoch = n };
	struct moment m = get_moment(t);
	bool rated = t->o->best || t->o->patience > 0;
	uint64_t from = t->returned && t->first < n * t->steps ? n * t->steps : t->returned ? t->first : t->step;
	uint64_t before = (uint64_t)t->epoch.samples;
	int e = 0, over = 0;

	/* A worker that returned may be at the end already. */
	if (t->step < (n + 1) * t->steps) {
		train_start(t, n);
		if ((e = run_steps(t, n)) == ERR_STOP && (t->step % t->steps != 0 || t->step == from))
			return save_stopped_run(t);
	}
	if (t->unread)
		return t->step != from ? save_before_unread(t, e) : e;
	if ((e < 0 && e != ERR_STOP) || (e = worker_ready(t->wk)) < 0 ||
	    (e = sum_over_workers(t, TRAIN_ENDS_EPOCH, &t->epoch)) < 0)
		return e;
	t->over = t->stream;
	if (t->stream && t->step == from)
		return err_fail(ERR_FORMAT, "%s: has no records", t->o->data.path);
	/*
	 * Asynchronous workers have records of their own, and one may have none.  With skip_nan all may be left out.
	 */
	if (t->epoch.samples == 0 && !t->o->skip_nan && (t->sync || t->o->ps.nworkers == 1))
		return err_fail(ERR_FORMAT, "%s: no record of epoch %" PRIu64 " could be used", t->o->data.path, n);
	ev.rate = train_lr(t, t->step - 1);
	ev.left_out = t->left_out;
	set_means(t, &ev, &t->epoch);
	set_elapsed(t, &m, &ev);
	if (t->elastic)
		ev.before = before;
	else if (from > n * t->steps && t->step > from)
		ev.before = ev.samples * (from - n * t->steps) / (t->step - n * t->steps);
	train_tell(t, &ev);
	ERR_TRY(worker_read(t->wk));
	ERR_TRY(train_check_weights(t, t->w, NULL, NULL));
	ERR_TRY(worker_epoch(t->wk, n + 1));
	t->epoch = (struct train_sums){ 0 };
	t->left_out = 0;
	report_cache(t, n);
	/*
	 * The checkpoint precedes the validation, during which a second signal may end the process.  A checkpoint that
	 * stores the best epoch must follow it.
	 */
	if (!rated)
		ERR_TRY(save_epoch(t));
	if (t->val != NULL && (over = validate_epoch(t, n)) < 0 && over != ERR_STOP)
		return over;
	if (rated)
		ERR_TRY(save_epoch(t));
	ERR_TRY(wait_for_late(t));
	return over < 0 || worker_last(t->wk) || (!t->sync && *t->o->stop != 0) ? ERR_STOP : 0;
}

/* Reports the kernels after the first epoch, when a step's graphs are captured, and again when more are refused. */
static int
report_kernels(struct train *t)
{
	const struct engine_accel *accel = t->engine->accel;
	struct buf text = { 0 };
	uint32_t refused = 0;
	int e;

	if (accel == NULL || accel->summarize == NULL)
		return 0;
	if ((e = accel->summarize(t->plan, &text, &refused)) == 0 && (e = buf_terminate(&text)) == 0 &&
	    *text.p != 0 && (!t->kernels_told || refused > t->refused))
		train_tell(t, &(struct train_event){ .kind = TRAIN_KERNELS, .samples = refused,
		    .text = (char *)text.p });
	t->kernels_told = true;
	t->refused = refused;
	buf_free(&text);
	return e;
}

int
train_run(const struct train_opt *opt)
{
	struct train t = { .o = opt, .engine = opt->engine, .graph = opt->ps.graph,
	    .kept = opt->kept, .trace = opt->ps.trace, .sync = opt->ps.slack == STALE_SYNC,
	    .elastic = opt->ps.elastic > 0 };
	struct train_event end = { .kind = TRAIN_END };
	struct moment m;
	uint64_t epoch;
	int e;

	if (kept_warned(t.kept, KEPT_UNSAVED) && opt->event != NULL)
		opt->event(opt->arg, &(struct train_event){ .kind = TRAIN_UNSAVED,
		    .text = "one could not be written before this worker was started again" });
	if (kept_warned(t.kept, KEPT_LEFT_OUT) && opt->event != NULL)
		opt->event(opt->arg, &(struct train_event){ .kind = TRAIN_BAD,
		    .text = "a record was left out before this worker was started again" });
	if (kept_parting(t.kept)) {
		e = train_part(&t);
	} else if ((e = train_open(&t)) == 0) {
		m = get_moment(&t);
		if (!t.returned || t.step == t.first)
			e = train_patience_spent(&t);
		else if (train_died_within(&t, &epoch))
			e = run_epoch(&t, epoch);
		while (e == 0 && !t.over && t.step / t.steps < opt->epochs && (opt->steps == 0 || t.step < opt->steps))
			if ((e = run_epoch(&t, t.step / t.steps)) == 0 || e == ERR_STOP)
				e = report_kernels(&t) < 0 ? ERR_NOMEM : e;
		if (e == 0 || e == ERR_STOP) {
			int bye;

			train_saved(&t, true);
			train_end_cuts(&t);
			kept_part(t.kept);
			bye = worker_bye(t.wk);
			set_elapsed(&t, &m, &end);
			train_tell(&t, &end);
			if (bye < 0)
				e = bye;
			else if (*opt->stop == 0)
				e = 0;	/* --steps, or another worker was asked to stop */
		}
	}
	train_close(&t);
	return e;
}
