/*
 * learn - the device optimizer: updates weights from the gradients of the backward pass, and
 * downloads its state.
 */
#include "engine/cuda/join.h"
#include "engine/cuda/learn.h"
#include "engine/cuda/timeline.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The rule per element, as in opt_step().  What LARS and Muon do to whole arrays happens before. */
static const struct {
	enum kernel_rule rule;
	uint32_t states;
} rules[] = {
	[OPT_SGD] = { KERNEL_SGD, 1 }, [OPT_LARS] = { KERNEL_SGD, 1 },
	[OPT_NESTEROV] = { KERNEL_NESTEROV, 1 }, [OPT_MUON] = { KERNEL_NESTEROV, 1 },
	[OPT_ADAM] = { KERNEL_ADAM, 2 }, [OPT_ADAMW] = { KERNEL_ADAM, 2 },
	[OPT_RMSPROP] = { KERNEL_RMSPROP, 2 }, [OPT_DESCENT] = { KERNEL_DESCENT, 0 },
	[OPT_FOLD] = { KERNEL_FOLD, 0 },
};

uint32_t
learn_count_states(const struct opt_hyper *h)
{
	return rules[h->rule].states;
}

/* The part that is the same for all updates. */
static struct kernel_opt
make_kernel_opt(const struct opt_hyper *h)
{
	return (struct kernel_opt){
		.rule = (int)rules[h->rule].rule, .rare = h->clip > 0 || h->l1 > 0,
		.momentum = h->rule == OPT_MUON ? h->beta2 : h->momentum, .wd = h->rule == OPT_ADAMW ? 0 : h->wd,
		.clip = h->clip > 0 ? h->clip : INFINITY, .l1 = h->l1, .beta2 = h->beta2, .eps = h->eps,
	};
}

static struct kernel_rates
make_rates(const struct opt_hyper *h, double n)
{
	return (struct kernel_rates){
		.scale = (float)(1 / n), .lr = h->lr,
		.rate = (float)((double)h->lr / (1 - pow((double)h->momentum, (double)h->t))),
		.root = (float)sqrt(1 - pow((double)h->beta2, (double)h->t)),
		.shrink = h->rule == OPT_ADAMW || h->rule == OPT_MUON ? 1 - h->lr * h->wd : 1,
	};
}

/* Uploads everything and downloads the result: only the weights of a plan stay on the GPU. */
int
learn_update(struct engine_dev *dev, float *w, float *state, const float *g, size_t count, double n,
	const struct opt_hyper *hyper)
{
	const size_t most = (size_t)1 << 28, states = rules[hyper->rule].states;
	const struct {
		struct kernel_rates rates;
		struct kernel_range range;
	} same = { make_rates(hyper, n), { 0, 0, 0, 1 } }, *there;
	const size_t head = memplan_round(sizeof(same));
	struct kernel_opt a = make_kernel_opt(hyper);
	struct device *d = dev->d;
	void *at;
	int e = device_make_current(d);

	if (e < 0)
		return e;
	for (size_t part; count > 0; count -= part, w += part, g += part) {
		part = count < most ? count : most;
		if ((e = device_alloc(d, head + (2 + states) * part * sizeof(*w), &at)) < 0)
			return e;
		there = at;
		a.rates = &there->rates;
		a.range = &there->range;
		a.n = 1;
		a.w = (float *)((char *)at + head);
		a.state = a.w + part;
		a.g = a.state + states * part;
		if ((e = device_upload(d, DEVICE_MAIN, at, &same, sizeof(same))) == 0 &&
		    (e = device_upload(d, DEVICE_MAIN, a.w, w, part * sizeof(*w))) == 0 &&
		    (e = device_upload(d, DEVICE_MAIN, a.state, state, states * part * sizeof(*w))) == 0 &&
		    (e = device_upload(d, DEVICE_MAIN, a.state + states * part, g, part * sizeof(*g))) == 0 &&
		    (e = kernel_run_opt(d, &a, (uint32_t)part, KERNEL_F32)) == 0 &&
		    (e = device_download(d, DEVICE_MAIN, w, a.w, part * sizeof(*w))) == 0 &&
		    (e = device_download(d, DEVICE_MAIN, state, a.state, states * part * sizeof(*w))) == 0)
			e = device_wait(d);
		device_free(d, at);
		if (e < 0)
			return e;
		state = states > 0 ? state + states * part : NULL;
	}
	return 0;
}

