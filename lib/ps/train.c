/* train - the training of one worker: records in, gradients out, weights in, epoch after epoch. */
#include "base/clk.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/num.h"
#include "engine/split.h"
#include "ps/train_in.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
train_tell(struct train *t, struct train_event *ev)
{
	if (ev->text == NULL)
		ev->text = "";
	ev->step = t->step;
	if (t->wk != NULL)
		ev->updates = t->sync ? t->step : worker_updates(t->wk);
	bool accounts = ev->kind == TRAIN_START || ev->kind == TRAIN_EPOCH || ev->kind == TRAIN_END;

	for (uint32_t s = 0; t->toll != NULL && accounts && s < t->o->ps.nservers; s++) {
		worker_toll(t->wk, s, &t->toll[s]);
		ev->toll = t->toll;
		ev->peers = s + 1;
	}
	if (t->o->event != NULL)
		t->o->event(t->o->arg, ev);
}

static void
waiting(void *arg, const char *whom)
{
	train_tell(arg, &(struct train_event){ .kind = TRAIN_WAIT, .text = whom });
}

/* A moment of the run. */
struct mark {
	double	 at, waited_s;
	uint64_t sent, got;	/* in all */
};

static struct mark
mark(const struct train *t)
{
	struct mark m = { .at = clk_s() };

	worker_traffic(t->wk, &m.sent, &m.got, &m.waited_s);
	return m;
}

static void
since(const struct train *t, const struct mark *m, struct train_event *ev)
{
	struct mark now = mark(t);

	ev->seconds = now.at - m->at;
	ev->waited_s = now.waited_s - m->waited_s;
	ev->sent = now.sent;
	ev->got = now.got;
}

static void
score(struct train_event *ev, const struct train_sums *s)
{
	ev->samples = (uint64_t)s->samples;
	ev->loss = s->samples > 0 ? s->loss / s->samples : (double)NAN;
	ev->accuracy = s->samples > 0 ? s->correct / s->samples : (double)NAN;
	ev->top5 = s->samples > 0 ? s->top5 / s->samples : (double)NAN;
}

/* In a synchronous job the figures of all workers together; each must come here. */
static int
all_workers(struct train *t, struct train_sums *s)
{
	double v[4] = { s->loss, s->correct, s->top5, s->samples };
	int e;

	if (!t->sync)
		return 0;
	if ((e = worker_sum(t->wk, v, 4)) == 0)
		*s = (struct train_sums){ v[0], v[1], v[2], v[3] };
	return e;
}

static int
open_data(struct train *t, const char *path, struct recs *recs, bool train, struct batch_reader **r)
{
	const struct graph_node *x = &t->graph->node[0];
	struct batch_opt d = t->o->data;
	int e;

	d.path = path;
	d.recs = recs;
	d.aug.c = x->c;
	d.aug.h = x->h;
	d.aug.w = x->w;
	d.aug.seed = t->o->seed;
	d.classes = t->graph->classes;
	if (train) {
		d.pieces = t->o->accumulate * t->o->ps.nworkers;
		d.first_piece = t->o->accumulate * t->o->ps.rank;
		d.my_pieces = t->o->accumulate;
		d.sizes = t->sizes;
	} else {
		/* Synchronous workers share the validation; the others are in different epochs. */
		d.shuffle = false;
		d.window = d.cache = 0;
		d.aug = aug_plain(&d.aug);
		d.pieces = t->sync ? t->o->ps.nworkers : 1;
		d.first_piece = t->sync ? t->o->ps.rank : 0;
		d.my_pieces = 1;
		d.sizes = t->sync ? t->o->batches : NULL;
	}
	if ((e = batch_open(&d, r)) == 0)
		return 0;
	if (strstr(err_line(), path) == NULL)
		err_within("%s", path);
	return e;
}

/* A linear scale with 1, 2, 4 ... workers is exact, and so are its rates. */
float
train_lr(const struct train *t, uint64_t step)
{
	double scale = pow((double)t->o->ps.nworkers, t->o->lr_scale);

	return (float)((double)sched_rate(&t->o->sched, step, t->steps) * scale);
}

