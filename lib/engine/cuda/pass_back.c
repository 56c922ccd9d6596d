/*
 * pass_back - the gradients of the batch seen last, handed over slice by slice while the layers below still compute.
 *
 * In f16 a gradient may be too small or too large for the type, so the loss's is
 * multiplied on its way in and all are divided on their way out.  Where one comes
 * out infinite, the step is done again with a quarter of the factor, until none is:
 * each step begins with the same factor, so that its bits are its own and not those
 * of the steps before.  Nothing is handed over before that is known.
 * Source: Micikevicius et al., "Mixed Precision Training", ICLR 2018, 3.2.
 */
#include "engine/cuda/join.h"
#include "engine/cuda/watch.h"

#include "base/err.h"

#include <string.h>

/* The loss's gradient is a batch's sum and at most 1 a sample, not a mean of 1/n. */
#define SCALE	256.0f
#define LEAST	0x1p-20f

void
pass_slice(const struct engine_plan *p, uint32_t k, size_t *first, size_t *end)
{
	*first = SIZE_MAX;
	*end = 0;
	for (uint32_t s = p->slice[k]; s < p->slice[k + 1]; s++) {
		const struct graph_node *l = &p->graph->node[p->step[s].node];
		const int32_t has[] = { l->weight, l->bias_at, l->gamma, l->beta };

		for (size_t i = 0; i < sizeof(has) / sizeof(*has); i++) {
			const struct graph_array *w = has[i] >= 0 ? &p->graph->w[has[i]] : NULL;

			if (w != NULL && w->first < *first)
				*first = w->first;
			if (w != NULL && w->first + w->count > *end)
				*end = w->first + w->count;
		}
	}
}

int
pass_down(struct engine_plan *p, uint32_t k, bool gradients)
{
	struct device *d = p->dev->d;
	size_t first, end;
	int e;

	pass_slice(p, k, &first, &end);
	if ((e = watch_from(p, WATCH_DOWN + k)) < 0)
		return e;
	if (gradients && end > first && (e = device_down(d, DEVICE_COPY, p->down + p->down_g + first * sizeof(float),
	    p->held + p->kept.g + first * sizeof(float), (end - first) * sizeof(float))) < 0)
		return e;
	if (k + 1 == p->nslice && (e = device_down(d, DEVICE_COPY, p->down + p->down_stats, p->held + p->kept.stats,
	    p->graph->A * sizeof(float))) < 0)
		return e;
	if ((e = watch_to(p, WATCH_DOWN + k)) < 0)
		return e;
	return device_mark_put(d, p->ready[k], DEVICE_COPY);
}

/* Slice k down, behind its kernels and beside those of the next; of joined plans when all are there. */
static int
download_slice(struct engine_plan *p, uint32_t k, bool joined)
{
	int e = device_mark_put(p->dev->d, p->born[k], DEVICE_MAIN);

	if (e < 0 || joined)
		return e < 0 ? e : join_slice(p, k);
	return (e = device_mark_follow(p->dev->d, p->born[k], DEVICE_COPY)) < 0 ? e : pass_down(p, k, true);
}

/* The kernels of slice k. */
static int
play_slice(struct engine_plan *p, struct plan_set *set, uint32_t k)
{
	int e;

	if ((e = watch_from(p, WATCH_BACK + k)) < 0 || (e = pass_play(p, set, PLAN_BACK + k)) < 0)
		return e;
	return watch_to(p, WATCH_BACK + k);
}

static int
send_all(struct engine_plan *p, bool joined)
{
	int e = 0;

	for (uint32_t k = 0; k < p->nslice && e == 0; k++)
		e = download_slice(p, k, joined);
	return e;
}

static int
enqueue_slices(struct engine_plan *p, struct plan_set *set, bool joined)
{
	int e = 0;

	for (uint32_t k = 0; k < p->nslice && e == 0; k++)
		if ((e = play_slice(p, set, k)) == 0)
			e = download_slice(p, k, joined);
	return e;
}

/* The arrays of node i, which are down, to the caller; g NULL: what it gets is another's. */
static int
hand_over_grads(const struct engine_plan *p, uint32_t i, float *g, const struct engine_hook *hook)
{
	const struct graph_node *l = &p->graph->node[i];
	const int32_t has[] = { l->weight, l->bias_at, l->gamma, l->beta };
	const float *from = (const float *)(p->down + p->down_g);
	int e = 0;

	for (size_t k = 0; k < sizeof(has) / sizeof(*has) && e == 0; k++) {
		const struct graph_array *w = has[k] >= 0 ? &p->graph->w[has[k]] : NULL;

		if (w == NULL || w->frozen)
			continue;
		if (g != NULL)
			memcpy(g + w->first, from + w->first, w->count * sizeof(*g));
		if (hook != NULL && hook->grad_ready != NULL)
			e = hook->grad_ready(hook->arg, (uint32_t)has[k]);
	}
	return e;
}

