/* slice_rule - an update of a slice by the optimizer, or of its statistics, and the average after it: serves slice. */
#include "ps/server/slice_in.h"
#include "net/optim/muon.h"

/* The optimizer of step `step`. */
static struct opt_hyper
get_hyper(const struct slice *s, uint64_t step)
{
	struct opt_hyper h = s->hyper;
	struct setting c;

	settings_at(settings_kept(s->settings), step, &c);
	h.momentum = c.has & SETTING_MOMENTUM ? (float)c.momentum : h.momentum;
	h.wd = c.has & SETTING_WD ? (float)c.wd : h.wd;
	return h;
}

/* The state of the weight at an index of a half, or NULL if the optimizer keeps none. */
static float *
find_state(const struct slice *s, unsigned half, size_t index)
{
	return s->m[half] != NULL ? s->m[half] + index * slice_count_states(s) : NULL;
}

/*
 * Takes one step of the optimizer into half `to`, each parameter group with its own rate.  h is without rate and
 * number; k is NULL if no norms are needed.
 */
static void
apply_optimizer(struct slice *s, unsigned to, const float *g, double n, struct opt_hyper h,
    const struct norms_scale *k)
{
	size_t first = s->at->first, end = first + s->at->count;
	uint32_t states = slice_count_states(s);
	float *w = s->w[to], *m = s->m[to];
	const float wd = h.wd;

	h.t = s->stale.slack == STALE_SYNC ? s->step + 1 : ++s->updates;
	if (s->at->rows > 0) {
		slice_copy_floats(w, s->w[s->half], s->at->count);
		slice_copy_floats(m, s->m[s->half], s->at->count * states);
	}
	for (uint32_t i = 0; i < s->plan->ngroup; i++) {
		const struct shard_plan_group *p = &s->plan->group[i];
		size_t from = p->first > first ? p->first : first;
		size_t until = p->first + p->count < end ? p->first + p->count : end, at = from - first;

		if (from >= until)
			continue;
		h.lr = s->rate * p->lr * (k != NULL ? k->rate[i] : 1);
		h.wd = wd * p->wd;
		if (s->at->rows == 0)
			opt_step_to(s->w[s->half] + at, find_state(s, s->half, at), g + at, until - from, n, &h,
			    w + at, find_state(s, to, at));
		else if (h.lr > 0)
			muon_step(w, m, g, s->at->rows, p->count / s->at->rows, n, &h, s->pool->work);
		slice_note_stored(s, w + at, until - from);
		slice_note_stored(s, find_state(s, to, at), (until - from) * states);
	}
}

static void
fold_statistics(struct slice *s, unsigned to, const float *g, double n)
{
	size_t first = s->at->first, end = first + s->at->count;

	for (uint32_t i = 0; i < s->plan->nfold; i++) {
		const struct shard_plan_fold *f = &s->plan->fold[i];
		size_t from = f->first > first ? f->first : first;
		size_t until = f->first + f->count < end ? f->first + f->count : end, at = from - first;

		if (from < until)
			opt_fold_to(s->w[s->half] + at, g + at, until - from, n, f->momentum, s->w[to] + at);
	}
	slice_note_stored(s, s->w[to], s->at->count);
}

void
slice_apply_rule(struct slice *s, unsigned to, const float *g, uint64_t n, uint64_t step, const struct norms_scale *k)
{
	if (n == 0) {
		slice_copy_floats(s->w[to], s->w[s->half], s->at->count);
		slice_copy_floats(s->m[to], s->m[s->half], s->at->count * slice_count_states(s));
	} else if (s->at->kind == SHARD_PLAN_WEIGHTS) {
		apply_optimizer(s, to, g, k != NULL ? (double)n / k->shrink : (double)n, get_hyper(s, step), k);
	} else {
		fold_statistics(s, to, g, (double)n);
	}
}

void
slice_update_average(struct slice *s, unsigned to, bool any)
{
	uint64_t t = s->stale.slack == STALE_SYNC ? s->step + 1 : s->updates;
	bool moves = s->hyper.average.kind == AVERAGE_SWA ? s->marked : any || s->marked;
	unsigned a = !s->average_half;

	if (s->average[0] != NULL && moves) {
		slice_copy_floats(s->average[a], s->average[s->average_half], s->at->count);
		if (average_step(&s->hyper.average, s->average[a], s->w[to], s->at->count, s->averaged, t, s->marked,
		    s->at->kind == SHARD_PLAN_AUX) && s->averaged < UINT32_MAX)
			s->averaged++;
		slice_note_stored(s, s->average[a], s->at->count);
		s->average_half = a;
	}
	s->marked = false;
}