/* ------ micro-batches ------ */

int
learn_add_batch(struct engine_plan *p, struct exec_set *set)
{
	struct learn *l = p->learn;

	l->sum_graph = l->added ? EXEC_GRAPH_SUM_NEXT : EXEC_GRAPH_SUM_FIRST;
	l->added = true;
	l->updated = false;
	return l->accumulate ? pass_launch(p, set, l->sum_graph) : 0;
}

/* The update before it found the infinite gradients, and changed nothing.  Norms have changed its rates. */
int
learn_repeat(struct engine_plan *p, struct exec_set *set)
{
	const struct learn *l = p->learn;
	int e;

	/* Gradients that stayed infinite enter the sum too, so that the update stops and names them. */
	if (l->accumulate && ((e = device_zero(p->dev->d, p->kept_base + p->kept.bad, sizeof(uint32_t))) < 0 ||
	    (e = pass_launch(p, set, l->sum_graph)) < 0))
		return e;
	if (!l->updated)
		return 0;
	if ((e = device_zero(p->dev->d, l->base + l->bad, sizeof(uint32_t))) < 0 ||
	    (e = device_upload(p->dev->d, DEVICE_MAIN, l->base, l->up, l->up_bytes)) < 0)
		return e;
	return pass_launch(p, &p->set[0], EXEC_GRAPH_UPDATE);
}

int
learn_zero_batch(struct engine_plan *p)
{
	int e = device_zero(p->dev->d, p->kept_base + p->kept.g, p->graph->P * sizeof(float));

	return e == 0 ? device_zero(p->dev->d, p->kept_base + p->kept.stats, p->graph->A * sizeof(float)) : e;
}

int
learn_weigh_statistics(struct engine_plan *p, uint32_t n)
{
	float *stats = exec_floats(p, p->kept.stats);
	const struct kernel_accumulate a = { stats, stats, (float)n, 1, NULL };

	return kernel_run_accumulate(p->dev->d, &a, (uint32_t)p->graph->A, KERNEL_F32);
}

int
learn_enqueue_sum(struct engine_plan *p, uint32_t n, bool first)
{
	const struct learn *l = p->learn;
	const uint32_t *bad = p->type == KERNEL_F16 ? (const uint32_t *)exec_floats(p, p->kept.bad) : NULL;
	const struct kernel_accumulate g = { exec_floats(p, p->kept.g), learn_floats(l, l->sum), 1, first, bad };
	const struct kernel_accumulate stats = { exec_floats(p, p->kept.stats), learn_floats(l, l->stats),
	    l->joined ? 1 : (float)n, first, bad };
	int e = kernel_run_accumulate(p->dev->d, &g, (uint32_t)p->graph->P, KERNEL_F32);

	return e == 0 ? kernel_run_accumulate(p->dev->d, &stats, (uint32_t)p->graph->A, KERNEL_F32) : e;
}

/* ------ update ------ */

static int
update_average(struct engine_plan *p)
{
	const struct learn *l = p->learn;
	const struct kernel_step *step = (const struct kernel_step *)learn_floats(l, l->step);
	const uint32_t *bad = (const uint32_t *)learn_floats(l, l->bad);
	struct kernel_average a = { learn_floats(l, l->average), exec_floats(p, p->kept.w), step, bad, 0 };
	struct kernel_average b = { a.a + p->graph->P, exec_floats(p, p->kept.aux), step, bad, 1 };
	int e;

	if (!l->averages)
		return 0;
	e = kernel_run_average(p->dev->d, &a, (uint32_t)p->graph->P, KERNEL_F32);
	return e == 0 ? kernel_run_average(p->dev->d, &b, (uint32_t)p->graph->A, KERNEL_F32) : e;
}

static int
fold_statistics(struct engine_plan *p, const struct learn *l)
{
	int e = 0;

	for (uint32_t i = 0; i < l->nfold && e == 0; i++) {
		const struct engine_fold *f = &l->fold[i];
		const struct kernel_statistics a = { exec_floats(p, p->kept.aux) + f->first,
			(l->accumulate ? learn_floats(l, l->stats) : exec_floats(p, p->kept.stats)) + f->first,
			(const struct kernel_step *)learn_floats(l, l->step),
			(const uint32_t *)learn_floats(l, l->bad), l->accumulate || l->joined, f->momentum };

		e = kernel_run_statistics(p->dev->d, &a, (uint32_t)f->count, KERNEL_F32);
	}
	return e;
}