static int
receive_slices(struct engine_plan *p, float *g, float *stats, const struct engine_hook *hook)
{
	int e = 0;

	/* Statistics are to be had with the last slice, and hooks may want them before that is handed over. */
	for (uint32_t k = 0; k < p->nslice && e == 0; k++) {
		if ((hook != NULL && hook->joined && (e = join_wait(p, k)) < 0) ||
		    (e = device_mark_wait(p->dev->d, p->ready[k])) < 0)
			return e;
		if (k + 1 == p->nslice && p->graph->A > 0)
			memcpy(stats, p->down + p->down_stats, p->graph->A * sizeof(*stats));
		for (uint32_t s = p->slice[k]; s < p->slice[k + 1] && e == 0; s++)
			if (s + 1 == p->nstep || p->step[s + 1].node != p->step[s].node)
				e = hand_over_grads(p, p->step[s].node, g, hook);
	}
	return e;
}

static int
is_finite(struct engine_plan *p, bool *finite)
{
	const struct kernel_finite a = { (const float *)(p->held + p->kept.g), (uint32_t *)(p->held + p->kept.bad) };
	struct device *d = p->dev->d;
	int e;

	if ((e = device_zero(d, p->held + p->kept.bad, sizeof(uint32_t))) < 0 ||
	    (e = kernel_run_finite(d, &a, (uint32_t)p->graph->P, KERNEL_F32)) < 0 ||
	    (e = device_down(d, DEVICE_MAIN, p->down + p->down_bad, a.bad, sizeof(uint32_t))) < 0 ||
	    (e = device_wait(d)) < 0)
		return e;
	*finite = *(const uint32_t *)(p->down + p->down_bad) == 0;
	return 0;
}

static int
play_all(struct engine_plan *p, struct plan_set *set)
{
	int e = 0;

	for (uint32_t k = 0; k < p->nslice && e == 0; k++)
		e = play_slice(p, set, k);
	return e;
}

/* In f16: with the largest factor that lets all gradients be finite.  Others wait for none but the last of these. */
static int
run_scaled(struct engine_plan *p, struct plan_set *set, bool joined, bool stay)
{
	float *factor = pass_small(p, p->kept.scale);
	bool finite = false;
	int e = 0;

	for (float scale = SCALE; e == 0 && !finite && scale >= LEAST; scale /= 4) {
		factor[0] = scale;
		factor[1] = 1 / scale;
		if ((e = pass_up_small(p)) < 0)
			return e;
		/* What the pass forward left is partly written over by the pass backward. */
		if (scale < SCALE && (e = pass_play(p, set, p->pixels ? PLAN_TRAIN_PIXELS : PLAN_TRAIN)) < 0)
			return e;
		if ((e = joined || stay ? play_all(p, set) : enqueue_slices(p, set, false)) == 0 &&
		    (e = pass_board(p)) == 0)
			e = is_finite(p, &finite);
	}
	return e < 0 || !joined ? e : send_all(p, true);
}

/* What comes out is for who learns on the GPU. */
static int
backward_here(struct engine_plan *p)
{
	struct plan_set *set;
	int e;

	assert(p->n > 0 && p->learn != NULL);
	if ((e = set_get(p, p->n, &set)) < 0)
		return e;
	e = p->type == KERNEL_F16 ? run_scaled(p, set, false, true) : play_all(p, set);
	return e == 0 ? learn_piece(p, set) : e;
}

int
pass_backward(struct engine_plan *p, float *g, float *stats, const struct engine_hook *hook)
{
	bool joined = hook != NULL && hook->joined;
	struct plan_set *set;
	int e;

	if (g == NULL)
		return backward_here(p);
	assert(p->n > 0 && (!joined || p->dev->join != NULL));
	if ((e = set_get(p, p->n, &set)) == 0)
		e = p->type == KERNEL_F16 ? run_scaled(p, set, joined, false) : enqueue_slices(p, set, joined);
	if (e == 0)
		e = pass_board(p);
	if (e < 0 && joined)
		join_fail(p);
	if (e < 0 || (e = receive_slices(p, joined && p->dev->rank > 0 ? NULL : g, stats, hook)) != 0) {
		device_wait(p->dev->d);
		return e;
	}
	return 0;
}
