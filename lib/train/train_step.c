/* train_step - one step: batches through the net, and each gradient to the servers as soon as it is final. */
#include "train/train_in.h"
#include "base/err.h"
#include "ps/deal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CHECK_EVERY	16	/* steps between two checks of the weights; a check takes as long as a copy */

/* Ends the traced span of the current layer unless it is `node`. */
static void
trace_layer_end(struct train *t, uint32_t node, const char *way)
{
	char name[GRAPH_NAME + 16];

	if (t->layer_from == 0 || t->layer == node)
		return;
	snprintf(name, sizeof(name), "%s%s", t->graph->node[t->layer].name, way);
	trace_span(t->trace, TRACE_LAYERS, t->layer_from, name);
	t->layer_from = 0;
}

/* Starts the traced span of array a's layer. */
static void
trace_layer_begin(struct train *t, uint32_t a)
{
	t->layer = t->graph->w[a].node;
	t->layer_from = trace_now(t->trace);
}

static int
load_array(struct train *t, uint32_t a)
{
	uint64_t from = trace_now(t->trace);
	int e;

	if ((e = worker_need(t->wk, a)) < 0 || (t->step % CHECK_EVERY == 0 && (e = train_check_array(t, a)) < 0) ||
	    (e = t->engine->load(t->plan, a, t->w + t->graph->w[a].first)) < 0)
		return e;
	t->loaded[a] = t->step + 1;
	trace_span(t->trace, TRACE_STEPS, from, "pull");
	return 0;
}

/* Engine callback: the plan is about to read array a, which is waited for and loaded once a step. */
static int
load_needed_array(void *arg, uint32_t a)
{
	struct train *t = arg;

	if (worker_device_opt(t->wk) || t->loaded[a] == t->step + 1 || (t->loaded[a] > 0 && t->graph->w[a].frozen))
		return 0;
	return load_array(t, a);
}

/* The same callback in forward(), where it also traces which layer runs. */
static int
trace_and_load_array(void *arg, uint32_t a)
{
	struct train *t = arg;
	int e;

	trace_layer_end(t, t->graph->w[a].node, "");
	e = load_needed_array(t, a);
	trace_layer_begin(t, a);
	return e;
}

static void
add_floats(float *restrict sum, const float *restrict g, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum[i] += g[i];
}

static int
push_array(struct train *t, uint32_t a, const float *g)
{
	uint64_t from = trace_now(t->trace);
	int e = worker_push(t->wk, a, g);

	trace_span(t->trace, TRACE_STEPS, from, "push");
	return e;
}

/* Engine callback: array a's gradient is final.  In the step's last micro-batch it is pushed at once. */
static int
handle_gradient(void *arg, uint32_t a)
{
	struct train *t = arg;
	const struct graph_array *r = &t->graph->w[a];
	int e = 0;

	t->layer = r->node;
	trace_layer_end(t, UINT32_MAX, " backward");
	if (t->add)
		add_floats(t->sum + r->first, t->g + r->first, r->count);
	if (t->push && !train_gradient_finite(t, a, t->add ? t->sum : t->into))
		return ERR_FORMAT;
	if (t->push)
		e = push_array(t, a, t->add ? t->sum : t->into);
	trace_layer_begin(t, a);
	return e;
}

int
train_load_all(struct train *t)
{
	int e = worker_ready(t->wk);

	for (uint32_t a = 0; e == 0 && a < t->graph->nw; a++)
		e = load_needed_array(t, a);
	return e == 0 && !worker_device_opt(t->wk) ? t->engine->load_aux(t->plan, t->aux) : e;
}

/* Pushes the whole sum: the last micro-batch was empty, or all gradients had to be checked first. */
static int
push_all(struct train *t)
{
	for (uint32_t a = 0; a < t->graph->nw; a++) {
		int e = t->graph->w[a].frozen ? 0 : push_array(t, a, t->sum);

		if (e < 0)
			return e;
	}
	return 0;
}

/* The number of the first sample of this worker's k-th micro-batch among all samples of a full step. */
static uint64_t
find_first_sample(const struct train *t, uint32_t k)
{
	uint64_t micro = (uint64_t)train_place(t->o) * t->o->accumulate + k, first = 0;

	if (t->sizes == NULL)
		return micro * t->o->data.batch;
	for (uint64_t i = 0; i < micro; i++)
		first += t->sizes[i];
	return first;
}

/*
 * Starts the pushes of a step, whose figures are `seen`.  The weights after the last step of an epoch may become part
 * of a mean over epochs.
 */
static int
begin_step(struct train *t, const struct train_sums *seen)
{
	ERR_TRY(train_learn_settings(t));
	ERR_TRY(worker_step(t->wk, (uint32_t)seen->samples, t->o->local ? 1 : train_lr(t, t->step)));
	train_keep_step(t, seen);
	if (t->o->ps.hyper.average.kind == AVERAGE_SWA && (t->step + 1) % t->steps == 0 &&
	    t->step / t->steps >= t->o->swa)
		worker_mark(t->wk);
	return 0;
}