int
learn_enqueue_update(struct engine_plan *p)
{
	const struct learn *l = p->learn;
	const float *g = l->accumulate ? learn_floats(l, l->sum) : exec_floats(p, p->kept.g);
	const struct kernel_finite finite = { g, (uint32_t *)learn_floats(l, l->bad) };
	const struct kernel_finite last = { exec_floats(p, p->kept.g), finite.bad };
	struct kernel_opt a = make_kernel_opt(&l->hyper);
	int e;

	a.range = (const struct kernel_range *)learn_floats(l, l->ranges);
	a.n = l->nrange;
	a.w = exec_floats(p, p->kept.w);
	a.state = learn_floats(l, l->state);
	a.g = g;
	a.rates = (const struct kernel_rates *)learn_floats(l, l->rates);
	a.bad = finite.bad;
	e = kernel_run_finite(p->dev->d, &finite, (uint32_t)p->graph->P, KERNEL_F32);
	/* A sum lacks the last gradients if these are infinite. */
	if (e == 0 && l->accumulate && p->type == KERNEL_F16)
		e = kernel_run_finite(p->dev->d, &last, (uint32_t)p->graph->P, KERNEL_F32);
	if (e == 0)
		e = learn_norms_run(p, l, g);
	if (e == 0)
		e = learn_muon_run(p, l, g);
	if (e == 0)
		e = kernel_run_opt(p->dev->d, &a, l->range_values, KERNEL_F32);
	if (e < 0 || (e = fold_statistics(p, l)) < 0 || (e = update_average(p)) < 0)
		return e;
	return run_weights(p, false);
}

/* As average_step(). */
static void
choose_average(struct learn *l, struct kernel_step *step, uint64_t t, bool mark)
{
	const struct average *o = &l->hyper.average;
	bool one = true;

	switch (l->averages ? o->kind : AVERAGE_NONE) {
	case AVERAGE_EMA:
		step->way = step->aux_way = l->averaged == 0 ? KERNEL_AVERAGE_COPY : KERNEL_AVERAGE_TOWARDS;
		step->by = 1 - o->rate;
		break;
	case AVERAGE_SWA:
		step->way = step->aux_way = !mark ? KERNEL_AVERAGE_KEEP :
		    l->averaged == 0 ? KERNEL_AVERAGE_COPY : KERNEL_AVERAGE_TOWARDS;
		step->by = 1 / ((float)l->averaged + 1);
		one = mark;
		break;
	case AVERAGE_LOOKAHEAD:
		step->way = t % o->every == 0 ? KERNEL_AVERAGE_BACK : KERNEL_AVERAGE_KEEP;
		step->aux_way = KERNEL_AVERAGE_COPY;
		step->by = o->rate;
		break;
	case AVERAGE_NONE:
	case AVERAGE_KINDS:
		one = false;
	}
	if (one && l->averaged < UINT32_MAX)
		l->averaged++;
}

/* Uploads what changes with each update. */
static int
send_step_inputs(struct engine_plan *p, uint64_t n, float rate, uint64_t t, bool mark)
{
	struct learn *l = p->learn;
	struct kernel_step *step = (struct kernel_step *)l->up;
	struct kernel_rates *of = (struct kernel_rates *)(l->up + l->rates);
	int e = l->uploading ? device_wait(p->dev->d) : 0;

	if (e < 0)
		return e;
	l->uploading = true;
	l->t = t;
	*step = (struct kernel_step){ .n = (double)n };
	choose_average(l, step, t, mark);
	for (uint32_t i = 0; i < l->ngroup; i++) {
		struct opt_hyper h = l->hyper;

		h.lr = rate * l->group[i].lr;
		h.wd = l->hyper.wd * l->group[i].wd;
		h.t = t;
		of[i] = make_rates(&h, (double)n);
	}
	return device_upload(p->dev->d, DEVICE_MAIN, l->base, l->up, l->up_bytes);
}

