/* train_step - one step: batches through the net, gradients to the servers as they are born. */
#include "ps/train_in.h"
#include "base/err.h"

#include <string.h>

/* The plan is about to read array a: wait for this step's and load it, once a step. */
static int
need(void *arg, uint32_t a)
{
	struct train *t = arg;
	int e;

	if (t->loaded[a] == t->step + 1 || (t->loaded[a] > 0 && t->graph->w[a].frozen))
		return 0;
	if ((e = worker_need(t->wk, a)) < 0 ||
	    (e = t->engine->load(t->plan, a, t->w + t->graph->w[a].first)) < 0)
		return e;
	t->loaded[a] = t->step + 1;
	return 0;
}

static void
add(float *restrict sum, const float *restrict g, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum[i] += g[i];
}

/* Array a's gradient is final: of the step's last piece it leaves at once. */
static int
born(void *arg, uint32_t a)
{
	struct train *t = arg;
	const struct graph_array *r = &t->graph->w[a];
	int e;

	if (t->add)
		add(t->sum + r->first, t->g + r->first, r->count);
	if (!t->push)
		return 0;
	e = train_gradient_is(t, a, t->add ? t->sum : t->into);
	return e < 0 ? e : worker_push(t->wk, a, t->add ? t->sum : t->into);
}

int
train_load_all(struct train *t)
{
	int e = worker_ready(t->wk);

	for (uint32_t a = 0; e == 0 && a < t->graph->nw; a++)
		e = need(t, a);
	return e == 0 ? t->engine->load_aux(t->plan, t->aux) : e;
}

/* A step in which this worker's last piece is empty: what it has leaves now. */
static int
push_all(struct train *t)
{
	for (uint32_t a = 0; a < t->graph->nw; a++) {
		int e = t->graph->w[a].frozen ? 0 : worker_push(t->wk, a, t->sum);

		if (e < 0)
			return e;
	}
	return 0;
}

/* The number of the first sample of this worker's k-th piece among all of a step; the last step's may have gaps. */
static uint64_t
first_sample(const struct train *t, uint32_t k)
{
	uint64_t piece = (uint64_t)t->o->ps.rank * t->o->accumulate + k, first = 0;

	if (t->sizes == NULL)
		return piece * t->o->data.batch;
	for (uint64_t i = 0; i < piece; i++)
		first += t->sizes[i];
	return first;
}

/* The pushes of a step begin; the last one of an epoch may count for the mean over epochs. */
static int
step(struct train *t, uint32_t n)
{
	int e = worker_step(t->wk, n, train_lr(t, t->step));

	if (e == 0 && t->o->ps.hyper.average.kind == AVERAGE_SWA && (t->step + 1) % t->steps == 0 &&
	    t->step / t->steps >= t->o->swa)
		worker_mark(t->wk);
	return e;
}

/* k: which of this worker's pieces it is.  Returns 1 when it is left out. */
static int
piece(struct train *t, const struct batch *b, uint32_t k, bool first, bool last, struct train_sums *seen)
{
	const struct engine_hook hook = { t, need, born };
	const struct engine_draw draw = { t->o->seed, t->step, first_sample(t, k) };
	const struct engine *en = t->engine;
	struct engine_result r;
	int e;

	if ((e = en->forward(t->plan, &b->s, &draw, &hook, &r)) < 0)
		return e;
	/* Only now is all of the last step's answer here, and with it the word that the job ends. */
	if (first && worker_last(t->wk))
		return ERR_STOP;
	if ((e = train_loss_is(t, r.loss, b->s.n)) != 0)
		return e;
	seen->loss += train_loss(r.loss);
	seen->correct += r.correct;
	seen->top5 += r.top5;
	seen->samples += b->s.n;
	if (last && (e = step(t, (uint32_t)seen->samples)) < 0)
		return e;
	t->push = last;
	t->add = !first;
	t->into = first && t->sum != NULL ? t->sum : t->g;
	if ((e = en->backward(t->plan, t->into, t->stats, &hook)) < 0)
		return e;
	if (t->stats_sum != NULL)
		for (size_t i = 0; i < t->graph->A; i++)
			t->stats_sum[i] += t->stats[i] * (float)b->s.n;
	return 0;
}

/* The end of a step whose last piece was empty for this worker, or all of them. */
static int
without_last(struct train *t, uint32_t n)
{
	int e;

	if (n == 0) {
		if ((e = worker_ready(t->wk)) < 0)
			return e;
		if (worker_last(t->wk))
			return ERR_STOP;
	}
	if ((e = step(t, n)) < 0)
		return e;
	return n > 0 ? push_all(t) : 0;
}

/*
 * Piece k of the step.  Streams do not end together: a worker whose own has ended takes part with empty pieces until no
 * worker has a record left, which all of them learn before each step.
 */
static int
next(struct train *t, uint32_t k, const struct batch **b)
{
	static const struct batch none;
	int e = batch_next(t->in, b), sum;
	double have = e > 0;

	if (e < 0 || !t->stream || !t->sync || t->o->ps.nworkers == 1)
		return e;
	if (k == 0 && (sum = worker_sum(t->wk, &have, 1)) < 0)
		return sum;
	if (e == 0)
		*b = &none;
	return k > 0 || have > 0;
}

int
train_step(struct train *t, struct train_sums *seen)
{
	const struct batch *b;
	uint32_t k, all = t->o->accumulate;
	bool pushed = false;
	float *stats = t->stats_sum != NULL ? t->stats_sum : t->stats;
	int e;

	*seen = (struct train_sums){ 0 };
	if (t->stats_sum != NULL)
		memset(t->stats_sum, 0, t->graph->A * sizeof(float));
	for (k = 0; k < all; k++) {
		if ((e = next(t, k, &b)) <= 0)
			return e;
		if (b->bad > 0)
			train_tell(t, &(struct train_event){ .kind = TRAIN_BAD, .samples = b->bad, .text = b->why });
		if (b->s.n == 0)
			continue;
		if ((e = piece(t, b, k, seen->samples == 0, k + 1 == all, seen)) < 0)
			return e;
		pushed = k + 1 == all && e == 0;
	}
	if (!pushed && (e = without_last(t, (uint32_t)seen->samples)) < 0)
		return e;
	if (t->stats_sum != NULL && seen->samples > 0)
		for (size_t i = 0; i < t->graph->A; i++)
			t->stats_sum[i] /= (float)seen->samples;
	if ((e = worker_finish(t->wk, stats)) < 0)
		return e;
	t->step++;
	return 1;
}