/* The plan holds the average, and takes the weights again when it next needs them. */
static int
load_average(struct train *t)
{
	const struct engine *en = t->engine;
	int e;

	if (worker_home(t->wk))
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

static int
validate(struct train *t, uint64_t epoch)
{
	struct train_sums s = { 0 };
	struct train_event ev = { .kind = TRAIN_VALIDATION, .epoch = epoch };
	struct mark m = mark(t);
	uint64_t from = trace_now(t->trace);
	const struct batch *b;
	struct engine_result r;
	int e;

	if ((e = train_load_all(t)) < 0 || (t->average != NULL && (e = load_average(t)) < 0) ||
	    (e = batch_start(t->val, 0, 0)) < 0)
		return e;
	while ((e = batch_next(t->val, &b)) > 0) {
		if (b->bad > 0)
			train_tell(t, &(struct train_event){ .kind = TRAIN_BAD, .samples = b->bad, .text = b->why[0] });
		if (b->s.n == 0)
			continue;
		if ((e = views_evaluate(t->views, &b->s, &r, NULL)) < 0)
			return e;
		s.loss += train_loss(r.loss);
		s.correct += r.correct;
		s.top5 += r.top5;
		s.samples += b->s.n;
	}
	if (e < 0 || (e = all_workers(t, &s)) < 0)
		return e;
	trace_span(t->trace, TRACE_STEPS, from, "validation");
	score(&ev, &s);
	since(t, &m, &ev);
	train_tell(t, &ev);
	/* The plan has statistics of the average; of the weights it takes new ones where it needs them. */
	if (t->average != NULL && (e = worker_home(t->wk) ? worker_show(t->wk, false) :
	    t->engine->load_aux(t->plan, t->aux)) < 0)
		return e;
	return train_rate(t, epoch, ev.accuracy);
}

/*
 * The steps of one epoch from *at on.  Returns 0 at its end, ERR_STOP when the
 * run ends within it, or an error.
 */
static int
steps(struct train *t, uint64_t epoch)
{
	struct train_event ev;
	struct train_sums s;
	struct mark m = mark(t);
	bool asked = false;
	int e;

	for (;;) {
		if (t->o->steps > 0 && t->step >= t->o->steps)
			return ERR_STOP;
		if (*t->o->stop != 0 && !t->sync)
			return ERR_STOP;
		if (*t->o->stop != 0 && !asked && (asked = true) && (e = worker_stop(t->wk)) < 0)
			return e;
		ev = (struct train_event){ .kind = TRAIN_STEP, .epoch = epoch, .batch = t->step % t->steps,
		    .rate = train_lr(t, t->step) };
		if ((e = train_saved(t, false)) < 0 || (e = train_step(t, &s)) <= 0)
			return e;
		t->epoch.loss += s.loss;
		t->epoch.correct += s.correct;
		t->epoch.top5 += s.top5;
		t->epoch.samples += s.samples;
		score(&ev, &s);
		since(t, &m, &ev);
		m = mark(t);
		train_tell(t, &ev);
	}
}

/* The run ends within an epoch: the sums so far go into the checkpoint, once. */
static int
stopped(struct train *t)
{
	int e = all_workers(t, &t->epoch);

	if (e == 0 && t->keep != NULL)
		e = train_save(t);
	return e < 0 ? e : ERR_STOP;
}

/* How much memory the pictures take, once they have all come by. */
static void
tell_cache(struct train *t, uint64_t epoch)
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

static int
epoch(struct train *t, uint64_t n)
{
	struct train_event ev = { .kind = TRAIN_EPOCH, .epoch = n };
	struct mark m = mark(t);
	bool rated = t->o->best || t->o->patience > 0;
	uint64_t from = t->step;
	int e, over = 0;

	if ((e = batch_start(t->in, n, t->step % t->steps)) < 0)
		return e;
	if ((e = steps(t, n)) == ERR_STOP && (t->step % t->steps != 0 || t->step == from))
		return stopped(t);
	if ((e < 0 && e != ERR_STOP) || (e = worker_ready(t->wk)) < 0 ||
	    (e = all_workers(t, &t->epoch)) < 0)
		return e;
	t->over = t->stream;
	if (t->stream && t->step == from)
		return err_fail(ERR_FORMAT, "%s: holds no record", t->o->data.path);
	ev.rate = train_lr(t, t->step - 1);
	score(&ev, &t->epoch);
	since(t, &m, &ev);
	train_tell(t, &ev);
	if ((e = worker_epoch(t->wk, n + 1)) < 0)
		return e;
	t->epoch = (struct train_sums){ 0 };
	tell_cache(t, n);
	/*
	 * First what must not be lost: a stop that is asked for during the validation may become impatient.  But a
	 * checkpoint that is to say which epoch is best comes behind its validation, so that who resumes knows the same.
	 */
	if (!rated && t->keep != NULL && (e = train_save(t)) < 0)
		return e;
	if (t->val != NULL && (over = validate(t, n)) < 0 && over != ERR_STOP)
		return over;
	if (rated && t->keep != NULL && (e = train_save(t)) < 0)
		return e;
	return over < 0 || worker_last(t->wk) || (!t->sync && *t->o->stop != 0) ? ERR_STOP : 0;
}

static int
floats(float **p, size_t n)
{
	size_t bytes;
	int e = num_mul(n > 0 ? n : 1, sizeof(float), &bytes);

	if (e == 0 && (*p = calloc(1, bytes)) == NULL)
		e = err_nomem();
	return e;
}

/* A worker's pieces of a step are all of its own batch. */
static int
sizes(struct train *t)
{
	size_t n = (size_t)t->o->accumulate * t->o->ps.nworkers;

	if ((t->sizes = calloc(n, sizeof(*t->sizes))) == NULL)
		return err_nomem();
	for (size_t p = 0; p < n; p++)
		t->sizes[p] = t->o->batches[p / t->o->accumulate];
	return 0;
}

static int
memory(struct train *t)
{
	const struct graph *g = t->graph;
	int e;

	if ((e = floats(&t->w, g->P)) < 0 || (e = floats(&t->aux, g->A)) < 0 ||
	    (e = floats(&t->g, g->P)) < 0 || (e = floats(&t->stats, g->A)) < 0)
		return e;
	if ((t->o->accumulate > 1 || t->o->skip_nan) && (e = floats(&t->sum, g->P)) < 0)
		return e;
	if (t->o->accumulate > 1 && (e = floats(&t->stats_sum, g->A)) < 0)
		return e;
	if (t->o->ps.hyper.average.kind != AVERAGE_NONE && (e = floats(&t->average, g->P + g->A)) < 0)
		return e;
	if ((t->loaded = calloc(g->nw, sizeof(*t->loaded))) == NULL)
		return err_nomem();
	return t->o->batches != NULL ? sizes(t) : 0;
}

static int
begin(struct train *t)
{
	struct worker_opt ps = t->o->ps;
	struct worker_first first = { 0 };
	float *state = NULL;
	int e;

	ps.w = t->w;
	ps.aux = t->aux;
	ps.engine = t->engine;
	ps.plan = t->o->skip_nan ? NULL : t->plan;	/* gradients are to be seen before weights change */
	ps.pieces = t->o->accumulate > 1;
	ps.waiting = waiting;
	ps.arg = t;
	if ((e = worker_open(&ps, &t->wk)) < 0)
		return e;
	if (ps.rank == 0 && ((e = floats(&state, t->graph->P * opt_states(ps.hyper.rule))) < 0 ||
	    (e = train_first(t, state, &first, &t->step)) < 0)) {
		free(state);
		return e;
	}
	e = worker_begin(t->wk, &first, &t->step);
	free(state);
	return e == 0 ? train_agree(t) : e;
}

/* A place where checkpoints cannot be written is better known now than after the first epoch. */
static int
open_keep(struct train *t)
{
	struct io_new f;
	int e;

	if (t->o->save == NULL || t->o->ps.rank != 0)
		return 0;
	if ((e = io_create(&f, t->o->save)) < 0) {
		err_within("%s", t->o->save);
		return e;
	}
	io_abandon(&f);
	return keep_open(&(struct keep_opt){ .prefix = t->o->save, .graph = t->graph, .rule = t->o->ps.hyper.rule,
	    .average = t->average != NULL, .trace = t->trace, .most = t->o->keep }, &t->keep);
}

/* What the plan leaves must do for the arrays of this worker and, without servers, for those of the server within it. */
static int
fits(const struct train *t)
{
	/* Weights, their gradient, what comes from servers; a sum, an average. */
	uint64_t arrays = 3 + (t->o->accumulate > 1) + (t->average != NULL);

	if (t->o->ps.nservers == 0)
		arrays += 3 + opt_states(t->o->ps.hyper.rule) + (t->average != NULL);
	if (mem_fits(arrays * t->graph->P * sizeof(float)) == 0)
		return 0;
	err_within("training %zu weights", t->graph->P);
	return ERR_NOMEM;
}

/* Where the optimizer runs, of an engine that could have it. */
static const char *
learner(const struct train *t)
{
	if (t->o->ps.nservers > 0 || t->engine->learn == NULL)
		return "";
	return worker_home(t->wk) ? ", optimizer there" : ", optimizer on the host";
}

static int
open_all(struct train *t)
{
	const struct engine *en;
	struct split_place place[SPLIT_MOST];
	struct buf text = { 0 };
	const char *remark;
	int e = memory(t);

	if (e < 0 || (e = open_data(t, t->o->data.path, t->o->data.recs, true, &t->in)) < 0 ||
	    (t->o->val != NULL && (e = open_data(t, t->o->val, t->o->val_recs, false, &t->val)) < 0) ||
	    (e = open_keep(t)) < 0)
		return e;
	t->stream = batch_steps(t->in) == 0;
	t->steps = t->stream ? UINT64_MAX / 2 : batch_steps(t->in);
	if (t->stream && t->o->ps.hyper.average.kind == AVERAGE_SWA)
		return err_fail(ERR_ARG, "%s: a mean over epochs needs to know where they end, and a pipe does not tell",
		    t->o->data.path);
	if ((e = t->o->devices != NULL ? split_open(t->o->devices, t->o->threads, &t->engine, &t->dev) :
	    t->engine->open(0, t->o->threads, &t->dev)) < 0)
		return e;
	en = t->engine;
	if ((remark = split_remark(en, t->dev)) != NULL)
		train_tell(t, &(struct train_event){ .kind = TRAIN_REMARK, .text = remark });
	engine_tune(en, t->dev, &t->o->tune);
	if ((e = en->plan(t->dev, t->graph, t->o->data.batch, t->o->precision, &t->plan)) < 0)
		return e;
	if ((t->o->hold && (e = train_hold(t)) < 0) || (e = fits(t)) < 0 || (t->val != NULL &&
	    (e = views_open(&t->views, &t->o->views, en, t->plan, t->graph, t->o->data.batch)) < 0))
		return e;
	if (t->o->ps.nservers > 0 && (t->toll = calloc(t->o->ps.nservers, sizeof(*t->toll))) == NULL)
		return err_nomem();
	if ((e = begin(t)) < 0 || (e = en->load_aux(t->plan, t->aux)) < 0)
		return e;
	if ((e = en->describe(t->dev, &text)) == 0 &&
	    (e = buf_put_fmt(&text, ", %s%s%s%s", engine_precision_name(t->o->precision),
	    t->o->tune.deterministic ? ", deterministic" : "", t->o->tune.measure ? ", autotune" : "", learner(t))) == 0 &&
	    (e = buf_terminate(&text)) == 0)
		train_tell(t, &(struct train_event){ .kind = TRAIN_START, .epoch = t->step / t->steps,
		    .samples = batch_records(t->in), .batch = batch_steps(t->in), .text = (char *)text.p,
		    .place = place, .places = split_places(en, t->dev, place) });
	buf_free(&text);
	return e == 0 ? worker_epoch(t->wk, t->step / t->steps) : e;
}

static void
close_all(struct train *t)
{
	keep_close(t->keep);
	worker_close(t->wk);
	views_close(t->views);
	t->engine->plan_free(t->plan);
	t->engine->close(t->dev);
	batch_close(t->in);
	batch_close(t->val);
	free(t->w);
	free(t->aux);
	free(t->average);
	free(t->g);
	free(t->sum);
	free(t->stats);
	free(t->stats_sum);
	free(t->loaded);
	free(t->sizes);
	free(t->toll);
}

int
train_run(const struct train_opt *opt)
{
	struct train t = { .o = opt, .engine = opt->engine, .graph = opt->ps.graph,
	    .trace = opt->ps.trace, .sync = opt->ps.slack == GATE_SYNC };
	struct train_event end = { .kind = TRAIN_END };
	struct mark m;
	int e;

	if ((e = open_all(&t)) == 0) {
		m = mark(&t);
		e = train_spent(&t);
		while (e == 0 && !t.over && t.step / t.steps < opt->epochs && (opt->steps == 0 || t.step < opt->steps))
			e = epoch(&t, t.step / t.steps);
		if (e == 0 || e == ERR_STOP) {
			int saved = train_saved(&t, true), bye = worker_bye(t.wk);

			since(&t, &m, &end);
			train_tell(&t, &end);
			if (saved < 0 || bye < 0)
				e = saved < 0 ? saved : bye;
			else if (*opt->stop == 0)
				e = 0;	/* --steps, or another worker was asked to stop */
		}
	}
	close_all(&t);
	return e;
}
