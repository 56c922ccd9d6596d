/* slice - one slice of a model at its server: gradients of workers in, weights out. */
#include "ps/server/slice.h"
#include "base/err.h"
#include "net/optim/muon.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct slice_part {
	float	*g;		/* gradient held until its turn; NULL: none, or added already */
	uint32_t samples;
	bool	 here;		/* it has pushed in the open step */
};

/* The first bytes of a free buffer point to the next one. */
static float *
pool_get(struct slice_pool *p)
{
	size_t bytes = p->count * sizeof(float);
	void *g = p->spare;

	if (g == NULL)
		return malloc(bytes > sizeof(void *) ? bytes : sizeof(void *));
	memcpy(&p->spare, g, sizeof(p->spare));
	return g;
}

static void
pool_put(struct slice_pool *p, float *g)
{
	memcpy(g, &p->spare, sizeof(p->spare));
	p->spare = g;
}

void
slice_pool_free(struct slice_pool *p)
{
	while (p->spare != NULL)
		free(pool_get(p));
	free(p->work);
}

int
slice_init(struct slice *s, const struct shard_plan *p, uint32_t i, uint32_t nworkers, uint32_t slack,
	const struct opt_hyper *hyper, struct slice_pool *pool)
{
	s->plan = p;
	s->at = &p->slice[i];
	s->hyper = *hyper;
	s->pool = pool;
	s->waits = s->at->kind == SHARD_PLAN_WEIGHTS && norms_count(p, hyper) > 0;
	s->part = calloc(nworkers, sizeof(*s->part));
	s->due = calloc(nworkers, sizeof(*s->due));
	if (s->part == NULL || s->due == NULL)
		return err_nomem();
	return stale_init(&s->stale, nworkers, slack);
}

void
slice_free(struct slice *s)
{
	for (uint32_t w = 0; s->part != NULL && w < s->stale.n; w++)
		free(s->part[w].g);
	free(s->part);
	free(s->due);
	stale_free(&s->stale);
}

int
slice_first(struct slice *s, const struct msg *m)
{
	bool state = m->flags & MSG_STATE_OF, average = m->flags & MSG_AVERAGE_OF;
	float *to = state ? s->m : average ? s->average : s->w;

	if (m->len != s->at->count * sizeof(float) * (state ? opt_states(s->hyper.rule) : 1) || to == NULL)
		return err_fail(ERR_FORMAT, "first weights of slice %" PRIu32 " have %" PRIu32 " bytes", m->slice,
		    m->len);
	if (s->ready)
		return 0;
	if (m->len > 0)
		memcpy(to, m->payload, m->len);
	if (average)
		s->averaged = m->samples;
	if (state || average)
		return 0;
	if (s->averaged == 0 && s->average != NULL && m->len > 0)
		memcpy(s->average, s->w, m->len);
	s->averaged += s->averaged == 0 && s->hyper.average.kind == AVERAGE_LOOKAHEAD;
	s->ready = true;
	s->step = m->step;
	s->updates = m->samples > 0 ? m->samples : m->step;
	for (uint32_t w = 0; w < s->stale.n; w++)
		stale_done(&s->stale, w, m->step);
	return 0;
}

/* Takes one step of the optimizer, each parameter group with its own rate.  k is NULL if no norms are needed. */
static void
apply_optimizer(struct slice *s, const float *g, double n, const struct norms_scale *k)
{
	size_t first = s->at->first, end = first + s->at->count;
	uint32_t states = opt_states(s->hyper.rule);
	struct opt_hyper h = s->hyper;

	h.t = s->stale.slack == STALE_SYNC ? s->step + 1 : ++s->updates;
	for (uint32_t i = 0; i < s->plan->ngroup; i++) {
		const struct shard_plan_group *p = &s->plan->group[i];
		size_t from = p->first > first ? p->first : first;
		size_t to = p->first + p->count < end ? p->first + p->count : end, at = from - first;

		if (from >= to)
			continue;
		h.lr = s->rate * p->lr * (k != NULL ? k->rate[i] : 1);
		h.wd = s->hyper.wd * p->wd;
		if (s->at->rows == 0)
			opt_step(s->w + at, s->m + at * states, g + at, to - from, n, &h);
		else if (h.lr > 0)
			muon_step(s->w, s->m, g, s->at->rows, p->count / s->at->rows, n, &h, s->pool->work);
	}
}

/* Updates the slice with g, the sum over n samples. */
static void
apply_rule(struct slice *s, const float *g, uint64_t n, const struct norms_scale *k)
{
	size_t first = s->at->first, end = first + s->at->count;

	if (n == 0)
		return;
	if (s->at->kind == SHARD_PLAN_WEIGHTS) {
		apply_optimizer(s, g, k != NULL ? (double)n / k->shrink : (double)n, k);
		return;
	}
	for (uint32_t i = 0; i < s->plan->nfold; i++) {
		const struct shard_plan_fold *f = &s->plan->fold[i];
		size_t from = f->first > first ? f->first : first;
		size_t to = f->first + f->count < end ? f->first + f->count : end;

		if (from < to)
			opt_fold(s->w + (from - first), g + (from - first), to - from, (double)n, f->momentum);
	}
}

/* Follows an update; any: it had samples. */
static void
update_average(struct slice *s, bool any)
{
	uint64_t t = s->stale.slack == STALE_SYNC ? s->step + 1 : s->updates;

	if (s->average != NULL && (any || s->marked) && average_step(&s->hyper.average, s->average, s->w, s->at->count,
	    s->averaged, t, s->marked, s->at->kind == SHARD_PLAN_AUX) && s->averaged < UINT32_MAX)
		s->averaged++;
	s->marked = false;
}

