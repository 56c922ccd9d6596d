/* learn_begin - allocates the device optimizer's memory and tables, and frees them. */
#include "engine/cuda/learn.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

static void *
copy_of(const void *from, size_t n, size_t each)
{
	void *to = calloc(n + 1, each);

	if (to != NULL && n > 0)
		memcpy(to, from, n * each);
	return to;
}

/* Joins neighbouring ranges of statistics with one momentum, so that a kernel folds all of them. */
static void
join_folds(struct learn *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->nfold; i++) {
		const struct engine_fold *f = &l->fold[i];
		struct engine_fold *last = n > 0 ? &l->fold[n - 1] : NULL;

		if (last != NULL && last->first + last->count == f->first && last->momentum == f->momentum)
			last->count += f->count;
		else
			l->fold[n++] = *f;
	}
	l->nfold = n;
}

static int
list_ranges(struct engine_plan *p, struct learn *l)
{
	if ((l->range = calloc(l->ngroup + 1, sizeof(*l->range))) == NULL)
		return device_nomem(p->dev->host);
	for (uint32_t i = 0; i < l->ngroup; i++) {
		const struct engine_group *r = &l->group[i];

		if (learn_is_matrix(l, r))
			continue;
		l->range[l->nrange++] = (struct kernel_range){ l->range_values, (uint32_t)r->first, i, r->wd };
		l->range_values += (uint32_t)r->count;
	}
	return 0;
}

static int
alloc_learn_memory(struct engine_plan *p, struct learn *l)
{
	size_t P = p->graph->P * sizeof(float), A = p->graph->A * sizeof(float), all = 0;
	void *at;
	int e;

	l->step = learn_reserve(&all, sizeof(struct kernel_step));
	l->rates = learn_reserve(&all, l->ngroup * sizeof(struct kernel_rates));
	l->up_bytes = all;
	l->bad = learn_reserve(&all, sizeof(uint32_t));
	l->ranges = learn_reserve(&all, l->nrange * sizeof(*l->range));
	l->state = learn_reserve(&all, P * l->states);
	l->sum = learn_reserve(&all, l->accumulate ? P : 0);
	l->stats = learn_reserve(&all, l->accumulate ? A : 0);
	l->average = learn_reserve(&all, l->averages ? P + A : 0);
	if ((e = device_alloc(p->dev->d, all, &at)) < 0)
		return e;
	l->base = at;
	if ((e = device_zero(p->dev->d, at, all)) < 0 ||
	    (e = device_alloc_pinned(p->dev->d, l->up_bytes + sizeof(uint32_t), &at)) < 0)
		return e;
	l->up = at;
	memset(l->up, 0, l->up_bytes + sizeof(uint32_t));
	return (e = learn_norms_make(p, l)) < 0 ? e : learn_muon_make(p, l);
}

static int
start_learning(struct engine_plan *p, struct learn *l, const struct engine_opt *how)
{
	size_t P = p->graph->P * sizeof(float), A = p->graph->A * sizeof(float);
	struct device *d = p->dev->d;
	int e;

	l->group = copy_of(how->group, how->ngroup, sizeof(*l->group));
	l->fold = copy_of(how->fold, how->nfold, sizeof(*l->fold));
	if (l->group == NULL || l->fold == NULL)
		return device_nomem(p->dev->host);
	join_folds(l);
	if ((e = list_ranges(p, l)) < 0 || (e = alloc_learn_memory(p, l)) < 0 ||
	    (e = device_upload(d, DEVICE_MAIN, l->base + l->ranges, l->range, l->nrange * sizeof(*l->range))) < 0 ||
	    (e = device_upload(d, DEVICE_MAIN, learn_floats(l, l->state), how->state,
	    P * l->states)) < 0)
		return e;
	if (l->averages && (e = device_upload(d, DEVICE_MAIN, learn_floats(l, l->average), how->average, P + A)) < 0)
		return e;
	/* From here on the weights on the GPU are the current ones. */
	return (e = pass_prepare_weights(p, &p->set[0], EXEC_WEIGHTS_PLAIN)) == 0 ? device_wait(d) : e;
}

int
learn_begin(struct engine_plan *p, const struct engine_opt *how)
{
	int e = device_make_current(p->dev->d);

	assert(p->learn == NULL);
	if (e < 0)
		return e;
	exec_set_forget_backward(p);
	if ((p->learn = calloc(1, sizeof(*p->learn))) == NULL)
		return device_nomem(p->dev->host);
	*p->learn = (struct learn){ .hyper = how->hyper, .states = learn_count_states(&how->hyper),
		.ngroup = how->ngroup, .nfold = how->nfold,
		.accumulate = how->accumulate, .joined = how->joined,
		.averages = how->average != NULL, .averaged = how->averaged };
	if ((e = start_learning(p, p->learn, how)) < 0) {
		device_wait(p->dev->d);
		learn_free(p);
	}
	return e;
}

void
learn_free(struct engine_plan *p)
{
	struct learn *l = p->learn;

	if (l == NULL)
		return;
	device_free(p->dev->d, l->base);
	learn_squares_free(p, &l->norms.of);
	device_free(p->dev->d, l->norms.base);
	learn_muon_free(p, l);
	device_free_pinned(p->dev->d, l->up);
	free(l->group);
	free(l->range);
	free(l->fold);
	free(l);
	p->learn = NULL;
}