int
learn_step(struct engine_plan *p, uint64_t n, float rate, uint64_t t, bool mark)
{
	struct learn *l = p->learn;
	int e = device_make_current(p->dev->d);

	/* An update in f16 need not wait for the check of its gradients: learn_repeat(). */
	if (e < 0 || ((n == 0 || l->updated) && (e = pass_settle(p)) < 0))
		return e;
	assert(l != NULL && !l->shown && (n == 0) == !l->added);
	l->added = false;
	if ((n == 0 && !mark) || (e = send_step_inputs(p, n, rate, t, mark)) < 0)
		return e;
	if (n == 0)
		return update_average(p);
	l->updated = true;
	p->weights = EXEC_WEIGHTS_PLAIN;
	if ((e = timeline_begin(p, TIMELINE_UPDATE)) < 0 || (e = pass_launch(p, &p->set[0], EXEC_GRAPH_UPDATE)) < 0)
		return e;
	return timeline_end(p, TIMELINE_UPDATE);
}

/* ------ results ------ */

int
learn_download_check(struct engine_plan *p)
{
	const struct learn *l = p->learn;

	return l == NULL ? 0 : device_download(p->dev->d, DEVICE_MAIN, l->up + l->up_bytes, learn_floats(l, l->bad),
	    sizeof(uint32_t));
}

/* The check names the place, because the next backward pass may already have overwritten the gradients. */
int
learn_read_check(struct engine_plan *p)
{
	struct learn *l = p->learn;
	const struct graph *graph = p->graph;
	uint32_t bad, a;

	if (l == NULL)
		return 0;
	l->uploading = false;
	if ((bad = *(const uint32_t *)(l->up + l->up_bytes)) == 0)
		return 0;
	for (a = graph->nw - 1; a > 0 && graph->w[a].first >= bad; a--)
		;
	p->dev->host->note(0,
	    "step %llu: the gradient of %s is NaN or infinite; those of the layers after it are finite",
	    (unsigned long long)l->t, graph->w[a].name);
	return ERR_FORMAT;
}

int
learn_settle(struct engine_plan *p)
{
	int e = device_make_current(p->dev->d);

	if (e == 0)
		e = pass_settle(p);
	if (!p->learn->joined)
		return e;
	/* Callers then wait for one device after another, so this is where each learns that its GPU is lost. */
	if (e == 0)
		e = device_wait(p->dev->d);
	if (e < 0)
		join_fail(p);
	return e;
}

int
learn_show_average(struct engine_plan *p, bool show)
{
	struct learn *l = p->learn;
	struct kernel_swap w = { exec_floats(p, p->kept.w), learn_floats(l, l->average) };
	struct kernel_swap aux = { exec_floats(p, p->kept.aux), w.b + p->graph->P };
	struct device *d = p->dev->d;
	int e = device_make_current(d);

	assert(l->averages && l->shown != show);
	if (e < 0 || (e = pass_settle(p)) < 0 || (e = kernel_run_swap(d, &w, (uint32_t)p->graph->P, KERNEL_F32)) < 0 ||
	    (e = kernel_run_swap(d, &aux, (uint32_t)p->graph->A, KERNEL_F32)) < 0)
		return e;
	l->shown = show;
	p->weights = EXEC_WEIGHTS_STALE;
	return 0;
}

int
learn_fetch(struct engine_plan *p, float *w, float *aux, float *state, float *average, uint32_t *averaged)
{
	const struct learn *l = p->learn;
	size_t P = p->graph->P * sizeof(float), A = p->graph->A * sizeof(float);
	struct device *d = p->dev->d;
	int e = device_make_current(d);

	assert(l != NULL && !l->shown);
	if (e < 0 || (e = pass_settle(p)) < 0)
		return e;
	if (averaged != NULL)
		*averaged = l->averaged;
	if ((e = device_download(d, DEVICE_MAIN, w, exec_floats(p, p->kept.w), w != NULL ? P : 0)) < 0 ||
	    (e = device_download(d, DEVICE_MAIN, aux, exec_floats(p, p->kept.aux), aux != NULL ? A : 0)) < 0 ||
	    (e = device_download(d, DEVICE_MAIN, state, learn_floats(l, l->state),
	    state != NULL ? P * rules[l->hyper.rule].states : 0)) < 0 ||
	    (e = device_download(d, DEVICE_MAIN, average, learn_floats(l, l->average),
	    average != NULL ? P + A : 0)) < 0 ||
	    (e = learn_download_check(p)) < 0 || (e = device_wait(d)) < 0)
		return e;
	return learn_read_check(p);
}