/* Adds one gradient; p is unaligned bytes. */
static void
add_gradient(struct slice *s, const void *p, uint32_t samples)
{
	const unsigned char *restrict g = p;
	float *restrict sum = s->sum;
	size_t n = s->at->count;

	if (samples == 0)
		return;
	if (s->samples == 0 && n > 0)
		memcpy(sum, g, n * sizeof(float));
	else
		for (size_t i = 0; i < n; i++) {
			float v;

			memcpy(&v, g + i * sizeof(v), sizeof(v));
			sum[i] += v;
		}
	s->samples += samples;
}

static void
add_held_gradient(struct slice *s, uint32_t w)
{
	struct slice_part *p = &s->part[w];

	if (p->g == NULL)
		return;
	add_gradient(s, p->g, p->samples);
	pool_put(s->pool, p->g);
	p->g = NULL;
}

void
slice_update(struct slice *s, const struct norms_scale *k)
{
	if (s->at->count > 0)
		memcpy(s->before, s->w, s->at->count * sizeof(float));
	apply_rule(s, s->sum, s->samples, k);
	update_average(s, s->samples > 0);
	s->samples = 0;
	s->full = s->counted = false;
	s->rated = false;
	s->began = true;
	s->step++;
	/* A pull for the weights of the step that closes has no answer yet. */
	for (uint32_t w = 0; w < s->stale.n; w++)
		if (s->due[w] & SLICE_PULL)
			s->due[w] ^= SLICE_PULL | SLICE_BEFORE;
}

static void
close_sum(struct slice *s)
{
	for (; s->next < s->stale.n; s->next++)
		add_held_gradient(s, s->next);
	for (uint32_t w = 0; w < s->stale.n; w++)
		s->part[w].here = false;
	s->next = 0;
	s->full = true;
	if (!s->waits)
		slice_update(s, NULL);
}

/* Adds the gradients that are next in the order of ranks, and closes the step when all are there. */
static void
advance_sum(struct slice *s)
{
	bool any = false;

	if (s->full)
		return;
	for (; s->next < s->stale.n && s->part[s->next].here; s->next++)
		add_held_gradient(s, s->next);
	for (uint32_t w = 0; w < s->stale.n; w++) {
		if (!s->part[w].here && !s->stale.gone[w])
			return;
		any |= s->part[w].here;
	}
	if (any)
		close_sum(s);
}

static int
push_sync(struct slice *s, const struct msg *m)
{
	struct slice_part *p = &s->part[m->worker];

	if (m->samples > 0 && s->rated && m->rate != s->rate)
		return err_fail(ERR_FORMAT, "step %" PRIu64 " has rate %.9g, the others' %.9g", m->step,
		    (double)m->rate, (double)s->rate);
	if (m->samples > 0 && (m->worker == s->next || m->len == 0)) {
		add_gradient(s, m->payload, m->samples);
	} else if (m->samples > 0) {
		if ((p->g = pool_get(s->pool)) == NULL)
			return err_nomem();
		memcpy(p->g, m->payload, m->len);
	}
	if (m->samples > 0) {
		s->rate = m->rate;
		s->rated = true;
	}
	p->samples = m->samples;
	p->here = true;
	s->marked |= (m->flags & MSG_MARK) != 0;
	stale_done(&s->stale, m->worker, m->step + 1);
	advance_sum(s);
	return 0;
}

static void
push_async(struct slice *s, const struct msg *m)
{
	if (m->len > 0)
		memcpy(s->sum, m->payload, m->len);
	s->rate = m->rate;
	apply_rule(s, s->sum, m->samples, NULL);
	update_average(s, m->samples > 0);
	s->began = true;
	stale_done(&s->stale, m->worker, m->step + 1);
}

int
slice_push(struct slice *s, const struct msg *m)
{
	bool empty = m->flags & MSG_EMPTY;
	uint64_t done = s->stale.clock[m->worker];
	int e;

	if (s->at->frozen)
		return err_fail(ERR_FORMAT, "slice %" PRIu32 " is frozen", m->slice);
	if (!s->ready || m->step > done || (m->step == done && (s->full || !stale_may_step(&s->stale, m->worker))))
		return err_fail(ERR_FORMAT, "step %" PRIu64 " of slice %" PRIu32 " is out of turn", m->step, m->slice);
	if (m->len != (empty ? 0 : s->at->count * sizeof(float)) || empty != (m->samples == 0) || !isfinite(m->rate))
		return err_fail(ERR_FORMAT, "push of slice %" PRIu32 " has %" PRIu32 " bytes, %" PRIu32
		    " samples, rate %g", m->slice, m->len, m->samples, (double)m->rate);
	if (m->step == done) {
		if (s->stale.slack != STALE_SYNC)
			push_async(s, m);
		else if ((e = push_sync(s, m)) < 0)
			return e;
	}
	s->due[m->worker] |= SLICE_W;
	return 0;
}

void
slice_leave(struct slice *s, uint32_t w)
{
	s->due[w] = 0;
	stale_leave(&s->stale, w);
	if (s->stale.slack == STALE_SYNC)
		advance_sum(s);
}

void
slice_join(struct slice *s, uint32_t w)
{
	s->due[w] = 0;
	stale_join(&s->stale, w);
	if (s->stale.slack == STALE_SYNC)
		stale_done(&s->stale, w, s->step + s->full);	/* a full step is closed to a worker that joins now */
}

uint64_t
slice_step(const struct slice *s, uint32_t w)
{
	return s->stale.slack == STALE_SYNC ? s->step : s->stale.clock[w];
}