static void
count_result(struct train_sums *seen, const struct engine_result *r, uint32_t n)
{
	seen->loss += train_loss(r->loss);
	seen->correct += r->correct;
	seen->top5 += r->top5;
	seen->samples += n;
}

/*
 * Checks the gradient of the last micro-batch before it is added to the step's.  Returns 1 if the micro-batch is left
 * out.
 */
static int
check_gradients(struct train *t, const struct batch *b, const struct engine_draw *draw)
{
	bool good = true;

	for (uint32_t a = 0; a < t->graph->nw && good; a++)
		good = train_gradient_finite(t, a, t->into);
	if (!good) {
		if (t->stats_sum == NULL)
			memset(t->stats, 0, t->graph->A * sizeof(*t->stats));
		return train_bad_gradient(t, b, draw);
	}
	if (t->into == t->g && !t->o->local)
		add_floats(t->sum, t->g, t->graph->P);
	return 0;
}

/* Lets the engine copy the next batch to the device during the backward pass. */
static void
announce_next_batch(struct train *t)
{
	const struct batch *next;

	if (t->engine->accel != NULL)
		t->engine->accel->prefetch(t->plan, batch_peek(t->in, &next) > 0 ? &next->s : NULL);
}

/*
 * Computes the gradients of the batch after its forward pass.  Those of the step's last micro-batch are pushed as soon
 * as they are final, unless batches may be left out.
 */
static int
run_backward(struct train *t, const struct batch *b, const struct engine_draw *draw, bool first, bool last)
{
	const struct engine_hook hook = { .arg = t, .param_needed = load_needed_array, .grad_ready = handle_gradient };
	const bool on_device = worker_device_opt(t->wk), local = t->o->local, whole = t->o->skip_nan || local;
	uint64_t from = trace_now(t->trace);
	int e;

	t->push = last && !whole;
	t->add = !first && !whole;
	t->into = first && t->sum != NULL && !local ? t->sum : t->g;
	t->bad_array = UINT32_MAX;
	t->layer_from = from;
	announce_next_batch(t);
	e = on_device ? t->engine->backward(t->plan, NULL, NULL, NULL) :
	    t->engine->backward(t->plan, t->into, t->stats, &hook);
	if (e < 0)
		return t->bad_array != UINT32_MAX ? train_bad_gradient(t, b, draw) : e;
	trace_span(t->trace, TRACE_STEPS, from, "backward");
	if (whole && (e = check_gradients(t, b, draw)) != 0)
		return e;
	if (local)
		train_local_update(t, b->s.n);
	if (t->stats_sum != NULL && !on_device)
		for (size_t i = 0; i < t->graph->A; i++)
			t->stats_sum[i] += t->stats[i] * (float)b->s.n;
	return 0;
}

static bool
is_job_done(const struct train *t)
{
	return worker_last(t->wk) || (t->o->updates > 0 && worker_updates(t->wk) >= t->o->updates);
}

/* Runs this worker's k-th micro-batch.  Returns 1 if it is left out. */
static int
run_micro_batch(struct train *t, const struct batch *b, uint32_t k, bool first, bool last, struct train_sums *seen)
{
	const struct engine_hook hook = { .arg = t, .param_needed = trace_and_load_array };
	const struct engine_draw draw = { t->o->seed, t->step, find_first_sample(t, k) };
	uint64_t from = trace_now(t->trace);
	struct engine_result r;
	struct train_sums all = *seen;
	int e;

	t->layer_from = 0;
	if (first && t->o->local)
		ERR_TRY(train_local_begin(t));
	ERR_TRY(t->engine->forward(t->plan, &b->s, &draw, worker_device_opt(t->wk) ? NULL : &hook, &r));
	trace_layer_end(t, UINT32_MAX, "");
	trace_span(t->trace, TRACE_STEPS, from, "forward");
	/* The answer to the last step, which says whether the job ends, is complete only now. */
	if (first && is_job_done(t))
		return ERR_STOP;
	if ((e = train_check_loss(t, b, &draw, r.loss)) != 0)
		return e;
	count_result(&all, &r, b->s.n);
	if (last && !t->o->skip_nan && !t->o->local)
		ERR_TRY(begin_step(t, &all));
	if ((e = run_backward(t, b, &draw, first, last)) == 0)
		*seen = all;
	return e;
}

/* Ends a step whose gradients were not pushed as they became final, or that had none. */
static int
finish_without_last(struct train *t, const struct train_sums *seen)
{
	bool any = seen->samples > 0;

	if (!any) {
		ERR_TRY(worker_ready(t->wk));
		if (is_job_done(t))
			return ERR_STOP;
		t->local.updates = 0;
	}
	if (t->o->local)
		train_local_end(t, seen->samples);
	ERR_TRY(begin_step(t, seen));
	return any && !worker_device_opt(t->wk) ? push_all(t) : 0;
}

/*
 * Reads micro-batch k of the step.  Streams may end at different times: a worker whose stream has ended takes part with
 * empty micro-batches until no worker has a record left.  A sum over the workers before each step tells them.
 */
static int
next_micro_batch(struct train *t, uint32_t k, const struct batch **b)
{
	static const struct batch none;
	uint64_t from = trace_now(t->trace);
	int e = batch_next(t->in, b), sum;
	double have = e > 0;

	trace_span(t->trace, TRACE_STEPS, from, "wait for batch");
	if (e < 0 || !t->stream || !t->sync || t->o->ps.nworkers == 1)
		return e;
	if (k == 0 && (sum = train_sum(t, TRAIN_HAS_RECORDS, &have, 1)) < 0)
		return sum;
	if (e == 0)
		*b = &none;
	return k > 0 || have > 0;
}

static void
start_reading(struct train *t, uint64_t epoch)
{
	if (t->engine->accel != NULL)
		t->engine->accel->prefetch(t->plan, NULL);
	batch_start(t->in, epoch, t->step % t->steps);
}

void
train_start(struct train *t, uint64_t epoch)
{
	t->reads = DEAL_NONE;
	if (!t->elastic)
		start_reading(t, epoch);
}

int
train_catch_up(struct train *t, uint64_t epoch)
{
	const uint64_t end = (epoch + 1) * t->steps;
	bool renewed;
	uint64_t step;

	ERR_TRY(worker_catch_up(t->wk, &step, &renewed));
	for (uint32_t a = 0; renewed && a < t->graph->nw; a++)
		t->loaded[a] = t->graph->w[a].frozen ? t->loaded[a] : 0;
	if (step > t->step) {
		t->step = step;
		train_keep_place(t);
		if (step < end)
			start_reading(t, epoch);
	}
	return t->step < end;
}

static void
tell_workers(struct train *t, uint32_t workers)
{
	bool joins = t->workers == 0 && t->o->ps.rank >= t->o->ps.elastic && !t->returned;
	char text[128];

	if (workers == t->workers || (t->workers == 0 && !joins))
		return;
	snprintf(text, sizeof(text), "%s%" PRIu32 " worker%s from batch %" PRIu64 " of epoch %" PRIu64 " on",
	    joins ? "joins the job: " : "", workers, workers > 1 ? "s" : "", t->step % t->steps, t->step / t->steps);
	train_tell(t, &(struct train_event){ .kind = TRAIN_WORKERS, .batch = joins, .text = text });
}

int
train_deal(struct train *t, uint64_t epoch)
{
	uint64_t end = (epoch + 1) * t->steps, k;
	uint32_t workers = 0;

	ERR_TRY(worker_deal(t->wk, t->step, &k, &workers));
	if (k == DEAL_NONE)
		return ERR_STOP;
	if (k >= end) {
		t->step = end;
		return 0;
	}
	t->step = k;
	tell_workers(t, workers);
	if (k != t->reads || workers != t->workers) {
		batch_every(t->in, workers);
		start_reading(t, epoch);
	}
	t->workers = workers;
	t->reads = k + workers;
	return 1;
}

static void
trace_device_span(void *trace, const char *row, const char *name, uint64_t from, uint64_t to)
{
	trace_device(trace, row, name, from, to);
}

/* Starts or stops the device's reports to the trace. */
static int
watch_device(struct train *t, bool on)
{
	const struct engine_timeline how = { t->trace, trace_device_span };

	if (on == t->watched || t->engine->accel == NULL)
		return 0;
	t->watched = on;
	return t->engine->accel->timeline(t->plan, on ? &how : NULL);
}

int
train_step(struct train *t, struct train_sums *seen)
{
	const struct batch *b;
	uint32_t k, all = t->o->accumulate;
	bool pushed = false;
	float *stats = t->stats_sum != NULL ? t->stats_sum : t->stats;
	uint64_t from, began;
	char name[32];
	int e;

	trace_step(t->trace, t->step);
	ERR_TRY(watch_device(t, trace_now(t->trace) > 0));
	began = trace_now(t->trace);
	*seen = (struct train_sums){ 0 };
	if (t->stats_sum != NULL)
		memset(t->stats_sum, 0, t->graph->A * sizeof(float));
	for (k = 0; k < all; k++) {
		if ((e = next_micro_batch(t, k, &b)) <= 0) {
			t->unread = e < 0 && (k == 0 || !t->o->local);
			return e;
		}
		train_tell_bad(t, b, &t->left_out);
		if (b->s.n == 0)
			continue;
		if ((e = run_micro_batch(t, b, k, seen->samples == 0, k + 1 == all, seen)) < 0)
			return e;
		pushed = e == 0 && t->push;
	}
	if (!pushed)
		ERR_TRY(finish_without_last(t, seen));
	if (t->stats_sum != NULL && seen->samples > 0)
		for (size_t i = 0; i < t->graph->A; i++)
			t->stats_sum[i] /= (float)seen->samples;
	from = trace_now(t->trace);
	ERR_TRY(worker_finish(t->wk, stats));
	trace_span(t->trace, TRACE_STEPS, from, "statistics");
	t->step++;
	snprintf(name, sizeof(name), "step %" PRIu64, t->step);
	trace_span(t->trace, TRACE_STEPS, began, name);
	return 1;
}
